package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Seen}
import io.github.dynamickafka.testkit.KafkaCluster

/** The start position of a query. */
class StartingOffsetsSuite extends Queries {

  /** The records to be read when partitions 0 and 1 of each cluster start at these offsets. */
  private def from(topic: String, starts: (String, KafkaCluster, Long, Long)*): Seq[Seen] =
    starts.flatMap { case (id, cluster, zero, one) =>
      stored(id, cluster, topic).filter(r => r.offset >= (if (r.partition == 0) zero else one))
    }

  test("earliest is the default, also for partitions that begin above 0") {
    onBoth(values("v", 10)) { (s, topic) =>
      blue.deleteRecords(topic, 0, 2)
      s.catchUp()
      assertSame(s.seen, from(topic, ("blue", blue, 2, 0), ("green", green, 0, 0)))
      assert(s.seen.size == 18)
    }
  }

  test("latest: only records produced after the start") {
    onBoth(values("v", 10)) { (s, topic) =>
      val query = s.start("startingOffsets" -> "latest")
      settle(query)
      Seq(blue, green).foreach(produce(_, topic, 2, values("new", 4)))
      settle(query)
      assertSame(s.seen, from(topic, ("blue", blue, 5, 5), ("green", green, 5, 5)))
    }
  }

  test("JSON by cluster, with -1 and -2; partitions that it does not name start at earliest") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.catchUp(
        "startingOffsets" -> s"""{"blue": {"$topic": {"0": 3, "1": -1}}, "green": {"$topic": {"1": 4}}}"""
      )
      assertSame(s.seen, from(topic, ("blue", blue, 3, 5), ("green", green, 0, 4)))
    }
  }

  test("JSON with a partition that does not exist, also beside all that do, is refused") {
    onBoth(values("v", 10)) { (s, topic) =>
      val json = s"""{"blue": {"$topic": {"0": 3, "1": 1, "2": 1}}}"""
      Seq[(String, String) => Any](
        (option, value) => s.start(Trigger.AvailableNow(), option -> value),
        (option, value) => s.batch(option -> value).collect()
      ).foreach { read =>
        for (option <- Seq("startingOffsets", "startingOffsetsByTimestamp")) {
          val e = refused(read(option, json))
          assert(condition(e) == "INVALID_OPTION", text(e))
          assert(text(
            e
          ).contains(s"topic '$topic' of cluster 'blue' has no partition 2 that is read. It has 0, 1."))
        }
      }
    }
  }

  test("JSON without a cluster level: accepted with one cluster, an error with two") {
    onBoth(values("v", 10)) { (s, topic) =>
      val json = s"""{"$topic": {"0": 3, "1": -2}}"""
      val e = refused(s.start(Trigger.AvailableNow(), "startingOffsets" -> json))
      assert(condition(e) == "INVALID_OPTION" && text(e).contains("startingOffsets"), text(e))
    }
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(Entry("green", green, topic))
      s.catchUp("startingOffsets" -> s"""{"$topic": {"0": 3, "1": -2}}""")
      assertSame(s.seen, from(topic, ("green", green, 3, 0)))
    }
  }

  test("a cluster's own start: in the metadata, and as its option, which takes precedence") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(Entry("blue", blue, topic).startingAt("earliest"), Entry("green", green, topic))
      s.catchUp("startingOffsets" -> "latest")
      assertSame(s.seen, from(topic, ("blue", blue, 0, 0)))
    }
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(
        Entry("blue", blue, topic).startingAt("earliest"),
        Entry("green", green, topic).startingAt(s"""{"$topic": {"0": 4, "1": 4}}""")
      )
      s.catchUp("startingOffsets" -> "latest", "cluster.blue.startingOffsets" -> s"""{"$topic": {"0": 2}}""")
      assertSame(s.seen, from(topic, ("blue", blue, 2, 0), ("green", green, 4, 4)))
    }
  }

  test("A earliest, B latest: all records of A, and later ones of B") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic).startingAt("latest"))
      val query = s.start()
      settle(query)
      produce(green, topic, 2, values("new", 4))
      settle(query)
      assertSame(s.seen, from(topic, ("blue", blue, 0, 0), ("green", green, 5, 5)))
    }
  }

  test("timestamps: the first record of that time, or the end; also by partition") {
    onBoth(values("v", 10)) { (s, topic) =>
      // A time between the earlier and the later records.
      val before = System.currentTimeMillis()
      waitFor("the clock to advance")(System.currentTimeMillis() > before)
      val time = System.currentTimeMillis()
      waitFor("the clock to advance")(System.currentTimeMillis() > time)
      produce(blue, topic, 2, values("later", 2))
      s.catchUp("startingTimestamp" -> time.toString)
      assertSame(s.seen, from(topic, ("blue", blue, 5, 5)))
      scene { t =>
        t.orders(Entry("blue", blue, topic), Entry("green", green, topic))
        t.catchUp(
          "startingOffsetsByTimestamp" -> s"""{"blue": {"$topic": {"0": $time}}, "green": {"$topic": {"1": $time}}}"""
        )
        assertSame(t.seen, from(topic, ("blue", blue, 5, 0), ("green", green, 0, 5)))
      }
    }
  }

  test("committed: the group's offsets on each cluster, and the fallback for partitions without one") {
    onBoth(values("v", 10)) { (s, topic) =>
      val group = s"group-$topic"
      blue.commitOffsets(group, topic, Map(0 -> 2L, 1 -> 3L))
      green.commitOffsets(group, topic, Map(0 -> 4L))
      val committed = Seq("startingOffsets" -> "committed", "kafka.group.id" -> group)
      val e = refused(s.start(Trigger.AvailableNow(), committed: _*))
      assert(Seq("green", group, s"$topic-1").forall(text(e).contains), text(e))
      s.catchUp(committed :+ ("committedOffsetsFallback" -> "latest"): _*)
      assertSame(s.seen, from(topic, ("blue", blue, 2, 3), ("green", green, 4, 5)))
    }
  }

  test("commitGroupId takes precedence over kafka.group.id; without either it is an error at load") {
    onBoth(values("v", 10)) { (s, topic) =>
      blue.commitOffsets(s"group-$topic", topic, Map(0 -> 5L, 1 -> 5L))
      green.commitOffsets(s"group-$topic", topic, Map(0 -> 5L, 1 -> 1L))
      val e = refused(s.frame("startingOffsets" -> "committed"))
      assert(e.isInstanceOf[IllegalArgumentException] && text(e).contains("kafka.group.id"))
      s.catchUp(
        "startingOffsets" -> "committed",
        "commitGroupId" -> s"group-$topic",
        "kafka.group.id" -> "another"
      )
      assertSame(s.seen, from(topic, ("green", green, 5, 1)))
    }
  }

  test("startingOffsets applies to a first start only: a restart resumes") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.catchUp()
      produce(blue, topic, 2, values("more", 4))
      s.catchUp("startingOffsets" -> "latest", "newClusterStartingOffsets" -> "latest")
      assertSame(s.seen, from(topic, ("blue", blue, 0, 0), ("green", green, 0, 0)))
    }
  }

  test("a start offset that does not exist is data loss, and the error names the partition") {
    onBoth(values("v", 10)) { (s, topic) =>
      val beyond = "startingOffsets" -> s"""{"blue": {"$topic": {"0": 77}}}"""
      val e = refused(s.start(Trigger.AvailableNow(), beyond))
      assert(condition(e) == "DATA_LOSS")
      assert(Seq("blue", topic, "partition 0", "77", "5").forall(text(e).contains), text(e))
    }
  }
}

package io.github.dynamickafka.source.trigger

import scala.util.Using

import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** The end of a streaming query: it reads up to there, also after restarts, and no further. */
class EndingOffsetsSuite extends Queries {
  private val latest = "endingOffsets" -> "latest"

  private def before(topic: String) = storedOnBoth(topic).filter(_.value.startsWith("v"))

  test("a running query is idle at its ends, and so is a restarted one") {
    onBoth(values("v", 10)) { (s, topic) =>
      val query = s.start(latest, "maxOffsetsPerTrigger" -> "7")
      settle(query)
      Seq(blue, green).foreach(produce(_, topic, 2, values("late", 4)))
      settle(query)
      assertSame(s.seen, before(topic))
      assert(s.sizes.max == 7, "limits apply")
      query.stop()
      val logged = s.loggedText
      val again = s.start(latest)
      settle(again)
      assertSame(s.seen, before(topic))
      assert(s.loggedText == logged, "no batch is planned")
      again.stop()
      s.catchUp(latest)
      assert(s.loggedText == logged)
    }
  }

  test("latest is resolved at the first start, also if the driver dies in its first batch") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.catchUp(latest)
      s.unlog()
      s.forgetRows()
      Seq(blue, green).foreach(produce(_, topic, 2, values("late", 4)))
      s.catchUp(latest)
      assertSame(s.seen, before(topic))
    }
  }

  test("AvailableNow stops at its ends, over several runs with limits") {
    onBoth(values("v", 10)) { (s, topic) =>
      val ends =
        "endingOffsets" -> s"""{"blue": {"$topic": {"0": 3, "1": 12}}, "green": {"$topic": {"0": 5}}}"""
      s.catchUp(ends, "maxOffsetsPerTrigger" -> "3")
      def expected = storedOnBoth(topic).filter { r =>
        r.cluster == "green" && (r.partition == 1 || r.offset < 5) ||
        r.cluster == "blue" && r.offset < (if (r.partition == 0) 3 else 12)
      }
      assertSame(s.seen, expected)
      assert(s.seen.size == 18)
      Seq(blue, green).foreach(produce(_, topic, 2, values("more", 20)))
      s.catchUp(ends)
      assertSame(s.seen, expected)
      assert(s.seen.size == 18 + 7 + 10, "up to ends that were in the future; without an end everything")
    }
  }

  test("the global form applies to clusters and partitions that are added later, as of then") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(Entry("blue", blue, topic))
      val query = s.start(latest)
      settle(query)
      produce(green, topic, 2, values("v-more", 4))
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      settle(query)
      blue.addPartitions(topic, 3)
      eventually(assert(s.logged.endsOf("blue")(topic).offsets.keySet == Set(0, 1, 2)))
      val atEntry = s.logged.endsOf("blue")(topic).offsets(2)
      produce(blue, topic, 3, values("late", 6))
      produce(green, topic, 2, values("late", 6))
      settle(query)
      query.stop()
      s.catchUp(latest)
      assert(atEntry == 0)
      assertSame(s.seen, before(topic))
    }
  }

  test("exact offsets: a cluster that is added later has no end") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(Entry("blue", blue, topic))
      // Without the cluster level, the offsets apply to the only cluster.
      val ends = "endingOffsets" -> s"""{"$topic": {"0": 1, "1": 2}}"""
      val query = s.start(ends)
      settle(query)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      Seq(blue, green).foreach(produce(_, topic, 2, values("later", 4)))
      settle(query)
      def expected = stored("green", green, topic) ++
        stored("blue", blue, topic).filter(r => r.offset < (if (r.partition == 0) 1 else 2))
      assertSame(s.seen, expected)
      query.stop()
      produce(green, topic, 2, values("last", 4))
      s.catchUp(ends)
      assertSame(s.seen, expected)
    }
    onBoth(values("v", 10)) { (s, topic) =>
      val e = refused(s.start(Trigger.AvailableNow(), "endingOffsets" -> s"""{"$topic": {"0": 1}}"""))
      assert(condition(e) == "INVALID_OPTION" && text(e).contains("endingOffsets"), text(e))
    }
  }

  test("a future timestamp ends nothing; once reached, the end is before its first record") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      def at(cluster: KafkaCluster, times: Long*) =
        cluster.produce(topic, times.map(t => Record(0, None, s"$t", timestamp = Some(t))))
      val ends = "endingTimestamp" -> "5000"
      Seq(blue, green).foreach(at(_, 1000, 2000))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start(ends)
      settle(query)
      at(blue, 3000, 5000, 6000)
      settle(query)
      at(blue, 4000)
      at(green, 4999)
      settle(query)
      query.stop()
      at(green, 5001, 1)
      s.catchUp(ends)
      assert(s.seen.map(r => r.cluster -> r.value).groupMap(_._1)(_._2) ==
        Map("blue" -> Seq("1000", "2000", "3000"), "green" -> Seq("1000", "2000", "4999")))
    }
  }

  test("a topic that is recreated has an end of its own", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue)
      def write(records: Int): Unit =
        blue.produce(topic, (1 to records).map(t => Record(0, None, s"$t", timestamp = Some(t * 1000L))))
      val options = Seq("endingTimestamp" -> "6000", "failOnDataLoss" -> "false")
      write(8)
      s.orders(Entry("blue", blue, topic))
      s.catchUp(options: _*)
      assert(s.seen.size == 5)
      blue.deleteTopic(topic)
      blue.createTopic(topic, 1)
      blue.produce(topic, Seq.fill(20)(Record(0, None, "old", timestamp = Some(1L))))
      write(8)
      s.catchUp(options: _*)
      assertSame(s.seen.drop(5), stored("blue", blue, topic).filter(_.offset < 25))
    }
  }

  test("different ends are resolved again, and without any the query continues", TestAll) {
    onBoth(values("v", 10)) { (s, topic) =>
      def upTo(offset: Int) =
        "endingOffsets" -> Seq("blue", "green").map(c =>
          s""""$c": {"$topic": {"0": $offset, "1": $offset}}"""
        )
          .mkString("{", ", ", "}")
      s.catchUp(upTo(2))
      assertSame(s.seen, storedOnBoth(topic).filter(_.offset < 2))
      s.catchUp(upTo(4))
      assertSame(s.seen, storedOnBoth(topic).filter(_.offset < 4))
      s.catchUp(latest)
      produce(blue, topic, 2, values("more", 2))
      s.catchUp(latest)
      assertSame(s.seen, before(topic))
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("the ends of a cluster may change in the metadata while the query runs") {
    onBoth(values("v", 10)) { (s, topic) =>
      val green2 = Entry("green", green, topic)
      s.orders(Entry("blue", blue, topic), green2.stoppingAt(s"""{"$topic": {"0": 1, "1": 1}}"""))
      val query = s.start("cluster.blue.endingOffsets" -> s"""{"$topic": {"0": 2, "1": 2}}""")
      settle(query)
      def upTo(g: Int) = storedOnBoth(topic).filter(r => r.offset < (if (r.cluster == "blue") 2 else g))
      assertSame(s.seen, upTo(1))
      s.change(Entry("blue", blue, topic), green2.stoppingAt(s"""{"$topic": {"0": 3, "1": 3}}"""))
      settle(query)
      assertSame(s.seen, upTo(3))
      s.change(Entry("blue", blue, topic), green2)
      settle(query)
      assertSame(s.seen, upTo(5))
    }
  }

  test("a cluster that is added again keeps its end", TestAll) {
    onBoth(values("v", 10)) { (s, topic) =>
      val (one, other) = (Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start(latest, "maxOffsetsPerTrigger" -> "4")
      eventually(assert(s.sizes.sum >= 4))
      s.change(one)
      eventually(assert(s.logged.retained.contains("green")))
      produce(green, topic, 2, values("late", 4))
      s.change(one, other)
      settle(query)
      assertSame(s.seen, before(topic))
    }
  }

  test("a draining cluster is read up to its end, and retired there") {
    onBoth(values("v", 10)) { (s, topic) =>
      s.orders(
        Entry("blue", blue, topic).draining.stoppingAt(s"""{"$topic": {"0": 2, "1": 3}}"""),
        Entry("green", green, topic)
      )
      val query = s.start("maxOffsetsPerTrigger" -> "2")
      eventually(assert(s.logged.retained.contains("blue")))
      settle(query)
      assertSame(
        s.seen,
        storedOnBoth(topic).filter(r => r.cluster == "green" || r.offset < (if (r.partition == 0) 2 else 3))
      )
    }
  }

  test("read_committed: open and aborted transactions, on two clusters, under AvailableNow") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val options = Seq("kafka.isolation.level" -> "read_committed", latest)
      Using.Manager { use =>
        val writers = Seq(blue, green).map(c => use(transactional(c)))
        def transaction(writer: KafkaProducer[String, String], values: String*)(end: => Unit): Unit = {
          writer.beginTransaction()
          values.foreach(v => writer.send(new ProducerRecord[String, String](topic, 0, null, v)).get)
          end
        }
        writers.foreach { w =>
          transaction(w, "a", "b")(w.commitTransaction())
          transaction(w, "never", "never")(w.abortTransaction())
          transaction(w, "open")(())
        }
        s.catchUp(options: _*)
        writers.foreach(_.commitTransaction())
        s.catchUp(options: _*)
        assert(
          s.seen.map(r => r.cluster -> r.value).toSet ==
            Set("blue", "green").flatMap(c => Set(c -> "a", c -> "b")),
          "the end is that of the committed records"
        )
        assert(s.seen.size == 4)
        s.catchUp(options.init: _*)
        assert(s.seen.drop(4).map(r => r.cluster -> r.value).toSet == Set(
          "blue" -> "open",
          "green" -> "open"
        ))
        assert(s.seen.size == 6)
      }.get
    }
  }

}

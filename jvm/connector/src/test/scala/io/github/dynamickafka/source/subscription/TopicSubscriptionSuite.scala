package io.github.dynamickafka.source.subscription

import io.github.dynamickafka.source.{Entry, Queries, Seen}
import io.github.dynamickafka.testkit.TestAll

/** Topics of a cluster: by pattern, and some of their partitions. */
class TopicSubscriptionSuite extends Queries {

  /** Topics `<prefix>-<suffix>` with a unique prefix, two partitions and six records each. */
  private final class Topics {
    val prefix: String = newTopic("p")
    def pattern: String = s"$prefix-[a-z]{2}"
    def apply(suffix: String): String = s"$prefix-$suffix"

    def add(suffixes: String*): Unit = for (suffix <- suffixes; cluster <- Seq(blue, green)) {
      cluster.createTopic(apply(suffix), 2)
      produce(cluster, apply(suffix), 2, values(s"$suffix-", 6))
    }

    def records(suffixes: String*): Seq[Seen] = suffixes.flatMap { suffix =>
      stored("blue", blue, apply(suffix)) ++ stored("green", green, apply(suffix))
    }

    def entries: Seq[Entry] =
      Seq(Entry("blue", blue).matching(pattern), Entry("green", green).matching(pattern))
  }

  test("a pattern is matched in full on each cluster; topics are added and removed while the query runs") {
    scene { s =>
      val topics = new Topics
      topics.add("eu", "old", "x")
      s.orders(topics.entries: _*)
      val query = s.start()
      settle(query)
      assertSame(s.seen, topics.records("eu"))
      topics.add("us")
      eventually {
        settle(query)
        assert(s.seen.size == 24)
      }
      assertSame(s.seen, topics.records("eu", "us"))
      val before = topics.records("eu", "us")
      green.deleteTopic(topics("eu"))
      eventually(
        assert(s.logged.retained.get("green").exists(_.positions.topics == Set(topics("eu"))))
      )
      produce(blue, topics("eu"), 2, values("more", 2))
      settle(query)
      assertSame(s.seen, before ++ stored("blue", blue, topics("eu")).filter(_.value.startsWith("more")))
      assert(query.isActive)
    }
  }

  test("a topic that a pattern matches is deleted: it leaves at once, however rarely topics are listed") {
    scene { s =>
      val topics = new Topics
      topics.add("eu", "us")
      s.orders(topics.entries: _*)
      val query = s.start("streamMetadataDiscoveryIntervalMs" -> "1h")
      settle(query)
      assertSame(s.seen, topics.records("eu", "us"))
      green.deleteTopic(topics("us"))
      eventually(
        assert(s.logged.retained.get("green").exists(_.positions.topics == Set(topics("us"))))
      )
      produce(blue, topics("us"), 2, values("more", 2))
      settle(query)
      assert(s.seen.count(_.topic == topics("us")) == 14 && query.isActive)
    }
  }

  test("a pattern with AvailableNow and spark.read: the topics of the start") {
    scene { s =>
      val topics = new Topics
      topics.add("eu", "us")
      s.orders(topics.entries: _*)
      assert(s.batch().count() == 24)
      assert(s.batch("endingOffsets" -> "latest", "startingOffsets" -> "latest").count() == 0)
      s.catchUp("maxOffsetsPerTrigger" -> "5")
      assertSame(s.seen, topics.records("eu", "us"))
      topics.add("jp")
      s.catchUp("newTopicStartingOffsets" -> "latest")
      assertSame(s.seen, topics.records("eu", "us"))
      topics.add("uk")
      s.catchUp()
      assertSame(s.seen, topics.records("eu", "us", "uk"))
    }
  }

  test("a query that is started while the service is down continues with the pattern of its checkpoint") {
    scene { s =>
      val topics = new Topics
      topics.add("eu")
      s.orders(topics.entries: _*)
      s.catchUp()
      s.service.behave = () => throw new IllegalStateException("down")
      topics.add("us")
      s.catchUp("streamMetadataDiscoveryFailureThreshold" -> "1000")
      assertSame(s.seen, topics.records("eu", "us"))
    }
  }

  test("interval -1: topics are listed at the start only") {
    scene { s =>
      val topics = new Topics
      topics.add("eu")
      s.orders(topics.entries: _*)
      val query = s.start("streamMetadataDiscoveryIntervalMs" -> "-1")
      settle(query)
      topics.add("us")
      produce(blue, topics("eu"), 2, values("more", 2))
      settle(query)
      assertSame(s.seen, topics.records("eu"))
      query.stop()
      s.catchUp()
      assertSame(s.seen, topics.records("eu", "us"))
    }
  }

  test("a pattern on an unreachable cluster: its topics are kept, and a first start waits for them", TestAll) {
    scene { s =>
      val topics = new Topics
      topics.add("eu")
      val skip = Seq("clusterFailurePolicy" -> "skip", "clusterRequestTimeoutMs" -> "5000")
      val gone = Entry.at("green", "127.0.0.1:1").matching(topics.pattern)
      s.orders(topics.entries.head, gone)
      s.catchUp(skip: _*)
      assertSame(s.seen, stored("blue", blue, topics("eu")))
      s.orders(topics.entries: _*)
      s.catchUp(skip: _*)
      assertSame(s.seen, topics.records("eu"))
      produce(blue, topics("eu"), 2, values("more", 2))
      produce(green, topics("eu"), 2, values("more", 2))
      s.orders(topics.entries.head, gone)
      s.catchUp(skip: _*)
      assert(s.logged.clusters.keySet == Set("blue", "green") && s.logged.retained.isEmpty)
      s.orders(topics.entries: _*)
      s.catchUp(skip: _*)
      assertSame(s.seen, topics.records("eu"))
      s.orders(topics.entries.head, gone)
      val e = refused(s.start("clusterRequestTimeoutMs" -> "5000"))
      assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("green"), text(e))
    }
  }

  private def of(topic: String, blueParts: Set[Int], greenParts: Set[Int]) =
    stored("blue", blue, topic).filter(r => blueParts(r.partition)) ++
      stored("green", green, topic).filter(r => greenParts(r.partition))

  test("only the listed partitions, with each kind of trigger, and offsets for one of them") {
    scene { s =>
      val topic = newTopicOn(3, blue, green)
      Seq(blue, green).foreach(produce(_, topic, 3, values("v", 9)))
      val entries =
        Seq(Entry("blue", blue).only(topic -> Seq(0, 2)), Entry("green", green).only(topic -> Seq(1)))
      s.orders(entries: _*)
      assert(s.batch().count() == 9)
      s.catchUp()
      assertSame(s.seen, of(topic, Set(0, 2), Set(1)))
      val query = s.start()
      Seq(blue, green).foreach(produce(_, topic, 3, values("more", 6)))
      settle(query)
      assertSame(s.seen, of(topic, Set(0, 2), Set(1)))
    }
  }

  test("removed partitions are retained and resume exactly; new ones are read from their beginning") {
    scene { s =>
      val topic = newTopicOn(3, blue, green)
      def produceAll(prefix: String) = Seq(blue, green).foreach(produce(_, topic, 3, values(prefix, 6)))
      def entries(blueParts: Int*) =
        Seq(Entry("blue", blue).only(topic -> blueParts), Entry("green", green, topic))
      produceAll("a")
      s.orders(entries(0, 1): _*)
      val query = s.start()
      settle(query)
      s.change(entries(0): _*)
      eventually(assert(
        s.logged.retained.get("blue").exists(_.positions.get(topic, 1).contains(2L))
      ))
      produceAll("b")
      settle(query)
      assertSame(
        s.seen,
        of(topic, Set(0), Set(0, 1, 2)) ++
          stored("blue", blue, topic).filter(r => r.partition == 1 && r.offset < 2)
      )
      // First none of the partitions that were read, then all of them again.
      s.change(entries(2): _*)
      settle(query)
      produceAll("c")
      settle(query)
      query.stop()
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      assertSame(s.seen, of(topic, Set(0, 1, 2), Set(0, 1, 2)))
      assert(s.logged.retained.isEmpty)
    }
  }
}

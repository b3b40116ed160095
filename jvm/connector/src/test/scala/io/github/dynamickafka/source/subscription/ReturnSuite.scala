package io.github.dynamickafka.source.subscription

import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.testkit.{Record, TestAll}

/** Clusters and topics that are removed and added again. */
class ReturnSuite extends Queries {

  private def add(topic: String, n: Int, prefix: String) = {
    blue.produce(topic, (0 until n).map(i => Record(i % 2, None, s"$prefix$i")))
    green.produce(topic, (0 until n).map(i => Record(i % 2, None, s"$prefix$i")))
  }

  private def both(topic: String) = Seq(Entry("blue", blue, topic), Entry("green", green, topic))

  test("a removed cluster is not read, and resumes exactly when added again, also after a restart") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(both(topic): _*)
      val query = s.start("startingOffsets" -> "latest", "newClusterStartingOffsets" -> "latest")
      settle(query)
      add(topic, 6, "first")
      settle(query)
      val position = s.logged.position("blue")
      s.change(Entry("green", green, topic))
      settle(query)
      add(topic, 6, "away")
      settle(query)
      assert(s.seen.size == 18)
      assert(s.logged.retained("blue").positions == position)
      query.stop()
      add(topic, 4, "stopped")
      val again = s.start()
      settle(again)
      assert(s.seen.count(_.cluster == "blue") == 6)
      s.change(both(topic): _*)
      settle(again)
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.logged.retained.isEmpty)
    }
  }

  test("flapping has no effect: each answer of the service is another topology, under load", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(both(topic): _*)
      val query = s.start("newClusterStartingOffsets" -> "latest")
      settle(query)
      (0 until 12).foreach { i =>
        s.orders((if (i % 2 == 0) both(topic).take(1 + i % 3 / 2) else both(topic)): _*)
        add(topic, 5, s"$i-")
        s.service.awaitAnswers()
      }
      s.change(both(topic): _*)
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.batchCount > 3)
    }
  }

  test("a topic that is removed and added again within its cluster resumes exactly") {
    scene { s =>
      val (kept, leaving) = (newTopicOn(2, blue), newTopicOn(2, blue))
      def produceBoth(prefix: String) =
        Seq(kept, leaving).foreach(t => produce(blue, t, 2, (0 until 4).map(i => s"$prefix$i")))
      s.orders(Entry("blue", blue, kept, leaving))
      val query = s.start("newTopicStartingOffsets" -> "latest")
      produceBoth("a")
      settle(query)
      s.change(Entry("blue", blue, kept))
      settle(query)
      assert(s.logged.position("blue").topics == Set(kept))
      assert(s.logged.retained("blue").positions.topics == Set(leaving))
      produceBoth("b")
      settle(query)
      assert(s.seen.count(_.topic == leaving) == 4 && s.seen.count(_.topic == kept) == 8)
      s.change(Entry("blue", blue, leaving, kept))
      settle(query)
      assertSame(s.seen, stored("blue", blue, kept) ++ stored("blue", blue, leaving))
    }
  }

  test("a topic that moves to another cluster is read on both, and its offsets are not mixed up") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, (0 until 7).map(i => s"b$i"))
      s.orders(Entry("blue", blue, topic))
      val query = s.start()
      settle(query)
      produce(green, topic, 2, (0 until 3).map(i => s"g$i"))
      s.change(Entry("green", green, topic))
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test(
    "partitions that are added while a cluster is removed are read from earliest when it returns",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      s.orders(both(topic): _*)
      val query = s.start()
      produce(blue, topic, 1, Seq("a", "b"))
      settle(query)
      s.change(Entry("green", green, topic))
      settle(query)
      blue.addPartitions(topic, 2)
      produce(blue, topic, 2, Seq("c", "d", "e", "f"))
      s.change(both(topic): _*)
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  private def retention(ms: Long) = "streamMetadataRemovedClusterRetentionMs" -> ms.toString

  /** Longer than a busy machine needs for a test. */
  private val long = retention(600000L)

  /** When blue was retired, as stored in the offset. */
  private def retired(s: Query): Long = s.logged.retained("blue").topics.values.map(_.since).max

  private def awaitExpiry(since: Long, retentionMs: Long): Unit =
    waitFor("the retention to end")(System.currentTimeMillis() - since >= retentionMs)

  test("a cluster is new again after its retention, and not before", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      add(topic, 4, "a")
      s.orders(both(topic): _*)
      val patient = s.start(long)
      settle(patient)
      s.change(Entry("green", green, topic))
      settle(patient)
      s.change(both(topic): _*)
      settle(patient)
      assertSame(s.seen, storedOnBoth(topic))
      s.change(Entry("green", green, topic))
      settle(patient)
      patient.stop()
      val since = retired(s)
      val query = s.start(retention(1500L))
      awaitExpiry(since, 1500L)
      settle(query)
      s.change(both(topic): _*)
      settle(query)
      assertSame(s.seen, storedOnBoth(topic) ++ stored("blue", blue, topic))
    }
  }

  test("the retention continues over a restart", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      add2(topic)
      s.orders(both(topic): _*)
      val query = s.start(long)
      settle(query)
      s.change(Entry("green", green, topic))
      settle(query)
      query.stop()
      awaitExpiry(retired(s), 800L)
      s.orders(both(topic): _*)
      s.catchUp(retention(800L))
      assertSame(s.seen, storedOnBoth(topic) ++ stored("blue", blue, topic))
    }
  }

  test("retention 0: the batch that retires a cluster drops its offsets") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      add2(topic)
      s.orders(both(topic): _*)
      val query = s.start("stream-metadata-removed-cluster-retention-ms" -> "0")
      settle(query)
      s.change(Entry("green", green, topic))
      settle(query)
      assert(s.logged.retained.isEmpty && s.logged.clusters.keySet == Set("green"))
      s.change(both(topic): _*)
      settle(query)
      assertSame(s.seen, storedOnBoth(topic) ++ stored("blue", blue, topic))
    }
  }

  test("retention does not apply to a cluster whose return is delayed by an outage", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      produce(red, topic, 1, Seq("a", "b"))
      val (stays, leaves) = (Entry("green", green, topic), Entry("red", red, topic))
      s.orders(stays, leaves)
      val query = s.start("clusterFailurePolicy" -> "skip", "clusterRequestTimeoutMs" -> "5000")
      // On a busy machine, a cluster that does not respond in time is skipped, and enters later.
      eventually(assert(s.seen.count(_.cluster == "red") == 2))
      s.change(stays)
      eventually(assert(s.logged.retained.keySet == Set("red")))
      produce(red, topic, 1, Seq("c"))
      killed(red) {
        s.change(stays, leaves)
        eventually(assert(s.logged.position("red").get(topic, 0).contains(2L) && s.logged.retained.isEmpty))
      }
      eventually(assert(s.seen.count(_.cluster == "red") == 3))
      settle(query)
      assertSame(s.seen, stored("red", red, topic))
    }
  }

  private def add2(topic: String): Unit = Seq(blue, green).foreach(produce(_, topic, 1, Seq("x", "y", "z")))
}

package io.github.dynamickafka.source.subscription

import io.github.dynamickafka.source.{DynamicMicroBatchStream, Entry, Logs, Queries, Results, StreamsFile}
import io.github.dynamickafka.testkit.TestAll

/** Clusters, topics and partitions that are added while a query runs. */
class TopologyChangeSuite extends Queries {

  test("two clusters are read, every record once, with its cluster and stream") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("b", 0, 10))
      produce(green, topic, 2, values("g", 0, 7))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.seen.size == 17)
    }
  }

  test("A, then A and B, then B: no record is lost or duplicated, from a metadata file") {
    val topic = newTopicOn(2, blue, green)
    val folder = newFolder()
    val file = new StreamsFile(folder)
    val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
    produce(blue, topic, 2, values("b", 0, 10))
    file.write("orders" -> Seq(a))
    val results = new Results(folder.resolve("checkpoint"))
    val frame = spark.readStream.format("dynamic-kafka")
      .option("metadataService", "file")
      .option("metadataService.path", file.path.toString)
      .option("streamIds", "orders")
      .option("stream-metadata-discovery-interval-ms", "100")
      .options(Asking)
      .load()
    val query = results.start(frame)
    try {
      eventually(assert(results.seen.size == 10))
      produce(green, topic, 2, values("g", 0, 5))
      file.write("orders" -> Seq(a, b))
      eventually(assert(results.seen.size == 15))
      produce(blue, topic, 2, values("b", 10, 14))
      eventually(assert(results.seen.size == 19))
      file.write("orders" -> Seq(b))
      eventually(assert(results.logged.retained.keySet == Set("blue")))
      produce(green, topic, 2, values("g", 5, 8))
      produce(blue, topic, 2, values("late", 0, 3))
      eventually(assert(results.seen.size == 22))
      settle(query)
      assertSame(
        results.seen,
        stored("blue", blue, topic).filterNot(_.value.startsWith("late")) ++ stored("green", green, topic)
      )
    } finally query.stop()
  }

  test(
    "an added cluster is read from earliest, whatever startingOffsets is, in the batch that introduces it"
  ) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("old", 0, 4))
      produce(green, topic, 2, values("g", 0, 6))
      s.orders(Entry("blue", blue, topic))
      val query = s.start("startingOffsets" -> "latest")
      settle(query)
      assert(s.seen.isEmpty)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      settle(query)
      assertSame(s.seen, stored("green", green, topic))
      assert(s.sizes.filter(_ > 0) == Seq(6), "read by the batch that introduces it")
      assert(s.logged.entered("green").of(topic).values.toSet == Set(0L))
    }
  }

  test("newClusterStartingOffsets applies to an added cluster, and its starting_offsets take precedence") {
    scene { s =>
      val topic = newTopicOn(1, blue, green, red)
      Seq(blue, green, red).foreach(produce(_, topic, 1, values("before", 0, 3)))
      s.orders(Entry("blue", blue, topic))
      val query = s.start("newClusterStartingOffsets" -> "latest")
      settle(query)
      s.change(
        Entry("blue", blue, topic),
        Entry("green", green, topic),
        Entry("red", red, topic).startingAt(s"""{"$topic": {"0": 1}}""")
      )
      settle(query)
      Seq(blue, green, red).foreach(produce(_, topic, 1, values("after", 0, 2)))
      settle(query)
      assertSame(
        s.seen,
        stored("blue", blue, topic) ++ stored("green", green, topic).drop(3) ++ stored(
          "red",
          red,
          topic
        ).drop(1)
      )
    }
  }

  test("a topic added to a known cluster is read from earliest, also if that is above 0") {
    scene { s =>
      val (first, second) = (newTopicOn(1, blue), newTopicOn(2, blue))
      produce(blue, second, 2, values("s", 0, 10))
      blue.deleteRecords(second, 0, 3)
      s.orders(Entry("blue", blue, first))
      val query = s.start("startingOffsets" -> "latest", "failOnDataLoss" -> "true")
      settle(query)
      s.change(Entry("blue", blue, first, second))
      settle(query)
      assertSame(s.seen, stored("blue", blue, second))
      assert(s.seen.size == 7)
    }
  }

  test("newTopicStartingOffsets applies to a topic added to a known cluster, and only there", TestAll) {
    scene { s =>
      val (first, second) = (newTopicOn(1, blue, green), newTopicOn(1, blue, green))
      Seq(blue, green).foreach(produce(_, second, 1, values("s", 0, 3)))
      s.orders(Entry("blue", blue, first))
      val query = s.start("newTopicStartingOffsets" -> "latest")
      settle(query)
      s.change(Entry("blue", blue, first, second), Entry("green", green, second))
      settle(query)
      blue.produce(second, Seq(io.github.dynamickafka.testkit.Record(0, None, "new")))
      settle(query)
      assertSame(s.seen, stored("green", green, second) ++ stored("blue", blue, second).drop(3))
    }
  }

  test("added partitions are read from earliest, whatever the options are") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val latest = Seq("startingOffsets", "newClusterStartingOffsets", "newTopicStartingOffsets")
      val query = s.start(latest.map(_ -> "latest"): _*)
      settle(query)
      blue.addPartitions(topic, 3)
      produce(blue, topic, 3, values("p", 0, 9))
      settle(query)
      // The broker's metadata of a new partition may arrive after its first record.
      eventually(assert(s.seen.size == 9))
      settle(query)
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  test("a change of the topology is logged even without records", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      s.orders(Entry("blue", blue, topic))
      val query = s.start()
      settle(query)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      eventually(assert(s.logged.clusters.keySet == Set("blue", "green")))
      s.change(Entry("green", green, topic))
      eventually(assert(s.logged.clusters.keySet == Set("green")))
      assert(s.logged.retained.keySet == Set("blue"))
      settle(query)
      val text = s.loggedText
      val batches = query.lastProgress.batchId
      // The same answer several times more.
      s.service.awaitAnswers()
      settle(query)
      assert(s.loggedText == text && query.lastProgress.batchId <= batches + 1, "and then it is idle")
    }
  }

  test("a cluster that takes no writes is read, and a change of write is not a change of the topology") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      Seq(blue, green).foreach(produce(_, topic, 2, values("a", 0, 4)))
      val (one, other) = (Entry("blue", blue, topic), Entry("green", green, topic))
      s.orders(one.readOnly, other)
      val query = s.start()
      eventually(assert(s.seen.size == 8))
      settle(query)
      val before = s.batchCount
      val lines = Logs.during(classOf[DynamicMicroBatchStream]) {
        Seq(Seq(one, other), Seq(one, other.readOnly), Seq(one.readOnly, other.readOnly)).foreach { entries =>
          s.change(entries: _*)
          settle(query)
        }
      }
      assert(s.batchCount == before, "a change of the topology would start a batch")
      assert(!lines.exists(_.startsWith("Topology change: ")), lines)
      Seq(blue, green).foreach(produce(_, topic, 2, values("b", 0, 4)))
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("the start is durable before the first batch: a crash in batch 0 restarts at the same position") {
    scene { s =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("before", 0, 4))
      s.orders(Entry("blue", blue, topic))
      val query = s.start("startingOffsets" -> "latest")
      settle(query)
      query.stop()
      produce(blue, topic, 2, values("after", 0, 4))
      s.unlog()
      s.forgetRows()
      // As if the driver had died before it logged batch 0: only the source's own file has the position.
      assert(!s.files.keys.exists(f => f.startsWith("offsets/") && !f.contains(".")))
      s.catchUp("startingOffsets" -> "latest")
      assertSame(s.seen, stored("blue", blue, topic).filter(_.value.startsWith("after")))
    }
  }

  test("two queries of one session over the same stream both read everything", TestAll) {
    scene { one =>
      scene { two =>
        val topic = newTopicOn(2, blue, green)
        val entries = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
        one.orders(entries: _*)
        two.orders(entries: _*)
        val group = "kafka.group.id" -> "a-group-of-both"
        val queries = Seq(one.start(group), two.start(group))
        (0 until 3).foreach { i =>
          produce(blue, topic, 2, values(s"b$i-", 0, 5))
          produce(green, topic, 2, values(s"g$i-", 0, 5))
          queries.foreach(settle)
        }
        Seq(one, two).foreach(s =>
          assertSame(s.seen, storedOnBoth(topic))
        )
      }
    }
  }

  test("each change is one log line: what enters, drains and leaves, with positions and without secrets") {
    scene { s =>
      val (a, b) = (newTopicOn(1, blue, green), newTopicOn(1, red))
      produce(blue, a, 1, Seq("1", "2", "3"))
      produce(red, b, 1, Seq("1", "2"))
      val secret = "pw-unused"
      def on(entry: Entry) = entry.and("ssl.truststore.password", secret)
      s.orders(on(Entry("blue", blue, a)), on(Entry("red", red, b)))
      val query = s.start()
      val lines = Logs.during(classOf[DynamicMicroBatchStream]) {
        settle(query)
        produce(green, a, 1, Seq("1"))
        s.change(on(Entry("blue", blue, a).draining), on(Entry("red", red, b)))
        settle(query)
        val gone = on(Entry("red", red, b)).copy(state = "removed")
        s.change(on(Entry("blue", blue, a).draining), on(Entry("green", green, a)), gone)
        settle(query)
        produce(green, a, 1, Seq("2", "3"))
        settle(query)
      }
      val changes = lines.filter(_.startsWith("Topology change: "))
      assert(changes.count(_.contains(s"""'blue' drains up to {"$a":{"0":3}}""")) == 1, changes)
      assert(changes.count(_.contains(s"""cluster 'blue' leaves at {"$a":{"0":3}}""")) == 1, changes)
      assert(
        changes.contains(
          s"""Topology change: cluster 'green' enters at {"$a":{"0":0}}; cluster 'red' leaves at {"$b":{"0":2}} (query 'orders')"""
        )
      )
      assert(changes.size == changes.distinct.size && changes.size <= 4, changes)
      assert(!lines.exists(_.contains(secret)))
    }
  }
}

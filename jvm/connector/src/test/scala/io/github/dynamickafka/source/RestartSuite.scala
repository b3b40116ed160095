package io.github.dynamickafka.source

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.testkit.TestAll

/**
 * Restarts, and batches that were logged and not finished: they are read again from the log and are the same,
 * whatever the topology has become. [[Results]] compares a repeated batch with its first run.
 */
class RestartSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  /** Blue and green with six records each, in a batch that is logged and not finished. */
  private def interrupted(options: (String, String)*)(body: (Query, String) => Any): Unit =
    onBoth(values("a", 6)) { (s, topic) =>
      s.catchUp(options: _*)
      s.uncommit()
      Seq(blue, green).foreach(produce(_, topic, 2, values("b", 4)))
      body(s, topic)
      ()
    }

  test("the batch is planned again from the log, although more records have been written", TestAll) {
    interrupted() { (s, topic) =>
      s.catchUp()
      assert(s.repeated == Set(0L))
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test(
    "a cluster that was removed from the metadata is read for the batch that names it, then retained"
  ) {
    interrupted() { (s, topic) =>
      s.orders(Entry("green", green, topic))
      s.catchUp()
      assert(s.repeated == Set(0L))
      assertSame(
        s.seen.filter(_.cluster == "blue"),
        stored("blue", blue, topic).filter(_.value.startsWith("a"))
      )
      assert(s.logged.retained.keySet == Set("blue"))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("a removed topic, a topic under another stream, a new cluster: the batch is the same", TestAll) {
    scene { s =>
      val (one, two) = (newTopicOn(1, blue), newTopicOn(1, blue, green))
      Seq(one, two).foreach(produce(blue, _, 1, values("a", 3)))
      produce(green, two, 1, values("g", 3))
      s.service.streams =
        Map("orders" -> Seq(Entry("blue", blue, one, two)), "audit" -> Seq(Entry("blue", blue, one)))
      s.catchUp("streamIds" -> "orders;audit")
      s.uncommit()
      s.service.streams =
        Map("orders" -> Seq(Entry("blue", blue, two)), "audit" -> Seq(Entry("green", green, two)))
      s.catchUp("streamIds" -> "orders;audit")
      assert(s.repeated == Set(0L))
      assertSame(
        s.seen,
        stored("blue", blue, one, "audit") ++ stored("blue", blue, two, "orders") ++ stored(
          "green",
          green,
          two,
          "audit"
        )
      )
    }
  }

  test(
    "a batch that introduced a cluster is the same after the start options of new clusters have changed",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      produce(green, topic, 1, values("skipped", 3))
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp("newClusterStartingOffsets" -> "latest")
      s.uncommit()
      produce(green, topic, 1, values("read", 3))
      // Decided once: the cluster entered at the end offset of that time.
      s.catchUp("newClusterStartingOffsets" -> "earliest")
      assertSame(s.seen, stored("green", green, topic).drop(3))
    }
  }

  test("the metadata service is down: the batch is read with the topology of the checkpoint") {
    interrupted() { (s, topic) =>
      s.service.behave = () => throw new IllegalStateException("down")
      val query = s.start("streamMetadataDiscoveryFailureThreshold" -> "1000")
      eventually(assert(s.seen.size == 20))
      settle(query)
      assert(s.repeated == Set(0L))
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("a removed and unreachable cluster: fail names the remedy, skip gives up the ranges", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, green, red)
      Seq(green, red).foreach(produce(_, topic, 2, values("a", 6)))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      s.catchUp()
      s.uncommit()
      s.orders(Entry("green", green, topic))
      red.kill()
      val skipped = new Results(s.checkpoint)
      try {
        val e = refused(s.start(Trigger.AvailableNow(), "clusterRequestTimeoutMs" -> "5000"))
        assert(condition(e) == "UNREACHABLE_REPLAY")
        assert(Seq("'red'", s"$topic-0 [0, 3)", "unreachableReplayPolicy").forall(text(e).contains), text(e))
        val frame = s.frame("clusterRequestTimeoutMs" -> "5000", "unreachableReplayPolicy" -> "skip")
        val query = skipped.start(frame, Trigger.AvailableNow())
        assert(query.awaitTermination(300000))
      } finally red.restart()
      assertSame(skipped.seen, stored("green", green, topic))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      produce(red, topic, 2, values("b", 4))
      assert(skipped.start(s.frame(), Trigger.AvailableNow()).awaitTermination(300000))
      assertSame(
        skipped.seen,
        stored("green", green, topic) ++ stored("red", red, topic).filter(_.value.startsWith("b"))
      )
    }
  }

  test("the addresses of a removed cluster can be given as options", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      Seq(green, red).foreach(produce(_, topic, 1, values("a", 3)))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      s.catchUp()
      s.uncommit()
      s.orders(Entry("green", green, topic))
      red.restartOnNewPort()
      s.catchUp("cluster.red.kafka.bootstrap.servers" -> red.bootstrapServers)
      assert(s.repeated == Set(0L))
      assertSame(s.seen, stored("green", green, topic) ++ stored("red", red, topic))
    }
  }

  test("clusters that are added and removed while the query is stopped: it resumes exactly") {
    scene { s =>
      val topic = newTopicOn(2, blue, green, red)
      def more(prefix: String) = Seq(blue, green, red).foreach(produce(_, topic, 2, values(prefix, 4)))
      val entries = Seq(Entry("blue", blue, topic), Entry("green", green, topic), Entry("red", red, topic))
      s.orders(entries(0), entries(1))
      more("a")
      s.catchUp()
      more("b")
      s.orders(entries(1), entries(2))
      s.catchUp()
      more("c")
      s.orders(entries: _*)
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic) ++ stored("red", red, topic))
    }
  }

  test("many restarts under load, each with a last batch that is read again", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      val topologies = Seq(Seq(a), Seq(a, b), Seq(b), Seq(b, a.draining), Seq(a, b))
      for ((entries, i) <- topologies.zipWithIndex) {
        s.orders(entries: _*)
        val (next, hold) = (s.batchCount.toLong, new Hold)
        s.inBatch = id => if (id >= next) hold.enter()
        val query = s.start("maxOffsetsPerTrigger" -> "5")
        Seq(blue, green).foreach(produce(_, topic, 2, values(s"$i-", 6)))
        hold.await()
        query.stop()
      }
      s.inBatch = _ => ()
      s.catchUp("maxOffsetsPerTrigger" -> "5")
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.repeated.size == topologies.size)
    }
  }

  test("a batch that failed in the sink is repeated with the same records") {
    scene { s =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("a", 6))
      s.orders(Entry("blue", blue, topic))
      val broken = s.frame().writeStream
        .foreachBatch((_: org.apache.spark.sql.DataFrame, _: Long) => throw new IllegalStateException("sink"))
        .option("checkpointLocation", s.checkpoint.toString).start()
      eventually(assert(broken.exception.isDefined))
      produce(blue, topic, 2, values("b", 4))
      s.catchUp()
      assertSame(s.seen, stored("blue", blue, topic))
      assert(s.batch(0).size == 6, "the batch was logged before the later records")
    }
  }
}

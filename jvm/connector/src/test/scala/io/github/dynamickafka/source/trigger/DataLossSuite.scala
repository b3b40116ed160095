package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query, Results}
import io.github.dynamickafka.testkit.TestAll

/** Records, partitions and topics that Kafka has deleted: `failOnDataLoss` decides. */
class DataLossSuite extends Queries {

  private val tolerant = "failOnDataLoss" -> "false"

  /** Reads four records from each of two partitions, and stops the query. */
  private def stopped(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, values("a", 8))
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    s.catchUp()
    body(s, topic)
    ()
  }

  private def lost(s: Query, texts: String*): Unit = refusedAs("DATA_LOSS", s, texts: _*)

  private def refusedAs(name: String, s: Query, texts: String*): Unit = {
    val e = refused(s.start(Trigger.AvailableNow()))
    assert(condition(e) == name)
    texts.foreach(t => assert(text(e).contains(t), text(e)))
  }

  test(
    "expired while stopped: cluster, topic, partition and both offsets; with false the rest is read"
  ) {
    stopped { (s, topic) =>
      produce(blue, topic, 2, values("b", 8))
      blue.deleteRecords(topic, 1, 6)
      produce(green, topic, 2, values("g", 2))
      lost(s, "'blue'", topic, "partition 1", "4", "6")
      assert(s.seen.size == 8, "nothing of a batch with a loss was read")
      s.catchUp(tolerant)
      assertSame(
        s.seen,
        stored("green", green, topic) ++ Seq.empty ++ stored("blue", blue, topic) ++
          s.seen.filter(r => r.cluster == "blue" && r.partition == 1 && r.offset < 4)
      )
      assert(s.seen.count(r => r.cluster == "blue" && r.partition == 1) == 6)
    }
  }

  test("expired while retained") {
    stopped { (s, topic) =>
      s.orders(Entry("green", green, topic))
      s.catchUp()
      produce(blue, topic, 2, values("b", 8))
      blue.deleteRecords(topic, 0, 7)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      lost(s, "'blue'", topic, "partition 0", "4", "7")
      s.catchUp(tolerant)
      assert(s.seen.filter(_.partition == 0).map(_.offset).sorted == Seq(0L, 1L, 2L, 3L, 7L))
      assert(s.seen.filter(_.partition == 1).map(_.offset).sorted == (0L until 8L))
    }
  }

  test("expired while retained, but read before: no loss", TestAll) {
    stopped { (s, topic) =>
      s.orders(Entry("green", green, topic))
      s.catchUp()
      Seq(0, 1).foreach(blue.deleteRecords(topic, _, 4))
      produce(blue, topic, 2, values("b", 4))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      assert(s.seen.size == 12 && s.seen.distinct.size == 12)
    }
  }

  /** Records of blue are written and expire while the query is busy with a batch of green. */
  private def expiresUnder(s: Query, topic: String): Unit = {
    s.inBatch = { _ =>
      s.inBatch = _ => ()
      produce(blue, topic, 2, values("b", 20))
      Seq(0, 1).foreach(blue.deleteRecords(topic, _, 9))
    }
    produce(green, topic, 1, values("g", 1))
  }

  test("expired between two triggers of a running query: the error; with false the rest is read") {
    stopped { (s, topic) =>
      val query = s.start()
      settle(query)
      expiresUnder(s, topic)
      val e = failure(query)
      assert(condition(e) == "DATA_LOSS")
      assert(Seq("'blue'", topic, "partition 0", "4", "9").forall(text(e).contains), text(e))
      assert(s.seen.count(_.cluster == "blue") == 8)
    }
    stopped { (s, topic) =>
      val before = s.seen
      val query = s.start(tolerant, "maxOffsetsPerTrigger" -> "2")
      settle(query)
      expiresUnder(s, topic)
      settle(query)
      assertSame(s.seen, before ++ storedOnBoth(topic))
      eventually(assert(s.metrics(query)("lostRecords") == "10"))
    }
  }

  test("expired after the batch was logged: the error of the reader names the cluster") {
    stopped { (s, topic) =>
      produce(blue, topic, 2, values("b", 8))
      s.catchUp()
      s.uncommit()
      Seq(0, 1).foreach(blue.deleteRecords(topic, _, 8))
      lost(s, "'blue'", topic)
      val again = new Results(s.checkpoint)
      val query = again.start(s.frame(tolerant), Trigger.AvailableNow())
      assert(query.awaitTermination(300000))
      assert(again.seen.isEmpty && s.metrics(query)("lostRecords") == "8")
    }
  }

  test(
    "a topic is deleted but still in the metadata: the error after a grace period, with false none"
  ) {
    scene { s =>
      val (kept, leaving) = (newTopicOn(1, blue), newTopicOn(1, blue))
      Seq(kept, leaving).foreach(produce(blue, _, 1, values("a", 2)))
      s.orders(Entry("blue", blue, kept, leaving))
      val query = s.start()
      settle(query)
      // The clock starts before the topic is missing, so a query that allows for the grace period never fails earlier.
      val ms = elapsedMs {
        blue.deleteTopic(leaving)
        val e = failure(query)
        assert(condition(e) == "DATA_LOSS" && text(e).contains("'blue'") && text(e).contains(leaving))
      }
      assert(ms >= QueryState.MissingTopicGraceMs, "not before the grace period is over")
      val waited = elapsedMs(assert(condition(refused(s.start(Trigger.AvailableNow()))) == "DATA_LOSS"))
      assert(waited >= 5000L, "AvailableNow waits for a topic that may be missing for a moment")
      // Longer than the test: a query that waits for the deleted topic does not make progress within it.
      val again = s.start(tolerant, "clusterRequestTimeoutMs" -> "600000")
      Seq("b", "c").foreach { name =>
        produce(blue, kept, 1, values(name, 1))
        settle(again)
      }
      assertSame(s.seen.filter(_.topic == kept), stored("blue", blue, kept))
      // Once the topic is removed from the metadata, it is not an error.
      again.stop()
      s.orders(Entry("blue", blue, kept))
      s.catchUp()
      assert(s.seen.size == 6)
    }
  }

  test("a recreated topic is detected, and with false read from earliest", TestAll) {
    stopped { (s, topic) =>
      blue.deleteTopic(topic)
      blue.createTopic(topic, 2)
      produce(blue, topic, 2, values("new", 4))
      refusedAs(
        "TOPIC_RECREATED",
        s,
        "'blue'",
        topic,
        "the next offset to read was 4",
        "the latest offset is now 2"
      )
      s.catchUp(tolerant)
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
    }
  }

  test("a topic recreated with fewer partitions", TestAll) {
    stopped { (s, topic) =>
      blue.deleteTopic(topic)
      blue.createTopic(topic, 1)
      produce(blue, topic, 1, values("new", 3))
      refusedAs("TOPIC_RECREATED", s, "'blue'", topic)
      s.catchUp(tolerant)
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
      produce(blue, topic, 1, values("more", 2))
      s.catchUp(tolerant)
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
    }
  }

  test(
    "a topic that does not exist at the first start is an error; with false it is read once created"
  ) {
    scene { s =>
      val (there, later) = (newTopicOn(1, blue), newTopic())
      s.orders(Entry("blue", blue, there, later))
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "TOPIC_NOT_FOUND")
      assert(Seq("blue", later, "orders").forall(text(e).contains))
      val query = s.start(tolerant)
      settle(query)
      blue.createTopic(later)
      produce(blue, later, 1, values("a", 3))
      eventually(assert(s.seen.size == 3))
      settle(query)
      assertSame(s.seen, stored("blue", blue, later))
    }
  }

  test("a topic that is in the metadata before it is created is read once it exists", TestAll) {
    scene { s =>
      val (there, later) = (newTopicOn(1, blue), newTopic())
      s.orders(Entry("blue", blue, there))
      val query = s.start("newTopicStartingOffsets" -> "earliest")
      settle(query)
      s.change(Entry("blue", blue, there, later), Entry("green", green, later))
      produce(blue, there, 1, values("meanwhile", 2))
      settle(query)
      assert(query.isActive && s.seen.size == 2)
      Seq(green, blue).foreach { cluster =>
        cluster.createTopic(later, 2)
        produce(cluster, later, 2, values("a", 4))
      }
      eventually(assert(s.seen.size == 10))
      settle(query)
      assertSame(
        s.seen,
        stored("blue", blue, there) ++ storedOnBoth(later)
      )
    }
  }
}

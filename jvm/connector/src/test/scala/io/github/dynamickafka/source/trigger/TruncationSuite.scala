package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query, ThreeBrokers}
import io.github.dynamickafka.testkit.TestAll

/** Logs that lose records in an unclean leader election, and grow past the position of the query before it looks. */
class TruncationSuite extends Queries with ThreeBrokers {
  override def asksInEachTrigger: Boolean = false

  private val tolerant = "failOnDataLoss" -> "false"

  /** The records 0 to 2 are on two nodes, the records 3 to 6 on the first one only. */
  private def written(): String = {
    val topic = newTopic()
    three.createTopic(
      topic,
      configs = Map("min.insync.replicas" -> "1", "unclean.leader.election.enable" -> "true"),
      replicas = Seq(1, 2)
    )
    produce(three, topic, 1, values("kept", 3))
    waitFor("two replicas")(three.inSync(topic, 0) == Set(1, 2))
    three.node(2).kill()
    waitFor("one replica")(three.inSync(topic, 0) == Set(1))
    produce(three, topic, 1, values("lost", 4))
    topic
  }

  /** The second node, which has three records, becomes the leader and gets six others. */
  private def replaced(topic: String): Unit = {
    three.node(1).kill()
    three.node(2).restart()
    waitFor("an unclean election")(three.leader(topic, 0).contains(2))
    produce(three, topic, 1, values("other", 6))
    three.node(1).restart()
    waitFor("two replicas")(three.inSync(topic, 0) == Set(1, 2))
  }

  private def fails(s: Query, topic: String, e: => io.github.dynamickafka.error.DynamicKafkaError): Unit = {
    val found = e
    assert(condition(found) == "DATA_LOSS")
    Seq("'three'", topic, "partition 0", "below offset 7", "from offset 3 on")
      .foreach(t => assert(text(found).contains(t), text(found)))
    assert(read(s, topic) == values("kept", 3) ++ values("lost", 4), "nothing of the other log")
  }

  private def read(s: Query, topic: String) = s.seen.filter(_.topic == topic).map(_.value)

  /** What is left after the position is read, nothing is repeated, and the loss is over. */
  private def continues(s: Query, topic: String): Unit = {
    s.catchUp(tolerant)
    val expected = values("kept", 3) ++ values("lost", 4) ++ Seq("other4", "other5")
    assert(read(s, topic) == expected)
    produce(three, topic, 1, values("more", 2))
    s.catchUp()
    assert(read(s, topic) == expected ++ values("more", 2))
  }

  test(
    "cut and grown past the position while the query is stopped: the error, with false the rest is read",
    TestAll
  ) {
    scene { s =>
      val topic = written()
      s.orders(Entry("three", three, topic))
      s.catchUp()
      assert(s.logged.identity("three").epochs.get(topic, 0).isDefined)
      replaced(topic)
      fails(s, topic, refused(s.start(Trigger.AvailableNow())))
      // The batch is logged: it is planned again.
      fails(s, topic, refused(s.start(Trigger.AvailableNow())))
      continues(s, topic)
    }
  }

  test("cut and grown past the position between two triggers of a running query: the same", TestAll) {
    scene { s =>
      val (topic, elsewhere) = (written(), newTopicOn(1, green))
      s.orders(Entry("three", three, topic), Entry("green", green, elsewhere))
      val query = s.start()
      settle(query)
      // The query is busy meanwhile.
      s.inBatch = { _ =>
        s.inBatch = _ => ()
        replaced(topic)
      }
      produce(green, elsewhere, 1, values("g", 1))
      fails(s, topic, failure(query))
      continues(s, topic)
    }
  }

  test("a leader election without loss is none: the log is compared, and read on", TestAll) {
    scene { s =>
      val topic = newTopic()
      three.createTopic(topic)
      produce(three, topic, 1, values("a", 3))
      s.orders(Entry("three", three, topic))
      s.catchUp()
      val before = s.logged.identity("three").epochs
      val leader = three.node(three.leader(topic, 0).get)
      leader.kill()
      produce(three, topic, 1, values("b", 3))
      s.catchUp()
      assert(read(s, topic) == values("a", 3) ++ values("b", 3))
      assert(s.logged.identity("three").epochs.get(topic, 0).get > before.get(topic, 0).get)
      leader.restart()
      waitFor("all replicas")(three.inSync(topic, 0) == Set(1, 2, 3))
    }
  }
}

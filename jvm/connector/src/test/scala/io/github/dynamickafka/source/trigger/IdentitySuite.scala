package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.source.{Entry, Queries, Query, Results, Seen}
import io.github.dynamickafka.testkit.TestAll

/** Topics that are recreated and clusters that are replaced, under the names that the query knows. */
class IdentitySuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  private val tolerant = "failOnDataLoss" -> "false"

  /** Another topic with the same name, and with more records than were read of the former one. */
  private def recreate(topic: String, partitions: Int, records: Int): Unit = {
    blue.deleteTopic(topic)
    blue.createTopic(topic, partitions)
    produce(blue, topic, partitions, values("new", records))
  }

  private def ids(s: Query, id: String = "blue") = s.logged.identity(id)

  /** Reads eight records of two partitions, and stops the query. */
  private def stopped(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, values("a", 8))
    s.orders(Entry("blue", blue, topic))
    s.catchUp()
    body(s, topic)
    ()
  }

  test("a recreated topic that has grown past the position: the error has both ids, with false it is read") {
    stopped { (s, topic) =>
      val old = ids(s).topics(topic)
      recreate(topic, 2, 20)
      refusedUnlogged(s, "TOPIC_RECREATED")(
        "'blue'",
        topic,
        old,
        "partition 0: the next offset to read was 4, the latest offset is now 10"
      )
      s.catchUp(tolerant)
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
      assert(ids(s).topics(topic) != old)
      s.catchUp()
      assert(s.seen.size == 28, "the loss is over")
    }
  }

  /** The topic is recreated while the query is busy with a batch of green. */
  private def recreatedUnder(s: Query, topic: String): Unit = {
    s.inBatch = { _ =>
      s.inBatch = _ => ()
      recreate(topic, 2, 20)
    }
    produce(green, topic, 1, values("g", 1))
  }

  test("a topic that is recreated while the query runs: the error; with false it is read") {
    stopped { (s, topic) =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start()
      settle(query)
      recreatedUnder(s, topic)
      assert(condition(failure(query)) == "TOPIC_RECREATED")
      assert(s.seen.count(_.cluster == "blue") == 8)
      val again = s.start(tolerant)
      settle(again)
      recreatedUnder(s, topic)
      eventually(assert(s.seen.count(r => r.cluster == "blue" && r.value.startsWith("new")) == 40))
      settle(again)
      assertSame(s.seen.filter(_.cluster == "blue").takeRight(20), stored("blue", blue, topic))
    }
  }

  test("a topic that returns with fewer partitions: nothing is stuck, and the position is retained") {
    stopped { (s, topic) =>
      s.orders(Entry("green", green, topic))
      s.catchUp()
      recreate(topic, 1, 3)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      refusedUnlogged(s, "TOPIC_RECREATED")(topic)
      val query = s.start(tolerant)
      settle(query)
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
      assert(s.logged.retained("blue").positions.get(topic, 1).contains(4L))
      query.stop()
      produce(blue, topic, 1, values("more", 2))
      s.catchUp()
      assertSame(s.seen.drop(8), stored("blue", blue, topic))
    }
  }

  test("a drain ends although its topic is recreated with fewer partitions") {
    stopped { (s, topic) =>
      produce(blue, topic, 2, values("b", 8))
      s.orders(Entry("blue", blue, topic).draining, Entry("green", green, topic))
      val held = s.hold()
      val query = s.start("maxOffsetsPerTrigger" -> "2")
      held.await()
      query.stop()
      assert(s.logged.draining("blue") == positions(topic, 0 -> 8L, 1 -> 8L))
      recreate(topic, 1, 3)
      val again = new Results(s.checkpoint)
      assert(again.start(s.frame(tolerant), Trigger.AvailableNow()).awaitTermination(300000))
      assertSame(again.seen, stored("blue", blue, topic))
      assert(!again.logged.clusters.contains("blue") && again.logged.draining.isEmpty)
    }
  }

  private def positions(topic: String, offsets: (Int, Long)*) =
    Positions.from(offsets.map { case (p, at) => (topic, p, at) })

  private def replaced(s: Query, topic: String): Entry = {
    produce(green, topic, 2, values("g", 20))
    s.orders(Entry("blue", green, topic))
    Entry("blue", blue, topic)
  }

  test("another Kafka cluster under the same id: the error has both ids; pointing back continues") {
    stopped { (s, topic) =>
      val old = ids(s).kafkaId.get
      val back = replaced(s, topic)
      refusedUnlogged(s, "CLUSTER_REPLACED")("'blue'", old, "replacedClusterPolicy")
      produce(blue, topic, 2, values("b", 4))
      s.orders(back)
      s.catchUp()
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  for ((policy, records) <- Seq("earliest" -> 24, "latest" -> 4))
    test(s"replacedClusterPolicy=$policy continues with the new cluster, once, while the query runs") {
      stopped { (s, topic) =>
        val query = s.start("replacedClusterPolicy" -> policy)
        settle(query)
        val old = ids(s).kafkaId
        replaced(s, topic)
        eventually(assert(ids(s).kafkaId != old))
        produce(green, topic, 2, values("later", 4))
        settle(query)
        assertSame(
          s.seen.drop(8),
          stored("blue", green, topic).filter { r =>
            policy == "earliest" || r.value.startsWith("later")
          }
        )
        assert(s.seen.size == 8 + records)
        query.stop()
        s.catchUp()
        assert(s.seen.size == 8 + records, "without the option, too")
      }
    }

  test("a cluster under a new id continues where its former id was") {
    stopped { (s, topic) =>
      produce(blue, topic, 2, values("b", 4))
      s.orders(Entry("azure", blue, topic))
      s.catchUp("newClusterStartingOffsets" -> "latest")
      assertSame(
        s.seen,
        stored("blue", blue, topic).filter(_.value.startsWith("a")) ++
          stored("azure", blue, topic).filter(_.value.startsWith("b"))
      )
      assert(s.logged.retained.isEmpty)
    }
  }

  for (policy <- Seq("stop", "drain"))
    test(s"cluster ids are renamed while the query runs, removedClusterPolicy=$policy", TestAll) {
      scene { s =>
        val (one, two) = (newTopicOn(2, blue), newTopicOn(2, blue))
        def more(prefix: String) = Seq(one, two).foreach(produce(blue, _, 2, values(prefix, 4)))
        more("a")
        s.orders(Entry("blue", blue, one, two))
        val query = s.start("removedClusterPolicy" -> policy)
        settle(query)
        Seq(
          Seq(Entry("azure", blue, one, two)),
          Seq(Entry("azure", blue, one), Entry("navy", blue, two)),
          Seq(Entry("navy", blue, one, two))
        ).zipWithIndex.foreach { case (entries, i) =>
          more(s"before $i ")
          s.change(entries: _*)
          more(s"after $i ")
          settle(query)
        }
        def of(found: Seq[Seen]) = found.map(_.copy(cluster = "any"))
        assertSame(of(s.seen), of(stored("blue", blue, one) ++ stored("blue", blue, two)))
        assert(s.logged.clusters.keySet == Set("navy") && s.logged.retained.isEmpty)
      }
    }

  /** A batch of 40 offsets is logged and not finished, then its topic is recreated with ten records. */
  private def loggedBeyondEnd(body: (Query, String) => Any): Unit = stopped { (s, topic) =>
    produce(blue, topic, 2, values("b", 40))
    s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
    produce(green, topic, 2, values("g", 5))
    s.catchUp()
    s.uncommit()
    recreate(topic, 2, 10)
    body(s, topic)
  }

  test("a logged range of a topic that was recreated: the error at once, with false the rest is read") {
    loggedBeyondEnd { (s, topic) =>
      refusedUnlogged(s, "TOPIC_RECREATED")(topic, "the latest offset is now 5")
      val again = new Results(s.checkpoint)
      assert(again.start(s.frame(tolerant), Trigger.AvailableNow()).awaitTermination(300000))
      assertSame(again.seen, storedOnBoth(topic))
    }
  }

  test(
    "a logged range beyond the end of a log whose id is not known: found during the read, within seconds",
    TestAll
  ) {
    def withoutIds(s: Query): Unit =
      s.rewriteLogged(_.replaceAll(",\"identities\":.*", "}"))
    loggedBeyondEnd { (s, topic) =>
      withoutIds(s)
      assert(s.logged.identities.isEmpty)
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "DATA_LOSS" && text(e).contains("the log ends at 5"), text(e))
      val again = new Results(s.checkpoint)
      assert(again.start(s.frame(tolerant), Trigger.AvailableNow()).awaitTermination(300000))
      assertSame(again.seen.filter(_.cluster == "green"), stored("green", green, topic))
      assert(again.batch(1).count(_.cluster == "blue") <= 10)
    }
  }

  test("spark.read of a topic through two ids of one Kafka cluster is refused") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("v", 3))
      s.orders(Entry("one", blue, topic), Entry("two", blue, topic))
      val e = refused(s.batch().count())
      assert(condition(e) == "DUPLICATE_CLUSTER" && Seq("one", "two", topic).forall(text(e).contains))
      assert(s.batch("allowDuplicateClusters" -> "true").count() == 6)
    }
  }
}

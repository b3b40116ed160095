package io.github.dynamickafka.source.cluster

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.source.{Entry, Queries, ThreeBrokers}
import io.github.dynamickafka.testkit.{KafkaNode, TestAll}

/** A cluster of three brokers, of which one fails. */
class LeaderFailureSuite extends Queries with ThreeBrokers {
  override def asksInEachTrigger: Boolean = false

  /** Less than the session of a broker and the election of another leader take, together with some attempts. */
  private val limit = "clusterRequestTimeoutMs" -> "15000"

  test("fail: a query continues when a leader is killed and another broker is elected", TestAll) {
    leaderFails(_.kill())
  }

  test("fail: a query continues when a leader is frozen and another broker is elected", TestAll) {
    leaderFails(_.freeze())
  }

  private def leaderFails(fail: KafkaNode => Unit): Unit = scene { s =>
    val topic = newTopic()
    three.createTopic(topic, partitions = 3)
    s.orders(Entry("three", three, topic))
    val query = s.start(limit)
    produce(three, topic, 3, values("before", 9))
    settle(query)
    fail(three.node(three.leader(topic, 0).get))
    // Returns when the new leaders have the records.
    produce(three, topic, 3, values("after", 9))
    waitFor("all records, or the end of the query")(s.seen.size == 18 || !query.isActive)
    query.exception.foreach(throw _)
    assertSame(s.seen, stored("three", three, topic))
  }

  test("fail: a partition without a leader keeps its offset, and all others are read", TestAll) {
    continuesWithoutLeader("clusterFailurePolicy" -> "fail")
  }

  test("skip: a partition without a leader is no outage of its cluster", TestAll) {
    continuesWithoutLeader("clusterFailurePolicy" -> "skip")
  }

  private def continuesWithoutLeader(policy: (String, String)): Unit = scene { s =>
    val (only, others, elsewhere) = (newTopic("only"), newTopic("others"), newTopicOn(1, green))
    three.createTopic(only, configs = Map("min.insync.replicas" -> "1"), replicas = Seq(2))
    three.createTopic(others, replicas = Seq(1, 3))
    s.orders(Entry("three", three, only, others), Entry("green", green, elsewhere))
    val query = s.start(policy)
    produce(three, only, 1, values("before", 3))
    settle(query)
    val position = s.logged.position("three").of(only)
    three.node(2).kill()
    waitFor("no leader")(three.leader(only, 0).isEmpty)
    val before = query.recentProgress.length
    (1 to 10).foreach { i =>
      produce(three, others, 1, values(s"o$i-", 1))
      produce(green, elsewhere, 1, values(s"e$i-", 1))
      waitFor(s"records $i")(s.seen.size == 3 + 2 * i)
    }
    assert(s.logged.position("three").of(only) == position)
    assert(s.metrics(query)("unreachableClusters") == "0")
    // Less than the default of clusterRequestTimeoutMs: no trigger waits for the partition.
    val slowest = query.recentProgress.drop(
      before
    ).map(_.durationMs.asScala.get("latestOffset").fold(0L)(_.longValue)).max
    assert(slowest < 15000, s"$slowest ms")
    three.node(2).restart()
    produce(three, only, 1, values("after", 3))
    settle(query)
    waitFor("the records after the restart")(s.seen.size == 26)
    assertSame(
      s.seen,
      stored("three", three, only) ++ stored("three", three, others) ++ stored("green", green, elsewhere)
    )
  }

  test("skip: first start: a topic without a leader enters later, at startingOffsets", TestAll) {
    scene { s =>
      val (only, others) = (newTopic("only"), newTopic("others"))
      three.createTopic(only, configs = Map("min.insync.replicas" -> "1"), replicas = Seq(2))
      three.createTopic(others, replicas = Seq(1, 3))
      Seq(only, others).foreach(produce(three, _, 1, values("v", 3)))
      s.orders(Entry("three", three, only, others))
      three.node(2).kill()
      waitFor("no leader")(three.leader(only, 0).isEmpty)
      // A topic that counts as new would enter at earliest.
      val starts = "startingOffsets" -> s"""{"three": {"$only": {"0": 1}}}"""
      val fails = refused(s.start(limit, starts))
      assert(condition(fails) == "PARTITION_UNAVAILABLE" && text(fails).contains(only), text(fails))
      val query = s.start(limit, starts, "clusterFailurePolicy" -> "skip")
      waitFor("the other topic")(s.seen.size == 3)
      assert(s.seen.forall(_.topic == others))
      three.node(2).restart()
      waitFor("the topic with a leader")(s.seen.size == 5)
      settle(query)
      assertSame(s.seen, stored("three", three, others) ++ stored("three", three, only).filter(_.offset > 0))
    }
  }

  test(
    "a broker that leads nothing and does not respond is no reason to fail: other addresses are tried",
    TestAll
  ) {
    scene { s =>
      val topic = newTopic()
      three.createTopic(topic, replicas = Seq(1, 3))
      produce(three, topic, 1, values("v", 5))
      s.orders(Entry("three", three, topic))
      three.node(2).freeze()
      (1 to 4).foreach(_ => assert(s.batch(limit).count() == 5))
    }
  }
}

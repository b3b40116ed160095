package io.github.dynamickafka.source.cluster

import java.lang.management.ManagementFactory

import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._

import javax.management.ObjectName
import org.apache.spark.sql.streaming.{StreamingQueryProgress, Trigger}

import io.github.dynamickafka.source.{Entry, Queries, Query}
import io.github.dynamickafka.testkit.TestAll

/** Unreachable clusters. `red` is the one that fails. */
class OutageSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  private val skip = "clusterFailurePolicy" -> "skip"
  private def within(ms: Int) = "clusterRequestTimeoutMs" -> ms.toString

  /** As long as a healthy cluster needs to answer on a busy machine, and not longer. */
  private val soon = within(5000)

  private def withTopic(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, green, red)
    s.orders(Entry("green", green, topic), Entry("red", red, topic))
    body(s, topic)
    ()
  }

  private def all(topic: String) = stored("green", green, topic) ++ stored("red", red, topic)

  test("fail: the query fails with an error that names the cluster, and can be restarted") {
    withTopic { (s, topic) =>
      val query = s.start(soon)
      produce(red, topic, 2, values("a", 4))
      settle(query)
      killed(red) {
        val e = failure(query)
        assert(condition(e) == "CLUSTER_UNREACHABLE")
        assert(text(e).contains("'red'") && text(e).contains(red.bootstrapServers), text(e))
        assert(!text(e).contains("'green'"))
      }
      produce(green, topic, 2, values("b", 4))
      s.catchUp()
      assertSame(s.seen, all(topic))
    }
  }

  test("fail: a frozen broker counts as unreachable after clusterRequestTimeoutMs", TestAll) {
    withTopic { (s, topic) =>
      val query = s.start(soon)
      settle(query)
      frozen(red) {
        val ms = elapsedMs(assert(condition(failure(query)) == "CLUSTER_UNREACHABLE"))
        // Not the default of a minute; the rest allows for a busy machine.
        assert(ms > 4000 && ms < 40000)
      }
      produce(red, topic, 2, values("a", 4))
      s.catchUp()
      assertSame(s.seen, all(topic))
    }
  }

  test("skip: the cluster keeps its offset, the others continue, and it resumes exactly") {
    withTopic { (s, topic) =>
      produce(red, topic, 2, values("a", 4))
      val query = s.start(skip, soon)
      settle(query)
      val position = s.logged.position("red")
      killed(red) {
        produce(green, topic, 2, values("g", 6))
        eventually(assert(s.seen.count(_.cluster == "green") == 6))
        eventually(assert(s.metrics(query)("unreachableClusters") == "1"))
        assert(s.logged.position("red") == position)
        assert(s.metrics(query)("kafkaClustersCount") == "2")
      }
      produce(red, topic, 2, values("b", 4))
      eventually(assert(s.seen.size == 14))
      settle(query)
      assertSame(s.seen, all(topic))
      eventually(assert(s.metrics(query)("unreachableClusters") == "0"))
    }
  }

  test("skip: a hanging cluster delays no trigger", TestAll) {
    withTopic { (s, topic) =>
      val query = s.start(skip, within(15000))
      settle(query)
      frozen(red) {
        produce(green, topic, 2, values("first", 2))
        val ms = elapsedMs(eventually(assert(s.seen.size == 2)))
        // Less than twice the limit.
        assert(ms < 29000, s"by no more than its limit: $ms ms")
        settle(query)
        val before = query.recentProgress.length
        (0 until 10).foreach { i =>
          produce(green, topic, 2, values(s"$i-", 2))
          settle(query)
        }
        val later = query.recentProgress.drop(before)
        val slowest = later.map(lookMs).max
        assert(slowest < 10000, s"later triggers do not wait for it: $slowest ms")
        assert(later.nonEmpty && s.seen.size == 22)
      }
      produce(red, topic, 2, values("back", 2))
      eventually(assert(s.seen.size == 24))
      eventually(assert(s.metrics(query)("unreachableClusters") == "0"))
      settle(query)
      assertSame(s.seen, all(topic))
    }
  }

  private def lookMs(progress: StreamingQueryProgress): Long =
    progress.durationMs.asScala.get("latestOffset").fold(0L)(_.longValue)

  test("a frozen cluster holds up no trigger: the other cluster is read without a gap, with either policy") {
    for (policy <- Seq("fail", "skip")) withTopic { (s, topic) =>
      val query = s.start("clusterFailurePolicy" -> policy, within(600000))
      settle(query)
      frozen(red) {
        (1 to 10).foreach { i =>
          produce(green, topic, 2, values(s"$i-", 2))
          // Less than any time limit of a client; a trigger that waited would take minutes.
          val ms = elapsedMs(waitFor(s"records $i")(s.seen.size == 2 * i))
          assert(ms < 30000, s"$policy: $ms ms")
        }
        assert(s.metrics(query)("snapshotAgeMs.red").toLong >= 0 && query.isActive)
      }
      produce(red, topic, 2, values("back", 2))
      waitFor("red is read again")(s.seen.size == 22)
      assertSame(s.seen, all(topic))
    }
  }

  test("skip: after clusterFailureTimeoutMs the query fails", TestAll) {
    withTopic { (s, topic) =>
      val query = s.start(skip, soon, "clusterFailureTimeoutMs" -> "20000")
      settle(query)
      killed(red) {
        produce(green, topic, 2, values("g", 2))
        eventually(assert(s.seen.size == 2))
        assert(query.isActive)
        val e = failure(query)
        assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("'red'"))
      }
    }
  }

  test("first start: fail names the unreachable cluster, and the next start is a first start again", TestAll) {
    withTopic { (s, topic) =>
      produce(green, topic, 2, values("g", 2))
      killed(red) {
        val e = refused(s.start(soon))
        assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("'red'"))
      }
      s.catchUp()
      assertSame(s.seen, all(topic))
    }
  }

  test(
    "first start: skip continues, and the cluster enters at startingOffsets, also after a restart",
    TestAll
  ) {
    withTopic { (s, topic) =>
      produce(red, topic, 2, values("before", 4))
      produce(green, topic, 2, values("before", 4))
      // A cluster that counts as new would enter at earliest.
      val options = Seq(skip, soon, "startingOffsets" -> s"""{"red": {"$topic": {"0": 1, "1": 2}}}""")
      killed(red) {
        val query = s.start(options: _*)
        eventually(assert(s.seen.size == 4))
        query.stop()
        assert(!s.logged.clusters.contains("red"))
      }
      s.catchUp(options: _*)
      assertSame(
        s.seen,
        stored("green", green, topic) ++ stored("red", red, topic).filter(r => r.offset > r.partition)
      )
    }
  }

  test("an address that does not exist: the same, and without delay") {
    scene { s =>
      s.orders(Entry.at("nowhere", "no-such-host.invalid:9092", "t"))
      val e = refused(s.start(Trigger.AvailableNow(), soon))
      assert(condition(e) == "CLUSTER_UNREACHABLE" && text(e).contains("'nowhere'"))
    }
    scene { s =>
      val topic = newTopicOn(1, green)
      produce(green, topic, 1, values("g", 3))
      s.orders(Entry("green", green, topic), Entry.at("nowhere", "no-such-host.invalid:9092", topic))
      s.catchUp(skip, soon)
      assertSame(s.seen, stored("green", green, topic))
    }
  }

  test("AvailableNow with skip ends without the unreachable cluster", TestAll) {
    withTopic { (s, topic) =>
      s.catchUp()
      killed(red) {
        produce(green, topic, 2, values("g", 4))
        s.catchUp(skip, soon, "maxOffsetsPerTrigger" -> "2")
        assert(s.seen.size == 4)
      }
      produce(red, topic, 2, values("r", 4))
      s.catchUp()
      assertSame(s.seen, all(topic))
    }
  }

  test(
    "draining an unreachable cluster follows the policy: skip keeps the target until it is reachable",
    TestAll
  ) {
    withTopic { (s, topic) =>
      s.catchUp()
      produce(red, topic, 2, values("r", 8))
      s.orders(Entry("green", green, topic), Entry("red", red, topic).draining)
      // One finished batch: an unfinished one could not be read again without red.
      val query = s.start(Trigger.ProcessingTime("1 hour"), "maxOffsetsPerTrigger" -> "1")
      eventually(assert(s.logged.draining.contains("red") && s.isFinished))
      val target = s.logged.draining("red")
      query.stop()
      killed(red) {
        val e = refused(s.start(Trigger.AvailableNow(), soon))
        assert(condition(e) == "CLUSTER_UNREACHABLE")
        val again = s.start(skip, soon)
        produce(green, topic, 2, values("g", 2))
        eventually(assert(s.seen.count(_.cluster == "green") == 2))
        assert(s.logged.draining.get("red").contains(target))
        again.stop()
      }
      val last = s.start(skip)
      eventually(assert(s.logged.retained.keySet == Set("red")))
      settle(last)
      assertSame(s.seen, all(topic))
      assert(s.logged.retained("red").positions == target)
    }
  }

  test("stop() returns promptly while a broker is frozen, with either policy") {
    for (policy <- Seq("fail", "skip")) withTopic { (s, topic) =>
      // So that a trigger waits for red.
      val query = s.start("clusterFailurePolicy" -> policy, within(300000), "clusterSnapshotMaxAgeMs" -> "0")
      settle(query)
      try {
        // Frozen in a batch: the next trigger is the first one that red does not answer.
        s.inBatch = _ => red.freeze()
        produce(green, topic, 2, values("a", 1))
        eventually {
          assert(s.seen.size == 1 && s.isFinished)
          assert(query.status.message.startsWith("Getting offsets"))
        }
        stopWithin(20.seconds)(query)
        assert(query.exception.isEmpty, policy)
      } finally red.thaw()
    }
  }

  private def clients(domain: String, part: String): Set[String] =
    ManagementFactory.getPlatformMBeanServer.queryNames(new ObjectName(s"$domain:type=app-info,id=*"), null)
      .asScala.map(_.getKeyProperty("id")).filter(_.contains(part)).toSet

  test("a change affects only what changed: clients of the other clusters are kept") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val stays = Entry("green", green, topic).and("client.id", s"stays-$topic")
      val group = s"group-$topic"
      s.orders(Entry("blue", blue, topic), stays)
      val query = s.start("kafka.group.id" -> group)
      produce(green, topic, 1, values("a", 2))
      settle(query)
      val admins = clients("kafka.admin.client", s"stays-$topic")
      val consumers = clients("kafka.consumer", s"stays-$topic")
      assert(admins.size == 1 && consumers.size == 1, s"$admins $consumers")
      val created = countCreated(s"stays-$topic")
      s.change(Entry("blue", blue, topic).and("max.poll.records", "7"), stays)
      produce(green, topic, 1, values("b", 2))
      settle(query)
      s.change(stays)
      produce(green, topic, 1, values("c", 2))
      settle(query)
      s.change(Entry("blue", blue, topic), stays)
      produce(green, topic, 1, values("d", 2))
      settle(query)
      assert(s.seen.count(_.cluster == "green") == 8)
      assert(clients("kafka.admin.client", s"stays-$topic") == admins)
      assert(clients("kafka.consumer", s"stays-$topic") == consumers)
      assert(countCreated(s"stays-$topic") == created, "not closed and created again either")
    }
  }

  /** The start times of these clients in JMX. */
  private def countCreated(part: String): Map[String, AnyRef] = {
    val server = ManagementFactory.getPlatformMBeanServer
    Seq("kafka.admin.client", "kafka.consumer").flatMap { domain =>
      server.queryNames(new ObjectName(s"$domain:type=app-info,id=*"), null).asScala
        .filter(_.getKeyProperty("id").contains(part))
        .map(name => s"$domain ${name.getKeyProperty("id")}" -> server.getAttribute(name, "StartTimeMs"))
    }.toMap
  }
}

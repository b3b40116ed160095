package io.github.dynamickafka.source.trigger

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.Options
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.source.Logs

/** How long a query continues without the offsets of a partition. */
class UnansweredPartitionsSuite extends AnyFunSuite {
  private val clock = new ManualClock
  private val answered = ClusterView.Reachable(Positions.empty, Positions.empty)
  private val leaderless = answered.copy(unanswered = Map(("orders", 3) -> "partition has no leader"))

  private def partitions(options: (String, String)*) =
    UnansweredPartitions(Options.parse(options: _*).clusters, clock)

  private def judge(all: UnansweredPartitions, view: ClusterView, waits: Boolean = true): Unit =
    all.judge(Map("blue" -> view), (id, topic) => s"stream-of-$id-$topic", waits)

  private def refused(body: => Unit): String = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.PARTITION_UNAVAILABLE")
    e.getMessage
  }

  test("fail: a partition may be without an answer for twice the time limit of a cluster") {
    val all = partitions("clusterRequestTimeoutMs" -> "60000")
    judge(all, leaderless)
    // As long as Spark's own source has been seen to wait for a new leader.
    clock.advanceMs(93000)
    judge(all, leaderless)
    clock.advanceMs(26999)
    judge(all, leaderless)
    clock.advanceMs(1)
    val text = refused(judge(all, leaderless))
    Seq("'blue'", "partition 3", "'orders'", "'stream-of-blue-orders'", "120000 ms", "has no leader")
      .foreach(part => assert(text.contains(part), text))
  }

  test("the time starts again after an answer, but not while the cluster is unreachable") {
    val all = partitions("clusterRequestTimeoutMs" -> "60000")
    judge(all, leaderless)
    clock.advanceMs(100000)
    judge(all, answered)
    judge(all, leaderless)
    clock.advanceMs(100000)
    judge(all, ClusterView.Unreachable)
    judge(all, leaderless)
    clock.advanceMs(20000)
    refused(judge(all, leaderless))
  }

  test("a cluster that has left and returns has its whole time again") {
    val all = partitions("clusterRequestTimeoutMs" -> "60000")
    judge(all, leaderless)
    clock.advanceMs(100000)
    all.judge(Map("green" -> answered), (_, _) => "", waits = true)
    clock.advanceMs(100000)
    judge(all, leaderless)
    clock.advanceMs(119999)
    judge(all, leaderless)
    clock.advanceMs(1)
    refused(judge(all, leaderless))
  }

  test("fail: where no later trigger asks again, the query fails at once; skip continues") {
    refused(judge(partitions(), leaderless, waits = false))
    judge(partitions("clusterFailurePolicy" -> "skip"), leaderless, waits = false)
  }

  test("skip: forever, or up to clusterFailureTimeoutMs") {
    val forever = partitions("clusterFailurePolicy" -> "skip")
    val limited = partitions("clusterFailurePolicy" -> "skip", "clusterFailureTimeoutMs" -> "500000")
    Seq(forever, limited).foreach(judge(_, leaderless))
    clock.advanceMs(499999)
    Seq(forever, limited).foreach(judge(_, leaderless))
    clock.advanceMs(1)
    judge(forever, leaderless)
    refused(judge(limited, leaderless))
  }

  test("each outage is logged once, with stream, cluster, topic and partition, and so is its end") {
    val all = partitions()
    val lines = Logs.during(classOf[UnansweredPartitions]) {
      (1 to 3).foreach(_ => judge(all, leaderless))
      clock.advanceMs(7)
      (1 to 3).foreach(_ => judge(all, answered))
    }
    assert(lines.size == 2, lines)
    assert(
      Seq("'blue'", "partition 3", "'orders'", "'stream-of-blue-orders'").forall(lines.head.contains),
      lines
    )
    assert(lines(1).contains("orders-3 has offsets again after 7 ms"), lines)
  }
}

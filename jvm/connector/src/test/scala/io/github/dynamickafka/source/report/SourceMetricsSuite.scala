package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.source.cluster.CommitCounts
import io.github.dynamickafka.testkit.TimeLimit

class SourceMetricsSuite extends AnyFunSuite with TimeLimit {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  test("metrics never throw, and always have every key") {
    val consumed = CompositeOffset(
      clusters =
        SortedMap("blue" -> positions(("t", 0, 5L), ("t", 1, 5L)), "gone" -> positions(("t", 0, 9L))),
      draining = SortedMap("gone" -> positions(("t", 0, 9L)))
    )
    val ends = SortedMap("blue" -> positions(("t", 0, 7L), ("u", 0, 3L)))
    val metrics = SourceMetrics(
      consumed,
      Lags.of(consumed, ends),
      Set("blue", "new"),
      Set("new"),
      12L,
      3,
      CommitCounts(5L, 2L),
      RecordCounts(deferred = 4L, lost = 6L),
      Map("blue" -> 7L),
      Map("blue" -> (30L -> 0L))
    )
    assert(metrics.get("snapshotAgeMs.blue") == "7" && metrics.get("snapshotAgeMs.new") == "-1")
    assert(metrics.get("eventTimeLagMs.blue") == "30" && metrics.get("eventTimeDriftMs.blue") == "0")
    assert(metrics.get("eventTimeLagMs.new") == "-1" && metrics.get("eventTimeDriftMs.new") == "-1")
    assert(metrics.get("pendingRecords") == "2" && metrics.get("pendingRecords.blue") == "2")
    assert(metrics.get("pendingRecords.new") == "0" && !metrics.containsKey("pendingRecords.gone"))
    assert(metrics.get("maxOffsetsBehindLatest") == "2" && metrics.get("minOffsetsBehindLatest") == "0")
    assert(metrics.get("deferredRecords") == "4" && metrics.get("lostRecords") == "6")
    assert(metrics.get("drainingClusters") == "1" && metrics.get("unreachableClusters") == "1")
    val nothing =
      SourceMetrics(
        CompositeOffset.empty,
        SortedMap.empty,
        Set.empty,
        Set.empty,
        0L,
        0,
        CommitCounts.none,
        RecordCounts()
      )
    assert(nothing.get("avgOffsetsBehindLatest") == "0.0" && nothing.get("kafkaClustersCount") == "0")
  }

  test("lags are computed once for the same objects") {
    val lags = new Lags
    val consumed = CompositeOffset(clusters = SortedMap("blue" -> positions(("t", 0, 5L))))
    val ends = SortedMap("blue" -> positions(("t", 0, 7L)))
    val first = lags.of(consumed, ends)
    assert(first == SortedMap("blue" -> Seq(2L)) && (lags.of(consumed, ends) eq first))
    assert(lags.of(consumed, SortedMap("blue" -> positions(("t", 0, 9L)))) == SortedMap("blue" -> Seq(4L)))
    assert(lags.of(CompositeOffset.empty, ends).isEmpty)
  }
}

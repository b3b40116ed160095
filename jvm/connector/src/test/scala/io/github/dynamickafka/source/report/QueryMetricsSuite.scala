package io.github.dynamickafka.source.report

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.offset.{CompositeOffset, Positions, ReadUntil}
import io.github.dynamickafka.source.cluster.CommitCounter
import io.github.dynamickafka.testkit.TimeLimit

class QueryMetricsSuite extends AnyFunSuite with TimeLimit {

  private val clock = new ManualClock
  clock.advanceMs(1000000L)

  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  test("metrics never throw, and always have every key") {
    val consumed = CompositeOffset(
      clusters =
        SortedMap("blue" -> positions(("t", 0, 5L), ("t", 1, 5L)), "gone" -> positions(("t", 0, 9L))),
      until = ReadUntil(SortedMap("gone" -> positions(("t", 0, 9L))))
    )
    val ends = SortedMap("blue" -> positions(("t", 0, 7L), ("u", 0, 3L)))
    val commits = new CommitCounter
    (1 to 5).foreach(_ => commits.succeeded("blue", "g"))
    (1 to 2).foreach(_ => commits.failed("blue", "g", "denied"))
    val shown = new QueryMetrics(() => 12L, () => 3L, commits, () => Map("blue" -> 7L), clock)
    val read = Some(clock.currentTimeMillis() - 30L)
    val snapshot = QuerySnapshot(
      consumed,
      ends,
      KnownClusters(Set("blue", "new"), unreachable = Set("new")),
      times = Map("blue" -> ClusterTimes(read, isLevel = false, read)),
      counts = RecordCounts(deferred = 4L, lost = 6L)
    )
    shown.set(snapshot, None)
    val metrics = shown.progress(0L)
    assert(metrics.get("snapshotAgeMs.blue") == "7" && metrics.get("snapshotAgeMs.new") == "-1")
    assert(metrics.get("eventTimeLagMs.blue") == "30" && metrics.get("eventTimeDriftMs.blue") == "0")
    assert(metrics.get("eventTimeLagMs.new") == "-1" && metrics.get("eventTimeDriftMs.new") == "-1")
    assert(metrics.get("pendingRecords") == "2" && metrics.get("pendingRecords.blue") == "2")
    assert(metrics.get("pendingRecords.new") == "0" && !metrics.containsKey("pendingRecords.gone"))
    assert(metrics.get("maxOffsetsBehindLatest") == "2" && metrics.get("minOffsetsBehindLatest") == "0")
    assert(metrics.get("deferredRecords") == "4" && metrics.get("lostRecords") == "6")
    assert(metrics.get("drainingClusters") == "1" && metrics.get("unreachableClusters") == "1")
    assert(metrics.get("commitsSucceeded") == "5" && metrics.get("metadataFailures") == "3")
    val nothing = new QueryMetrics(() => 0L, () => 0L, new CommitCounter, () => Map.empty, clock).progress(0L)
    assert(nothing.get("avgOffsetsBehindLatest") == "0.0" && nothing.get("kafkaClustersCount") == "0")
  }

  test("lags are computed once for the same objects") {
    val consumed = CompositeOffset(clusters = SortedMap("blue" -> positions(("t", 0, 5L))))
    val ends = SortedMap("blue" -> positions(("t", 0, 7L)))
    val metrics = new QueryMetrics(() => 0L, () => 0L, new CommitCounter, () => Map.empty, clock)
    def of(at: CompositeOffset, latest: SortedMap[String, Positions]) = {
      metrics.set(QuerySnapshot(at, latest), None)
      metrics.snapshot.lags
    }
    val first = of(consumed, ends)
    assert(first == SortedMap("blue" -> Seq(2L)) && (of(consumed, ends) eq first))
    assert(of(consumed, SortedMap("blue" -> positions(("t", 0, 9L)))) == SortedMap("blue" -> Seq(4L)))
    assert(of(CompositeOffset.empty, ends).isEmpty)
  }
}

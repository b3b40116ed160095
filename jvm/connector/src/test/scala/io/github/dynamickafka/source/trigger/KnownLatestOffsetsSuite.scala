package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{ClusterView, CompositeOffset, Positions}
import io.github.dynamickafka.source.report.QuerySnapshot

/** The latest offsets from which lags are computed while clusters and partitions do not respond. */
class KnownLatestOffsetsSuite extends AnyFunSuite {
  private def ends(of: (Int, Long)*) = Positions.from(of.map { case (p, end) => ("t", p, end) })
  private def reachable(of: (Int, Long)*) =
    ClusterView.Reachable(ends(of: _*), ends(of.map(_._1 -> 0L): _*))
  private val before = SortedMap("a" -> ends(0 -> 10L, 1 -> 20L), "b" -> ends(0 -> 5L))

  test("a cluster that does not respond keeps its latest offsets, so that its lag stays") {
    Seq(ClusterView.Unreachable, ClusterView.Pending).foreach { none =>
      val after = KnownLatestOffsets.after(before, Map("a" -> none, "b" -> reachable(0 -> 6L)))
      assert(after == SortedMap("a" -> before("a"), "b" -> ends(0 -> 6L)))
      val read = CompositeOffset(SortedMap("a" -> ends(0 -> 4L, 1 -> 20L), "b" -> ends(0 -> 6L)))
      assert(QuerySnapshot(read, after).lags == SortedMap("a" -> Seq(6L, 0L), "b" -> Seq(0L)))
    }
  }

  test("so do a topic that is missing and a partition without an answer, but not a partition that is gone") {
    val missing = reachable().copy(missing = Set("t"))
    assert(KnownLatestOffsets.after(before, Map("a" -> missing))("a") == before("a"))
    val partly = reachable(0 -> 12L).copy(unanswered = Map(("t", 1) -> "no leader"))
    assert(KnownLatestOffsets.after(before, Map("a" -> partly))("a") == ends(0 -> 12L, 1 -> 20L))
    assert(KnownLatestOffsets.after(before, Map("a" -> reachable(0 -> 12L)))("a") == ends(0 -> 12L))
  }

  test("nothing is known of a cluster that has never responded, or has left") {
    assert(KnownLatestOffsets.after(before, Map("c" -> ClusterView.Unreachable)).isEmpty)
  }
}

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

/** A log with holes: what enters in batches that Spark does not log. */
class EarlierEntriesSuite extends AnyFunSuite {
  private def on(cluster: String, all: (String, Int, Long)*) = SortedMap(cluster -> Positions.from(all))
  private def range(from: Long, until: Long) = SortedMap("a" -> Seq(OffsetRange("t", 0, from, until)))
  private def at(offset: Long) = CompositeOffset(on("a", ("t", 0, offset)))

  private val before = CompositeOffset(SortedMap.empty[String, Positions])
  private val enters = at(7L).copy(entered = on("a", ("t", 0, 5L)))
  private val after = at(9L).carrying(enters, before)

  test("a batch reads what entered in batches that are not logged from where it entered") {
    assert(OffsetRange.between(before, after) == range(5L, 9L))
    assert(OffsetRange.between(before, at(12L).carrying(after, before)) == range(5L, 12L))
  }

  test("an entry has no effect on a batch that starts where it entered, or later") {
    assert(OffsetRange.between(enters, after) == range(7L, 9L))
    val later = at(12L).carrying(after, before)
    assert(OffsetRange.between(enters, later) == range(7L, 12L))
    assert(OffsetRange.between(after, later) == range(9L, 12L))
    assert(OffsetRange.between(CompositeOffsetJson.read(after.json), later) == range(9L, 12L))
  }

  test("nothing is carried that is in a logged offset, or that is not read any more") {
    assert(at(9L).carrying(enters, enters) == at(9L))
    assert(at(12L).carrying(after, after) == at(12L) && at(12L).carrying(after, enters) == at(12L))
    assert(before.carrying(after, before) == before)
    assert(CompositeOffset(on("b", ("t", 0, 1L))).carrying(after, before).earlier.isEmpty)
  }

  test("of several entries of a partition, the last one applies") {
    val again = at(3L).copy(entered = on("a", ("t", 0, 1L))).carrying(after, before)
    assert(OffsetRange.between(before, again) == range(1L, 3L) && again.earlier.isEmpty)
    val later = at(4L).carrying(again, before)
    assert(OffsetRange.between(before, later) == range(1L, 4L))
    assert(OffsetRange.between(after, later) == range(1L, 4L))
    assert(OffsetRange.between(again, later) == range(3L, 4L))
  }

  test("leader epochs of the positions are carried with them") {
    val known = ClusterIdentity(entered = Positions.from(Seq(("t", 0, 4L))))
    val end = at(9L).carrying(enters.copy(identities = SortedMap("a" -> known)), before)
    assert(OffsetRange.between(before, end)("a").map(_.epoch) == Seq(Some(4L)))
    assert(CompositeOffsetJson.read(end.json) == end)
  }
}

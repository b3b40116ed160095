package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset._

/** The metric `lostRecords`: what the driver knows of records that are given up. */
class LostRecordsSuite extends AnyFunSuite {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private val start = CompositeOffset(SortedMap("a" -> positions(("t", 0, 5L), ("t", 1, 7L), ("u", 0, 1L))))
  private val ends =
    SortedMap("a" -> positions(("t", 0, 9L), ("t", 1, 6L)), "b" -> positions(("t", 0, 100L)))

  private def next(losses: Seq[Loss], replaced: Seq[ReplacedCluster] = Nil) = NextOffset(
    spans = IndexedSeq.empty,
    losses = losses,
    waiting = Nil,
    rest = CompositeOffset(
      SortedMap.empty,
      identities = SortedMap.from(replaced.take(1).map(r => r.cluster -> ClusterIdentity(Some("l"))))
    ),
    replaced = replaced,
    renamed = Nil
  )

  private def lost(losses: Loss*) = LostRecords.of(start, next(losses), ends)

  test("records that expired are counted exactly, also at a start offset that does not exist any more") {
    assert(lost(Loss.Expired("a", "t", 0, 5, 8)) == 3)
    assert(lost(Loss.OutOfRange("a", "t", 0, 2, 8, 9)) == 6 && lost(Loss.OutOfRange(
      "a",
      "t",
      0,
      12,
      8,
      9
    )) == 0)
  }

  test("of a recreated topic: what was unread at the last trigger, if there was one") {
    val recreated = Loss.TopicRecreated("a", "t", "x", "y", SortedMap(0 -> 5L, 1 -> 7L), SortedMap(0 -> 3L))
    assert(lost(recreated) == 4)
    assert(LostRecords.of(start, next(Seq(recreated)), SortedMap.empty) == 0)
  }

  test("of a replaced cluster: the same, once, whatever else is said about its topics") {
    val replaced = Seq(ReplacedCluster("a", "k", "l"))
    assert(LostRecords.of(start, next(Nil, replaced), ends) == 4)
    assert(LostRecords.of(start, next(Seq(Loss.Expired("a", "t", 0, 5, 8)), replaced), ends) == 4)
  }

  test("a replaced cluster that is not judged yet keeps its positions, and nothing is lost") {
    assert(LostRecords.of(start, next(Nil, Seq(ReplacedCluster("a", "k", "m"))), ends) == 0)
  }

  test("what was cut off had been read, and what is gone may return") {
    assert(lost(
      Loss.CutOff("a", "t", 0, 9, 5),
      Loss.Recreated("a", "t", 0, 9, 5),
      Loss.TopicGone("a", "t"),
      Loss.PartitionGone("a", "t", 0, 5)
    ) == 0)
  }

  test(
    "a drain that ends because its topic is gone: what was unread below the target, or below the last known end"
  ) {
    val gone = Seq(Loss.TopicGone("a", "t"))
    val targets = SortedMap("a" -> positions(("t", 0, 8L), ("t", 1, 7L)))
    val draining = start.copy(until = ReadUntil(targets))
    val ended = next(gone).copy(rest = start.copy(until = ReadUntil(start.clusters)))
    val waiting = next(gone).copy(rest = draining)
    assert(LostRecords.of(draining, ended, ends) == 3)
    assert(LostRecords.of(draining, waiting, ends) == 0)
    assert(LostRecords.of(start, ended, ends) == 4)
    val partition = Seq(Loss.PartitionGone("a", "t", 0, 5))
    assert(LostRecords.of(draining, next(partition), ends) == 3)
  }

  test("the count is since the start of the query, with ranges of batches that are skipped") {
    val records = new LostRecords
    records.add(Seq(OffsetRange("t", 0, 5, 9), OffsetRange("t", 1, 0, 2)))
    records.add(start, next(Seq(Loss.Expired("a", "t", 0, 5, 8))), ends)
    assert(records.total == 9)
  }
}

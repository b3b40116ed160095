package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}

/** The next offset where a cluster has returned the offsets of some partitions only. */
class UnansweredPartitionRulesSuite extends AnyFunSuite {
  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private val ofFirst = positions(("t", 0, 10L))
  private val half = ClusterView.Reachable(
    ends = ofFirst,
    earliest = positions(("t", 0, 0L)),
    unanswered = Map(("t", 1) -> "partition has no leader")
  )
  private val whole = ClusterView.Reachable(
    ends = positions(("t", 0, 10L), ("t", 1, 20L)),
    earliest = positions(("t", 0, 0L), ("t", 1, 0L))
  )

  private def next(start: CompositeOffset, work: ClusterTransition, view: ClusterView): NextOffset =
    NextOffset(
      start,
      Transition(SortedMap("a" -> work), start.retained),
      Map("a" -> view),
      ReplacedClusterPolicy.Fail,
      _ => true
    )

  /** The offset when everything is read that can be read. */
  private def read(found: NextOffset): CompositeOffset = found.offset(found.spans.map(_.lag))

  private val both = positions(("t", 0, 4L), ("t", 1, 7L))
  private val start = CompositeOffset(SortedMap("a" -> both))

  test("a partition without an answer keeps its offset, and is neither lost nor a delay for others") {
    val found = next(start, ClusterTransition(both), half)
    assert(found.losses.isEmpty && found.spans.map(_.partition) == Seq(0))
    assert(read(found) == CompositeOffset(SortedMap("a" -> positions(("t", 0, 10L), ("t", 1, 7L)))))
    assert(OffsetRange.between(start, read(found)) == SortedMap("a" -> Seq(OffsetRange("t", 0, 4L, 10L))))
  }

  test("a topic enters when all its partitions have answered") {
    val work =
      ClusterTransition(Positions.empty, entering = SortedMap("t" -> (OffsetsPolicy.Latest: OffsetsPolicy)))
    val entering = half.copy(entering = ofFirst)
    val later = next(CompositeOffset.empty, work, entering)
    assert(read(later) == CompositeOffset.empty && later.waiting.isEmpty)
    val now = next(CompositeOffset.empty, work, whole.copy(entering = whole.ends))
    assert(read(now).position("a") == whole.ends)
  }

  test("a drain has no target before all partitions have answered, so that none is retired unread") {
    val work = ClusterTransition(both, newlyDraining = Set("t"))
    val first = read(next(start, work, half))
    assert(first.draining.isEmpty && first.position("a") == positions(("t", 0, 10L), ("t", 1, 7L)))
    assert(read(next(
      first,
      work.copy(staying = first.position("a")),
      whole
    )).draining == SortedMap("a" -> whole.ends))
  }

  test("a drain target is kept while its partition has no answer") {
    val targets = positions(("t", 0, 9L), ("t", 1, 15L))
    val found = read(next(start, ClusterTransition(both, targets = targets), half))
    assert(found.draining == SortedMap("a" -> targets) && found.position("a").get("t", 1).contains(7L))
  }

  test(
    "a topic is recreated while it drains: the end of the new one is no drain target until its loss is declared"
  ) {
    val targets = positions(("t", 0, 30L), ("t", 1, 15L))
    val known = start.copy(identities = SortedMap("a" -> ClusterIdentity(None, SortedMap("t" -> "old"))))
    val view =
      half.copy(ends = positions(("t", 0, 2L)), identity = ClusterIdentity(topics = SortedMap("t" -> "new")))
    val found = next(known, ClusterTransition(both, targets = targets), view)
    assert(found.losses.isEmpty && read(found).draining == SortedMap("a" -> targets))
  }

  test("a partition that returns stays retained until it has an answer") {
    val retained = SortedMap("a" -> Retained.at(5L, both))
    val away = CompositeOffset(SortedMap.empty[String, Positions], retained = retained)
    // What returns is not retained any more in the transition.
    def returning(view: ClusterView) = NextOffset(
      away,
      Transition(
        SortedMap("a" -> ClusterTransition(Positions.empty, returning = both)),
        SortedMap.empty[String, Retained]
      ),
      Map("a" -> view),
      ReplacedClusterPolicy.Fail,
      _ => true
    )
    val found = read(returning(half))
    assert(found.position("a") == ofFirst && found.entered == SortedMap("a" -> positions(("t", 0, 4L))))
    assert(found.retained == SortedMap("a" -> Retained.at(5L, positions(("t", 1, 7L)))))
    assert(read(returning(whole)).retained.isEmpty)
  }

  test("a recreated topic is read from its beginning when all its partitions have answered") {
    def identity(id: String) = SortedMap("a" -> ClusterIdentity(Some("kafka"), SortedMap("t" -> id)))
    def of(view: ClusterView.Reachable) =
      view.copy(identity = ClusterIdentity(Some("kafka"), SortedMap("t" -> "new")))
    val known = start.copy(identities = identity("old"))
    val later = next(known, ClusterTransition(both), of(half))
    assert(later.losses.isEmpty && later.spans.isEmpty && read(later) == known)
    val now = next(known, ClusterTransition(both), of(whole))
    assert(now.losses.collect { case l: Loss.TopicRecreated => l.topic } == Seq("t"))
    assert(now.spans.map(s => s.partition -> s.from) == Seq(0 -> 0L, 1 -> 0L))
    assert(read(now).identities == identity("new"))
  }

  test("a stopping offset is kept while its partition has no answer") {
    val ends = SortedMap("a" -> SortedMap("t" -> TopicEnds("latest", SortedMap(0 -> 9L, 1 -> 12L))))
    val ending = SortedMap("t" -> Ending(
      Some(OffsetsPolicy.Latest),
      "latest",
      TopicOffsets(None, SortedMap(0 -> 9L, 1 -> 12L))
    ))
    val found =
      read(next(start.copy(until = ReadUntil(ends = ends)), ClusterTransition(both, ending = ending), half))
    assert(found.ends == ends && found.position("a") == positions(("t", 0, 9L), ("t", 1, 7L)))
  }
}

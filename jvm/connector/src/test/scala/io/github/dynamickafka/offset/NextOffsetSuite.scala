package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.OffsetsPolicy.{Earliest, Latest}
import io.github.dynamickafka.metadata.ReplacedClusterPolicy

/** What a trigger can read of a cluster, by what the cluster says. */
class NextOffsetSuite extends AnyFunSuite {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private def only(at: Positions) = SortedMap("a" -> at)
  private val none = SortedMap.empty[String, Positions]

  private def next(
      work: ClusterTransition,
      view: ClusterView,
      start: CompositeOffset = CompositeOffset.empty,
      retained: SortedMap[String, Retained] = SortedMap.empty
  ): NextOffset = NextOffset(
    start,
    Transition(SortedMap("a" -> work), retained),
    Map("a" -> view),
    ReplacedClusterPolicy.Fail,
    _ => true
  )

  private def staying(at: Long) = ClusterTransition(positions(("t", 0, at)))
  private val entering = ClusterTransition(Positions.empty, entering = SortedMap("t" -> Earliest))

  private def view(first: Long, end: Long) =
    ClusterView.Reachable(ends = positions(("t", 0, end)), earliest = positions(("t", 0, first)))

  private def span(from: Long, end: Long, enters: Boolean) = Span(LogKey("a", "t", 0), from, end, enters)

  test("a known position is read from there to the end of the partition") {
    Seq(3L, 5L, 9L).foreach { at =>
      val found = next(staying(at), view(3L, 9L))
      assert(found.spans == Seq(span(at, 9L, enters = false)) && found.losses.isEmpty)
    }
  }

  test("records before the first available one are lost, and reading enters there") {
    val found = next(staying(2L), view(3L, 9L))
    assert(found.spans == Seq(span(3L, 9L, enters = true)))
    assert(found.losses == Seq(Loss.Expired("a", "t", 0, 2L, 3L)))
  }

  test("a position beyond the end of the partition is of another topic of that name") {
    val found = next(staying(10L), view(3L, 9L))
    assert(found.spans == Seq(span(3L, 9L, enters = true)))
    assert(found.losses == Seq(Loss.Recreated("a", "t", 0, 10L, 9L)))
  }

  test("a partition that is gone is lost, and its position is retained") {
    val found = next(staying(5L), ClusterView.Reachable(Positions.empty, Positions.empty))
    assert(found.spans.isEmpty && found.losses == Seq(Loss.PartitionGone("a", "t", 0, 5L)))
    assert(found.rest.clusters == none && found.rest.retained == SortedMap("a" -> Retained.at(
      0L,
      positions(("t", 0, 5L))
    )))
  }

  test("a partition that is gone of a topic that does not drain gets no target, without retention either") {
    val gone = ClusterView.Reachable(Positions.empty, Positions.empty)
    val found = NextOffset(
      CompositeOffset.empty,
      Transition(SortedMap("a" -> staying(5L)), SortedMap.empty, retains = false),
      Map("a" -> gone),
      ReplacedClusterPolicy.Fail,
      _ => true
    )
    assert(found.rest.clusters == only(positions(("t", 0, 5L))) && found.rest.draining == none)
  }

  test("a topic that is gone is lost, and keeps its position; a new one is waited for") {
    val missing = ClusterView.Reachable(Positions.empty, Positions.empty, missing = Set("t"))
    val found = next(staying(5L), missing)
    assert(found.losses == Seq(Loss.TopicGone("a", "t")) && found.waiting.isEmpty)
    assert(found.rest.clusters == only(positions(("t", 0, 5L))) && found.spans.isEmpty)
    val waiting = next(entering, missing)
    assert(waiting.waiting == Seq("a" -> "t") && waiting.losses.isEmpty && waiting.rest.clusters == none)
  }

  test(
    "a topic enters where it was asked to, if records are available there, otherwise at the first of them"
  ) {
    Seq(3L, 5L, 9L).foreach { asked =>
      val found = next(entering, view(3L, 9L).copy(entering = positions(("t", 0, asked))))
      assert(found.spans == Seq(span(asked, 9L, enters = true)) && found.losses.isEmpty)
    }
    Seq(2L, 10L).foreach { asked =>
      val found = next(entering, view(3L, 9L).copy(entering = positions(("t", 0, asked))))
      assert(found.spans == Seq(span(3L, 9L, enters = true)))
      assert(found.losses == Seq(Loss.OutOfRange("a", "t", 0, asked, 3L, 9L)))
    }
    assert(next(entering, view(3L, 9L)).spans == Seq(span(3L, 9L, enters = true)))
  }

  private val returning = ClusterTransition(Positions.empty, returning = positions(("t", 0, 5L)))

  test("what returns enters at its retained position") {
    assert(next(returning, view(3L, 9L)).spans == Seq(span(5L, 9L, enters = true)))
  }

  test("what cannot return yet stays retained, since it left") {
    val start = CompositeOffset(none, retained = SortedMap("a" -> Retained.at(100L, positions(("t", 0, 5L)))))
    val missing = ClusterView.Reachable(Positions.empty, Positions.empty, missing = Set("t"))
    val found = next(returning, missing, start)
    assert(found.rest.retained == start.retained && found.spans.isEmpty && found.rest.clusters == none)
    // Something else of this cluster has left since then.
    val now = SortedMap("a" -> Retained.at(200L, positions(("u", 0, 1L)), Set("u")))
    val both = Retained.at(100L, positions(("t", 0, 5L))) ++ now("a")
    assert(next(returning, missing, start, now).rest.retained == SortedMap("a" -> both))
  }

  test("what returns to a cluster that does not respond is current at once") {
    val start = CompositeOffset(none, retained = SortedMap("a" -> Retained.at(100L, positions(("t", 0, 5L)))))
    val found = next(returning, ClusterView.Unreachable, start)
    assert(found.rest.retained.isEmpty && found.spans == Seq(span(5L, 5L, enters = true)))
  }

  test("an unreachable cluster keeps its positions and drain targets") {
    val work = staying(5L).copy(targets = positions(("t", 0, 8L)))
    val found = next(work, ClusterView.Unreachable)
    assert(found.rest.clusters == only(work.staying) && found.rest.draining == only(work.targets))
    assert(found.spans.isEmpty && found.losses.isEmpty && found.rest.retained.isEmpty)
    assert(NextOffset(
      CompositeOffset.empty,
      Transition(SortedMap("a" -> work), SortedMap.empty),
      Map.empty,
      ReplacedClusterPolicy.Fail,
      _ => true
    ) == found)
  }

  test("a topic that starts to drain has its end as target") {
    val found = next(staying(5L).copy(newlyDraining = Set("t")), view(3L, 9L))
    assert(found.rest.draining == only(positions(("t", 0, 9L))))
  }

  test("a draining topic is read up to its target, without partitions that were added since") {
    val more = ClusterView.Reachable(
      ends = positions(("t", 0, 9L), ("t", 1, 4L)),
      earliest = positions(("t", 0, 3L), ("t", 1, 0L))
    )
    val found = next(staying(5L).copy(targets = positions(("t", 0, 8L))), more)
    assert(found.spans == Seq(span(
      5L,
      8L,
      enters = false
    )) && found.rest.draining == only(positions(("t", 0, 8L))))
    assert(next(staying(5L), more).spans.map(_.partition) == Seq(0, 1))
  }

  test(
    "a drain target that cannot be reached is lowered: to the end, or to the position if the topic is gone"
  ) {
    val work = staying(5L).copy(targets = positions(("t", 0, 8L)))
    assert(next(work, view(3L, 7L)).rest.draining == only(positions(("t", 0, 7L))))
    val missing = ClusterView.Reachable(Positions.empty, Positions.empty, missing = Set("t"))
    assert(next(work, missing).rest.draining == only(positions(("t", 0, 5L))))
    assert(next(staying(5L), missing).rest.draining == none)
  }

  private def ending(by: String, fixed: (Int, Long)*) =
    staying(5L).copy(ending =
      SortedMap("t" -> Ending(Some(Latest), by, TopicOffsets(None, SortedMap.from(fixed))))
    )
  private def ends(by: String, offset: Long) =
    SortedMap("a" -> SortedMap("t" -> TopicEnds(by, SortedMap(0 -> offset))))

  test("a partition is read up to its stopping offset, which stays the one that was resolved first") {
    val resolved = view(3L, 9L).copy(endings = positions(("t", 0, 7L)))
    val found = next(ending("latest"), resolved)
    assert(found.spans == Seq(span(5L, 7L, enters = false)) && found.rest.ends == ends("latest", 7L))
    val again = next(ending("latest", 0 -> 6L), resolved)
    assert(again.spans == Seq(span(5L, 6L, enters = false)) && again.rest.ends == ends("latest", 6L))
    val past = next(ending("latest", 0 -> 4L), resolved)
    assert(past.spans == Seq(span(5L, 5L, enters = false)))
  }

  test("a stopping offset below the drain target lowers the target") {
    val work = ending("latest", 0 -> 6L).copy(targets = positions(("t", 0, 8L)))
    assert(next(work, view(3L, 9L)).rest.draining == only(positions(("t", 0, 6L))))
  }

  test("a stopping offset is kept as long as its position is, unless the setting is gone") {
    val start = CompositeOffset(only(positions(("t", 0, 5L))), until = ReadUntil(ends = ends("latest", 7L)))
    val missing = ClusterView.Reachable(Positions.empty, Positions.empty, missing = Set("t"))
    assert(next(ending("latest", 0 -> 7L), missing, start).rest.ends == ends("latest", 7L))
    assert(next(ending("latest", 0 -> 7L), ClusterView.Unreachable, start).rest.ends == ends("latest", 7L))
    assert(next(staying(5L), view(3L, 9L), start).rest.ends.isEmpty)
    def gone(retained: SortedMap[String, Retained]) =
      NextOffset(
        start,
        Transition(SortedMap.empty, retained),
        Map.empty,
        ReplacedClusterPolicy.Fail,
        _ => true
      ).rest.ends
    assert(gone(SortedMap("a" -> Retained.at(1L, positions(("t", 0, 5L))))) == ends("latest", 7L))
    assert(gone(SortedMap("a" -> Retained.at(
      1L,
      positions(("u", 0, 5L))
    ))).isEmpty && gone(SortedMap.empty).isEmpty)
  }

  test("the offset after a trigger: what was granted, and where reading entered") {
    val two = ClusterView.Reachable(
      ends = positions(("t", 0, 9L), ("t", 1, 4L)),
      earliest = positions(("t", 0, 3L), ("t", 1, 1L))
    )
    val found = next(staying(5L), two)
    assert(found.offset(IndexedSeq(4L, 2L)) == CompositeOffset(
      only(positions(("t", 0, 9L), ("t", 1, 3L))),
      entered = only(positions(("t", 1, 1L)))
    ))
  }
}

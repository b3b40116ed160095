package io.github.dynamickafka.source.realtime

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}
import io.github.dynamickafka.offset._
import io.github.dynamickafka.source.checkpoint.DecidedEntries
import io.github.dynamickafka.testkit.TimeLimit

/** The end of a batch by responses from before its tasks have ended: blue stays, green enters. */
class FurtherReadSuite extends AnyFunSuite with TimeLimit {

  private def at(offsets: (String, Int, Long)*) = Positions.from(offsets)

  private def reached(offset: Long, epoch: Option[Long] = Some(3L)) = CompositeOffset(
    SortedMap("blue" -> at(("t", 0, offset))),
    identities = SortedMap(
      "blue" -> ClusterIdentity(Some("k"), SortedMap("t" -> "id"), at(epoch.map(("t", 0, _)).toSeq: _*))
    )
  )

  private val enters = ClusterTransition(
    Positions.empty,
    entering = SortedMap("t" -> (OffsetsPolicy.Latest: OffsetsPolicy))
  )
  private def transition(blue: Long, green: ClusterTransition = enters) = Transition(
    SortedMap("blue" -> ClusterTransition(at(("t", 0, blue))), "green" -> green),
    SortedMap.empty[String, Retained]
  )

  private val blue = ClusterView.Reachable(
    ends = at(("t", 0, 10)),
    earliest = at(("t", 0, 0)),
    identity = ClusterIdentity(Some("k"), SortedMap("t" -> "id"), at(("t", 0, 2)))
  )
  private val green = ClusterView.Reachable(
    ends = at(("t", 0, 7)),
    earliest = at(("t", 0, 0)),
    entering = at(("t", 0, 7)),
    identity = ClusterIdentity(Some("g"))
  )
  private val views = Map[String, ClusterView]("blue" -> blue, "green" -> green)

  private def end(
      offset: CompositeOffset,
      now: Transition,
      views: Map[String, ClusterView] = views,
      decided: DecidedEntries = DecidedEntries.none
  ): Option[CompositeOffset] =
    FurtherRead(offset, transition(4L), now, views, decided, ReplacedClusterPolicy.Earliest).map {
      case (_, next) => next.offset(next.spans.map(_ => 0L))
    }

  test("records that were read since are not lost, and what enters has its position") {
    val found = end(reached(15L), transition(15L))
    assert(found.map(_.clusters).contains(SortedMap("blue" -> at(("t", 0, 15)), "green" -> at(("t", 0, 7)))))
    assert(found.exists(_.identity("blue").epochs == at(("t", 0, 3))))
    assert(found.exists(_.entered == SortedMap("green" -> at(("t", 0, 7)))))
  }

  test("a position that is decided applies") {
    val decided = DecidedEntries.none.add(
      CompositeOffset(SortedMap("green" -> at(("t", 0, 5))), SortedMap("green" -> at(("t", 0, 5)))),
      views
    )
    assert(end(reached(6L), transition(6L), decided = decided).exists(_.position("green") == at(("t", 0, 5))))
  }

  test("the clusters are asked where a record may be of a later leader than the response") {
    assert(end(reached(15L, epoch = None), transition(15L)).isEmpty)
    assert(end(reached(10L, epoch = None), transition(10L)).nonEmpty, "the response has all of it")
    assert(
      end(
        reached(15L, epoch = None),
        transition(15L),
        views + ("blue" -> blue.copy(identity = blue.identity.copy(epochs = Positions.empty)))
      ).nonEmpty,
      "the broker gives none"
    )
  }

  test("the clusters are asked if something is lost, does not respond in part, or is read otherwise") {
    assert(end(
      reached(6L),
      transition(6L),
      views + ("blue" -> blue.copy(earliest = at(("t", 0, 9))))
    ).isEmpty)
    val half = blue.copy(ends = Positions.empty, unanswered = Map(("t", 0) -> "no leader"))
    assert(end(reached(6L), transition(6L), views + ("blue" -> half)).isEmpty)
    assert(end(reached(6L), transition(6L), views + ("blue" -> blue.in(Some("other")))).isEmpty)
    assert(end(reached(6L), transition(6L, enters.copy(newlyDraining = Set("t")))).isEmpty)
    assert(end(reached(6L), transition(6L), views + ("blue" -> ClusterView.Unreachable)).nonEmpty)
  }
}

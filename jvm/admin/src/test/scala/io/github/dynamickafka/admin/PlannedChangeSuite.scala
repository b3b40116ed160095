package io.github.dynamickafka.admin

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  LogKey,
  NextOffset,
  Positions,
  ReadUntil,
  Reconcile
}

/** The changes that `plan` shows. What is decided is in the suites of `offset`. */
class PlannedChangeSuite extends AnyFunSuite {
  import PlannedChange._

  private def at(offsets: (String, Long)*): SortedMap[String, Positions] =
    SortedMap.from(offsets.map { case (id, offset) => id -> Positions.from(Seq(("t", 0, offset))) })

  private def topology(draining: (String, Boolean)*): Topology =
    Topology(SortedMap.from(draining.map { case (id, drains) =>
      id -> TopologyCluster(id, SortedMap("t" -> TopologyTopic("s", drains)), Map.empty[String, String])
    }))

  /** Each cluster has the offsets 0 to 10. */
  private def changes(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean = false,
      continued: Set[String] = Set.empty
  ): Seq[PlannedChange] = {
    val rules = Reconcile.Rules(-1, drainRemoved, (_, _, _, _) => OffsetsPolicy.Earliest)
    val transition = Reconcile(start, topology, 2000L, rules)
    val views = transition.clusters.map { case (id, _) =>
      id -> ClusterView.Reachable(at(id -> 10L)(id), at(id -> 0L)(id))
    }
    val next = NextOffset(start, transition, views, ReplacedClusterPolicy.Fail, _ => false)
    PlannedChange.all(start, topology, drainRemoved, next, _ => Some(10L), continued)
  }

  test("what enters, drains and leaves, with the records that are left or lost") {
    val start = CompositeOffset(at("blue" -> 4L, "red" -> 6L))
    assert(changes(start, topology("green" -> false, "red" -> true)) == Seq(
      PlannedChange(LogKey("green", "t", 0), 0L, Enters()),
      PlannedChange(LogKey("red", "t", 0), 6L, Drains(10L)),
      PlannedChange(LogKey("blue", "t", 0), 4L, Leaves(Some(10L), canLose = true))
    ))
    val counts = changes(start, topology("green" -> false, "red" -> true)).map(c => (c.records, c.isLost))
    assert(counts == Seq((None, false), (Some(4L), false), (Some(6L), true)))
    assert(changes(start, topology("blue" -> false, "red" -> false)).isEmpty)
  }

  test("nothing is lost that was drained, or that another cluster continues") {
    val start = CompositeOffset(at("blue" -> 4L))
    assert(changes(start, topology(), drainRemoved = true).map(_.kind.name) == Seq("drains"))
    val drained = changes(start.copy(until = ReadUntil(at("blue" -> 4L))), topology("blue" -> true))
    assert(drained == Seq(PlannedChange(LogKey("blue", "t", 0), 4L, Leaves(Some(10L), canLose = false))))
    assert(changes(
      start,
      topology(),
      continued = Set("blue")
    ).map(c => (c.kind.name, c.isLost)) == Seq("leaves" -> false))
  }

  test("what the plan leaves out is named") {
    assert(QueryPlan.assumed(Map("minOffsetsPerTrigger" -> "100", "alignment" -> "none", "x" -> "y")) ==
      Seq("the query waits until it has 100 records, which may delay the batch"))
  }
}

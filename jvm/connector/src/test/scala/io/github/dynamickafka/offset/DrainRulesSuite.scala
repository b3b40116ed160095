package io.github.dynamickafka.offset

import scala.collection.immutable.{SortedMap, SortedSet}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{OffsetsPolicy, Topology, TopologyCluster, TopologyTopic}

/** Which topics stay, leave, drain and return, one transition at a time. */
class DrainRulesSuite extends AnyFunSuite {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private def only(at: Positions) = SortedMap("a" -> at)
  private val none = SortedMap.empty[String, Positions]
  private val active = TopologyTopic("s")
  private val draining = TopologyTopic("s", draining = true)

  private def topology(topics: (String, TopologyTopic)*) =
    Topology(SortedMap("a" -> TopologyCluster("a", SortedMap.from(topics), Map.empty)))

  private val rules =
    Reconcile.Rules(retentionMs = 100L, drainRemoved = false, entry = (_, _, _, _) => OffsetsPolicy.Earliest)

  private def after(
      start: CompositeOffset,
      topology: Topology,
      rules: Reconcile.Rules = rules,
      now: Long = 1000L
  ): Transition = Reconcile(start, topology, now, rules)

  private val reading = CompositeOffset(only(positions(("t", 0, 5L))))
  private def drains(target: Long) = reading.copy(until = ReadUntil(only(positions(("t", 0, target)))))

  test("a topic that starts to drain stays, until it gets a target and reaches it") {
    val first = after(reading, topology("t" -> draining))
    assert(first.clusters("a").newlyDraining == Set("t") && first.clusters("a").staying.topics == Set("t"))
    val under = after(drains(6L), topology("t" -> draining)).clusters("a")
    assert(under.targets == positions(("t", 0, 6L)) && under.newlyDraining.isEmpty)
    val over = after(drains(5L), topology("t" -> draining))
    assert(over.clusters.isEmpty)
    assert(over.retained == SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)), Set("t"))))
  }

  test("a partition without a target keeps no topic from being retired, and one beyond its target neither") {
    val two = CompositeOffset(only(positions(("t", 0, 5L), ("t", 1, 2L))))
    assert(after(
      two.copy(until = ReadUntil(only(positions(("t", 0, 4L))))),
      topology("t" -> draining)
    ).clusters.isEmpty)
  }

  test("a topic that drains when it is first seen enters") {
    assert(after(CompositeOffset.empty, topology("t" -> draining)).clusters("a").entering.keySet == Set("t"))
  }

  test("a position expires at the end of its retention") {
    val start = CompositeOffset(none, retained = SortedMap("a" -> Retained.at(900L, positions(("t", 0, 5L)))))
    assert(after(start, topology(), now = 999L).retained.nonEmpty)
    assert(after(start, topology(), now = 1000L).retained.isEmpty)
  }

  test("a drained topic is not read again while it drains, even if its position has expired") {
    val drained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)), Set("t")))
    val start = CompositeOffset(none, retained = drained)
    assert(after(start, topology("t" -> draining)).clusters.isEmpty)
    val later = after(start, topology("t" -> draining), now = 1100L)
    assert(later.clusters.isEmpty)
    assert(later.retained == SortedMap("a" -> Retained.at(1000L, Positions.empty, Set("t"))))
  }

  test(
    "a drained topic that leaves the metadata is not read when it drains again, as long as it is retained"
  ) {
    val drained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)), Set("t")))
    val away = after(CompositeOffset(none, retained = drained), topology(), now = 1050L)
    assert(away.retained == drained)
    assert(after(CompositeOffset(none, retained = away.retained), topology("t" -> draining)).clusters.isEmpty)
    assert(after(CompositeOffset(none, retained = drained), topology(), now = 1100L).retained.isEmpty)
  }

  test("a drained topic returns when it is active, and is new if its position has expired") {
    val drained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)), Set("t")))
    val start = CompositeOffset(none, retained = drained)
    val back = after(start, topology("t" -> active))
    assert(back.clusters("a").returning == positions(("t", 0, 5L)) && back.retained.isEmpty)
    val fresh = after(start, topology("t" -> active), now = 1100L)
    assert(fresh.clusters("a").entering.keySet == Set("t") && fresh.clusters("a").returning.isEmpty)
    assert(fresh.retained.isEmpty)
  }

  test("a topic that is active again loses its target") {
    val work = after(drains(9L), topology("t" -> active)).clusters("a")
    assert(work.targets.isEmpty && work.newlyDraining.isEmpty && work.staying == positions(("t", 0, 5L)))
  }

  test("what leaves the metadata is retained at once, or drains first with removedClusterPolicy=drain") {
    assert(after(reading, Topology.empty).clusters.isEmpty)
    val drained = rules.copy(drainRemoved = true)
    assert(after(reading, Topology.empty, drained).clusters("a").newlyDraining == Set("t"))
    val over = after(drains(5L), Topology.empty, drained)
    assert(over.clusters.isEmpty && over.retained("a") == Retained.at(1000L, positions(("t", 0, 5L))))
  }

  test("all partitions of a topic have to reach the target") {
    val two = positions(("t", 0, 5L), ("t", 1, 2L))
    val start = CompositeOffset(only(two), until = ReadUntil(only(positions(("t", 0, 5L), ("t", 1, 3L)))))
    assert(after(start, topology("t" -> draining)).clusters("a").staying == two)
    val there = start.copy(clusters = only(positions(("t", 0, 5L), ("t", 1, 3L))))
    assert(after(there, topology("t" -> draining)).clusters.isEmpty)
  }

  test("partitions that the metadata no longer selects leave, and return when it does") {
    val start = CompositeOffset(only(positions(("t", 0, 5L), ("t", 1, 2L))))
    val one = after(start, topology("t" -> active.copy(partitions = Some(SortedSet(0)))))
    assert(one.clusters("a").staying == positions(("t", 0, 5L)))
    assert(one.clusters("a").only == Map("t" -> Set(0)))
    assert(one.retained == SortedMap("a" -> Retained.at(1000L, positions(("t", 1, 2L)))))
    val both =
      after(CompositeOffset(only(positions(("t", 0, 5L))), retained = one.retained), topology("t" -> active))
    assert(both.clusters("a").returning == positions(("t", 1, 2L)) && both.clusters("a").only.isEmpty)
    assert(both.retained.isEmpty)
  }

  test("partitions of a topic with a drain target do not return") {
    val start = drains(9L).copy(retained = SortedMap("a" -> Retained.at(1000L, positions(("t", 1, 2L)))))
    val found = after(start, topology("t" -> draining))
    assert(found.clusters("a").returning.isEmpty && found.retained == start.retained)
  }

  test("a topic of a cluster is new to the query, or new to a known cluster, also to one that is retained") {
    def known(start: CompositeOffset): Seq[Boolean] = {
      var asked = Vector.empty[Boolean]
      val asking = rules.copy(entry = (_, _, _, isKnown) => {
        asked :+= isKnown
        OffsetsPolicy.Earliest
      })
      after(start, topology("u" -> active), asking)
      asked
    }
    assert(known(CompositeOffset.empty) == Seq(false))
    assert(known(reading) == Seq(true))
    val retained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L))))
    assert(known(CompositeOffset(none, retained = retained)) == Seq(true))
  }

  test("offsets without the level of the cluster end the topics of the only cluster") {
    val json = OffsetsPolicy.Exact(Map(OffsetsPolicy.AnyCluster -> Map("t" -> Map(0 -> 7L))))
    val ending = rules.copy(ending = (_, _) => Some(json))
    assert(after(reading, topology("t" -> active), ending).clusters("a").ending.keySet == Set("t"))
    val two = reading.copy(retained = SortedMap("b" -> Retained.at(1000L, positions(("t", 0, 5L)))))
    assert(after(two, topology("t" -> active), ending).clusters("a").ending.isEmpty)
  }

  test("a topic that drains after it left the metadata keeps its stopping offset") {
    val ends = SortedMap("a" -> SortedMap("t" -> TopicEnds("latest", SortedMap(0 -> 7L))))
    val found =
      after(reading.copy(until = ReadUntil(ends = ends)), Topology.empty, rules.copy(drainRemoved = true))
    assert(found.clusters("a").ending == SortedMap("t" -> Ending(
      None,
      "latest",
      TopicOffsets(None, SortedMap(0 -> 7L))
    )))
  }
}

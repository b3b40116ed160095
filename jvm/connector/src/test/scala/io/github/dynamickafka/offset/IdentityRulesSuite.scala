package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}
import io.github.dynamickafka.testkit.TimeLimit

/** Topics that are recreated, truncated and shrunk, clusters that are replaced and renamed. */
class IdentityRulesSuite extends AnyFunSuite with TimeLimit {

  private val Now = 5000L
  private def positions(all: (String, Int, Long)*) = Positions.from(all)

  /** Reads topic `t` of cluster `a`, with these positions and ids. */
  private def reading(at: (Int, Long)*)(topicId: String = "T", kafkaId: String = "K"): CompositeOffset =
    CompositeOffset(
      SortedMap("a" -> Positions(Seq("t" -> SortedMap.from(at)))),
      identities = SortedMap("a" -> known(topicId, kafkaId)).filterNot(_._2.isEmpty)
    )

  private def known(topicId: String, kafkaId: String) = ClusterIdentity(
    Option(kafkaId).filter(_.nonEmpty),
    SortedMap.from(Option(topicId).filter(_.nonEmpty).map("t" -> _))
  )

  /** Topic `t` with these end offsets. */
  private def view(ends: (Int, Long)*)(topicId: String = "T", kafkaId: String = "K", earliest: Long = 0L) =
    ClusterView.Reachable(
      Positions(Seq("t" -> SortedMap.from(ends))),
      Positions(Seq("t" -> SortedMap.from(ends.map(_._1 -> earliest)))),
      identity = ClusterIdentity(
        Option(kafkaId).filter(_.nonEmpty),
        SortedMap("t" -> topicId).filter(_._2.nonEmpty)
      )
    )

  private def topology(ids: String*): Topology = Topology(SortedMap.from(ids.map(id =>
    id -> TopologyCluster(id, SortedMap("t" -> TopologyTopic("s")), Map.empty)
  )))
  private val draining = Topology(topology("a").clusters.map { case (id, c) =>
    id -> c.copy(topics = c.topics.map { case (t, of) => t -> of.copy(draining = true) })
  })

  private def next(
      start: CompositeOffset,
      views: Map[String, ClusterView],
      to: Topology = topology("a"),
      ifReplaced: ReplacedClusterPolicy = ReplacedClusterPolicy.Fail,
      retentionMs: Long = -1L,
      isLost: Loss => Boolean = _ => true
  ): NextOffset = {
    val rules = Reconcile.Rules(retentionMs, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    NextOffset(start, Reconcile(start, to, Now, rules), views, ifReplaced, isLost)
  }

  /** Everything that the trigger can read, through the codec, and checked as before it is logged. */
  private def read(start: CompositeOffset, found: NextOffset): CompositeOffset = {
    val end = found.offset(found.spans.map(_.lag))
    OffsetRange.beforeLogging(start, end)
    CompositeOffsetJson.read(end.json)
  }

  private def ranges(start: CompositeOffset, found: NextOffset, id: String = "a") =
    OffsetRange.beforeLogging(start, read(start, found)).getOrElse(id, Nil)
      .map(r => (r.partition, r.from, r.until))

  test("ids are adopted at the first look, once, and kept while a broker gives none") {
    val start = reading(0 -> 5L)("", "")
    val found = next(start, Map("a" -> view(0 -> 5L)()))
    assert(found.losses.isEmpty && found.replaced.isEmpty)
    val adopted = read(start, found)
    assert(!adopted.sameAs(start) && adopted.identity("a") == known("T", "K"))
    Seq(view(0 -> 5L)(), view(0 -> 5L)("", "")).foreach { seen =>
      assert(read(adopted, next(adopted, Map("a" -> seen))).sameAs(adopted))
    }
    assert(read(adopted, next(adopted, Map.empty)).sameAs(adopted), "unreachable")
  }

  test("a recreated topic that has grown past the position is read from its beginning, and counts as loss") {
    val start = reading(0 -> 20L, 1 -> 3L)()
    val found = next(start, Map("a" -> view(0 -> 30L, 1 -> 2L)("T2", earliest = 1L)))
    assert(found.losses == Seq(
      Loss.TopicRecreated("a", "t", "T", "T2", SortedMap(0 -> 20L, 1 -> 3L), SortedMap(0 -> 30L, 1 -> 2L))
    ))
    assert(ranges(start, found) == Seq((0, 1L, 30L), (1, 1L, 2L)))
    assert(read(start, found).identity("a").topics("t") == "T2")
  }

  test("a log of the same topic that was cut below the position continues at its end") {
    val start = reading(0 -> 20L)()
    val found = next(start, Map("a" -> view(0 -> 12L)()))
    assert(found.losses == Seq(Loss.CutOff("a", "t", 0, 20L, 12L)))
    assert(ranges(start, found).isEmpty && read(start, found).position("a") == positions(("t", 0, 12L)))
  }

  test("without ids a log that ends below the position counts as recreated") {
    val start = reading(0 -> 20L)("", "")
    val found = next(start, Map("a" -> view(0 -> 12L)("", "")))
    assert(found.losses == Seq(Loss.Recreated("a", "t", 0, 20L, 12L)))
    assert(ranges(start, found) == Seq((0, 0L, 12L)))
  }

  private val away = CompositeOffset(
    SortedMap.empty[String, Positions],
    retained =
      SortedMap("a" -> Retained.at(10L, positions(("t", 0, 5L), ("t", 1, 7L)), ids = _ => Some("T"))),
    identities = SortedMap("a" -> ClusterIdentity(Some("K")))
  )

  test("a topic that returns with fewer partitions: the position of the vanished one stays retained") {
    for ((start, name) <- Seq(away -> "ids", without(away) -> "no ids"); id <- Seq("T2", "")) {
      val found = next(start, Map("a" -> view(0 -> 30L)(id)))
      val end = read(start, found)
      assert(end.retained("a").topics.map { case (t, of) => (t, of.offsets, of.since) }.toSeq ==
        Seq(("t", SortedMap(1 -> 7L), 10L)))
      assert(end.position("a").of("t").keySet == Set(0), name)
      // Nothing is stuck: the same again, and with more records.
      val again = next(end, Map("a" -> view(0 -> 30L)(id)))
      assert(read(end, again).sameAs(end))
      assert(ranges(end, next(end, Map("a" -> view(0 -> 31L)(id)))) == Seq((0, 30L, 31L)))
    }
  }

  private def without(offset: CompositeOffset) = offset.copy(
    retained = offset.retained.map { case (id, r) => id -> r.map((_, of) => of.copy(id = None)) },
    identities = SortedMap.empty[String, ClusterIdentity]
  )

  test("a retained position of a former topic does not return, even if the new topic gets the partition") {
    val start = read(away, next(away, Map("a" -> view(0 -> 30L)("T2"))))
    val found = next(start, Map("a" -> view(0 -> 30L, 1 -> 9L)("T2")))
    assert(found.losses.isEmpty && ranges(start, found) == Seq((1, 0L, 9L)))
    val left = next(read(start, found), Map.empty, topology())
    assert(left.rest.retained("a").topics("t") == RetainedTopic(
      Now,
      SortedMap(0 -> 30L, 1 -> 9L),
      Some("T2")
    ))
  }

  test("a topic that returns as it was resumes at its positions") {
    val found = next(away, Map("a" -> view(0 -> 6L, 1 -> 7L)()))
    assert(found.losses.isEmpty && ranges(away, found) == Seq((0, 5L, 6L)))
    assert(read(away, found).retained.isEmpty)
  }

  test("a partition that vanishes while its topic is read is retained, and returns") {
    Seq("", "T2").foreach { id =>
      val start = reading(0 -> 5L, 1 -> 7L)(if (id.isEmpty) "" else "T")
      val found = next(start, Map("a" -> view(0 -> 5L)(id)))
      val end = read(start, found)
      assert(end.position("a").of("t").keySet == Set(0))
      assert(end.retained("a").topics("t").offsets == SortedMap(1 -> 7L))
      if (id.isEmpty) {
        val back = next(end, Map("a" -> view(0 -> 5L, 1 -> 9L)("")))
        assert(back.losses.isEmpty && ranges(end, back) == Seq((1, 7L, 9L)))
      }
    }
  }

  test("a partition of a topic with a known id is only unknown to the broker that responded") {
    val start = reading(0 -> 5L, 1 -> 7L)()
    val found = next(start, Map("a" -> view(0 -> 5L)()))
    assert(found.losses == Seq(Loss.PartitionGone("a", "t", 1, 7L)))
    assert(read(start, found).sameAs(start))
  }

  test("a drain ends when a partition vanishes: the target of the partition is its position") {
    for ((id, retention) <- Seq("" -> -1L, "T2" -> -1L, "" -> 0L, "T2" -> 0L)) {
      val start = reading(0 -> 5L, 1 -> 7L)(if (id.isEmpty) "" else "T")
        .copy(until = ReadUntil(SortedMap("a" -> positions(("t", 0, 9L), ("t", 1, 9L)))))
      val seen = Map("a" -> view(0 -> 9L)(id))
      val first = read(start, next(start, seen, draining, retentionMs = retention))
      val second = next(first, seen, draining, retentionMs = retention)
      assert(second.spans.isEmpty && second.rest.draining.isEmpty, s"'$id', $retention")
      assert(second.rest.retained("a").drained == Set("t"))
      if (retention < 0) assert(second.rest.retained("a").topics("t").offsets(0) == 9L)
    }
  }

  test("a drain keeps position and target of what is missing until it counts as lost") {
    for {
      (what, seen) <- Seq(
        "topic" -> view()().copy(missing = Set("t"), identity = ClusterIdentity(view()().kafkaId)),
        "partition" -> view(0 -> 9L)("")
      )
      retention <- Seq(-1L, 0L)
    } {
      val start = reading(0 -> 9L, 1 -> 7L)("")
        .copy(until = ReadUntil(SortedMap("a" -> positions(("t", 0, 9L), ("t", 1, 9L)))))
      def after(isLost: Boolean) =
        next(start, Map("a" -> seen), draining, retentionMs = retention, isLost = _ => isLost)
      val before = after(isLost = false)
      assert(before.losses.nonEmpty && before.rest.draining == start.draining, s"$what, $retention")
      assert(before.offset(before.spans.map(_.lag)).clusters == start.clusters, s"$what, $retention")
      val end = read(start, after(isLost = true))
      assert(
        next(end, Map("a" -> seen), draining, retentionMs = retention).rest.draining.isEmpty,
        s"$what, $retention"
      )
    }
  }

  test("a topic that is recreated while it drains is drained up to its end") {
    val start = reading(0 -> 5L)().copy(until = ReadUntil(SortedMap("a" -> positions(("t", 0, 9L)))))
    val found = next(start, Map("a" -> view(0 -> 40L, 1 -> 3L)("T2")), draining)
    assert(ranges(start, found) == Seq((0, 0L, 40L), (1, 0L, 3L)))
    assert(found.rest.draining("a") == positions(("t", 0, 40L), ("t", 1, 3L)))
  }

  test("what has changed is judged when all partitions of the topic, or the cluster, have answered") {
    val start =
      reading(0 -> 5L, 1 -> 7L)().copy(until =
        ReadUntil(SortedMap("a" -> positions(("t", 0, 9L), ("t", 1, 9L))))
      )
    for ((id, kafkaId) <- Seq("T2" -> "K", "X" -> "K2"); end <- Seq(30L, 2L)) {
      val half = view(0 -> end)(id, kafkaId).copy(unanswered = Map(("t", 1) -> "partition has no leader"))
      val found = next(start, Map("a" -> half), draining, ifReplaced = ReplacedClusterPolicy.Earliest)
      assert(found.losses.isEmpty && read(start, found).sameAs(start), id)
      val whole = Map("a" -> view(0 -> end, 1 -> 3L)(id, kafkaId))
      val after = next(start, whole, draining, ifReplaced = ReplacedClusterPolicy.Earliest)
      assert(ranges(start, after) == Seq((0, 0L, end), (1, 0L, 3L)))
    }
    val half = view(0 -> 30L)("T2").copy(unanswered = Map(("t", 1) -> "partition has no leader"))
    assert(read(away, next(away, Map("a" -> half))) == away)
  }

  test("another Kafka cluster under the same id is reported, and changes nothing where that fails") {
    val found = next(reading(0 -> 5L)(), Map("a" -> view(0 -> 50L)("X", "K2")))
    assert(found.replaced == Seq(ReplacedCluster("a", "K", "K2")) && found.losses.isEmpty)
  }

  test("replacedClusterPolicy: the new cluster from its earliest or latest offsets, once") {
    val start = reading(0 -> 5L, 1 -> 2L)().copy(retained =
      SortedMap("a" -> Retained.at(1L, positions(("u", 0, 4L))))
    )
    val seen = Map("a" -> view(0 -> 50L)("X", "K2", earliest = 10L))
    for ((policy, from) <- Seq(ReplacedClusterPolicy.Earliest -> 10L, ReplacedClusterPolicy.Latest -> 50L)) {
      val found = next(start, seen, ifReplaced = policy)
      val end = read(start, found)
      assert(end.entered("a") == positions(("t", 0, from)) && found.losses.isEmpty)
      assert(end.identity("a") == known("X", "K2"))
      val left = end.retained("a").topics("u")
      assert(left.former.contains(FormerCluster("a", Some("K"))), "a position of the former cluster")
      val again = next(end, seen, ifReplaced = policy)
      assert(again.replaced.isEmpty && read(end, again).sameAs(end))
    }
  }

  private def renamed(topicId: String, kafkaId: String) = {
    // `a` leaves and `b` enters in the same change.
    val start = reading(0 -> 5L)()
    start -> next(start, Map("b" -> view(0 -> 8L, 1 -> 2L)(topicId, kafkaId)), topology("b"))
  }

  test("a cluster under a new id resumes at the retained offsets of its former id") {
    val (start, found) = renamed("T", "K")
    val end = read(start, found)
    assert(OffsetRange.beforeLogging(start, end)("b").map(r => (r.partition, r.from)) == Seq(
      0 -> 5L,
      1 -> 0L
    ))
    assert(found.renamed == Seq(RenamedTopic("b", "a", "t")))
    assert(end.retained.isEmpty && end.identities.keySet == Set("b"))
  }

  test("another Kafka cluster, or another topic, under a new id enters as a new one") {
    Seq(renamed("T", "K2"), renamed("T2", "K")).foreach { case (start, found) =>
      val end = read(start, found)
      assert(end.entered("b") == positions(("t", 0, 0L), ("t", 1, 0L)) && found.renamed.isEmpty)
      assert(end.retained("a").topics("t").id.contains("T") && end.identity("a").kafkaId.contains("K"))
    }
  }

  test("a rename leaves the other topics of the former cluster id retained") {
    val start = reading(0 -> 5L)()
    val away = start.copy(
      clusters = start.clusters,
      retained = SortedMap("a" -> Retained.at(Now, positions(("u", 0, 3L)), ids = _ => Some("U")))
    )
    val found = next(away, Map("b" -> view(0 -> 8L)()), topology("b"))
    assert(found.renamed == Seq(RenamedTopic("b", "a", "t")))
    assert(read(away, found).retained("a").positions == positions(("u", 0, 3L)))
  }

  test(
    "the offsets of a former id stay retained while the new id, that of another Kafka cluster before, is not judged"
  ) {
    val start = reading(0 -> 5L)()
    val both = start.copy(
      clusters = start.clusters.updated("b", positions(("u", 0, 1L))),
      identities = start.identities.updated("b", ClusterIdentity(Some("K2")))
    )
    val half = view(0 -> 8L)().copy(unanswered = Map(("t", 1) -> "partition has no leader"))
    val silent = next(both, Map("b" -> half), topology("b"), ReplacedClusterPolicy.Earliest)
    assert(silent.renamed.isEmpty && silent.spans.isEmpty)
    val end = read(both, silent)
    assert(end.retained("a").positions == positions(("t", 0, 5L)))
    val found = next(end, Map("b" -> view(0 -> 8L)()), topology("b"), ReplacedClusterPolicy.Earliest)
    assert(found.renamed == Seq(RenamedTopic("b", "a", "t")) && ranges(end, found, "b") == Seq((0, 5L, 8L)))
  }
}

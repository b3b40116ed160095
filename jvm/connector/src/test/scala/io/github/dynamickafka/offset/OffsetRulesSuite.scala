package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  ReplacedClusterPolicy,
  Topology,
  TopologyCluster,
  TopologyTopic
}

/** Edge cases of the rules that random histories reach rarely or never. */
class OffsetRulesSuite extends AnyFunSuite {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private def on(cluster: String, all: (String, Int, Long)*) = SortedMap(cluster -> positions(all: _*))

  private def invalid(condition: String)(body: => Any): String = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == s"DYNAMIC_KAFKA.$condition")
    e.getMessage
  }

  private val three = positions(("t", 0, 1L), ("t", 1, 2L), ("u", 0, 3L))

  test("positions are found by topic and partition") {
    assert(three.size == 3 && three.topics == Set("t", "u") && three.nonEmpty && !three.isEmpty)
    assert(Positions.empty.isEmpty && !Positions.empty.nonEmpty)
    assert(three.get("t", 1).contains(2L) && three.get("t", 2).isEmpty && three.get("v", 0).isEmpty)
    assert(three.of("t") == SortedMap(0 -> 1L, 1 -> 2L) && three.of("v").isEmpty)
  }

  test("a topic without partitions is dropped") {
    assert(three.withTopic("t", SortedMap.empty[Int, Long]) == positions(("u", 0, 3L)))
    assert(three.filter((topic, _) => topic == "u") == positions(("u", 0, 3L)))
    assert(three.filter((_, p) => p == 1) == positions(("t", 1, 2L)))
    assert(three.filterTopics(_ == "t") == three.without("u"))
    assert(three -- three == Positions.empty)
    assert(Positions(Seq("t" -> SortedMap.empty[Int, Long])) == Positions.empty)
  }

  test("of two positions of a partition the second one replaces the first, whatever the offsets") {
    assert(three ++ positions(("t", 1, 0L)) == positions(("t", 0, 1L), ("t", 1, 0L), ("u", 0, 3L)))
    assert(three -- positions(("t", 1, 9L), ("u", 5, 9L)) == positions(("t", 0, 1L), ("u", 0, 3L)))
  }

  test("a batch reads from the start, or from where a partition enters, to the end") {
    val start = CompositeOffset(on("a", ("t", 0, 5L), ("t", 1, 7L), ("t", 2, 1L)))
    val last = on("a", ("t", 0, 6L), ("t", 1, 7L), ("t", 2, 9L))
    val end = CompositeOffset(last, entered = on("a", ("t", 2, 4L)))
    assert(OffsetRange.between(start, end) ==
      SortedMap("a" -> Seq(OffsetRange("t", 0, 5L, 6L), OffsetRange("t", 2, 4L, 9L))))
    assert(OffsetRange.between(end, end).isEmpty)
    assert(OffsetRange.between(start, start.copy(until = ReadUntil(on("a", ("t", 0, 5L))))).isEmpty)
  }

  test("an end before its start, or without a start, is refused") {
    val start = CompositeOffset(on("a", ("t", 0, 5L)))
    def end(all: (String, Int, Long)*) = CompositeOffset(on("a", all: _*))
    Seq(end(("t", 0, 4L)) -> "starts at 5", end(("t", 1, 4L)) -> "no start").foreach { case (end, says) =>
      assert(invalid("INVALID_OFFSET")(OffsetRange.between(start, end)).contains(says))
      assert(invalid("INVALID_NEXT_OFFSET")(OffsetRange.beforeLogging(start, end)).contains(says))
    }
  }

  test("offsets are the same only if all durable parts are equal and nothing enters") {
    val one = CompositeOffset(on("a", ("t", 0, 5L)))
    assert(one.sameAs(one) && one.sameAs(one.copy(entered = on("a", ("t", 0, 4L)))))
    val other = Seq(
      one.copy(clusters = on("a", ("t", 0, 6L))),
      one.copy(entered = on("a", ("t", 0, 4L))),
      one.copy(retained = SortedMap("b" -> Retained.at(1L, three))),
      one.copy(until = ReadUntil(on("a", ("t", 0, 9L)))),
      one.copy(until =
        ReadUntil(ends = SortedMap("a" -> SortedMap("t" -> TopicEnds("latest", SortedMap(0 -> 9L)))))
      ),
      one.copy(identities = SortedMap("a" -> ClusterIdentity(Some("K"))))
    )
    other.foreach(changed => assert(!changed.sameAs(one), changed))
  }

  test("offsets without a cluster level apply to the given cluster, all others are unchanged") {
    val numbers = Map("t" -> Map(0 -> 1L))
    def about(id: String) = {
      val all = Map(id -> numbers)
      Seq(OffsetsPolicy.Exact(all), OffsetsPolicy.TimestampByPartition(all)).map(OffsetsPolicy.about("a", _))
    }
    assert(about(OffsetsPolicy.AnyCluster) == about("a"))
    val b = Map("b" -> numbers)
    assert(about("b") == Seq(OffsetsPolicy.Exact(b), OffsetsPolicy.TimestampByPartition(b)))
    assert(OffsetsPolicy.about("a", OffsetsPolicy.Latest) == OffsetsPolicy.Latest)
  }

  private def left(start: CompositeOffset, retentionMs: Long, now: Long) = {
    val rules = Reconcile.Rules(retentionMs, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    Reconcile(start, Topology.empty, now, rules).retained
  }

  test("what leaves is retained from now on, forever with -1, and not at all with 0") {
    val start = CompositeOffset(on("a", ("t", 0, 5L)))
    Seq(-1L, 100L).foreach { retention =>
      assert(left(start, retention, 1000L) == SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)))))
    }
    assert(left(start, 0L, 1000L).isEmpty)
  }

  test("a retained position expires exactly when its retention ends, and never with -1") {
    val retained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L))))
    val start = CompositeOffset(SortedMap.empty[String, Positions], retained = retained)
    assert(left(start, 100L, 1099L) == retained)
    assert(left(start, 100L, 1100L).isEmpty)
    assert(left(start, -1L, Long.MaxValue) == retained)
  }

  test(
    "a start position for the first start does not hold for a topic that was read, once its positions are dropped"
  ) {
    val topology =
      Topology(SortedMap("a" -> TopologyCluster("a", SortedMap("t" -> TopologyTopic("s")), Map.empty)))
    val start = CompositeOffset(on("a", ("t", 0, 5L)))
    for (retention <- Seq(0L, 100L); once <- Seq(true, false)) {
      val rules = Reconcile.Rules(
        retention,
        drainRemoved = false,
        (_, _, _, _) => OffsetsPolicy.Timestamp(7L),
        startsOnce = (id, topic) => once && id == "a" && topic == "t",
        reentry = (_, _, _) => OffsetsPolicy.Latest
      )
      def after(start: CompositeOffset, now: Long) = CompositeOffset(
        SortedMap.empty[String, Positions],
        retained = Reconcile(start, Topology.empty, now, rules).retained
      )
      val away = after(after(start, 1000L), 1100L)
      val read = CompositeOffsetJson.read(away.json)
      assert(read == away && read.retained.contains("a") == once)
      val entering = Reconcile(read, topology, 1200L, rules).clusters("a").entering("t")
      assert(entering == (if (once) OffsetsPolicy.Latest else OffsetsPolicy.Timestamp(7L)))
    }
  }

  test("a cluster that has returned, and does not respond, is not retained any longer") {
    val topology =
      Topology(SortedMap("a" -> TopologyCluster("a", SortedMap("t" -> TopologyTopic("s")), Map.empty)))
    val retained = SortedMap("a" -> Retained.at(
      1000L,
      positions(("t", 0, 5L)),
      ids = _ => Some("T"),
      epochs = positions(("t", 0, 3L))
    ))
    val start = CompositeOffset(SortedMap.empty[String, Positions], retained = retained)
    val rules = Reconcile.Rules(100L, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    val found = NextOffset(
      start,
      Reconcile(start, topology, 1050L, rules),
      Map("a" -> ClusterView.Pending),
      ReplacedClusterPolicy.Fail,
      _ => false
    )
    val end = found.offset(found.spans.map(_ => 0L))
    assert(end.position("a") == positions(("t", 0, 5L)) && end.retained.isEmpty)
    assert(end.identity("a").topics.get("t").contains("T"))
    assert(end.identity("a").epochs == positions(("t", 0, 3L)))
    assert(OffsetRange.beforeLogging(start, end).values.flatten.forall(_.size == 0))
    assert(Reconcile(end, topology, 9000L, rules).clusters("a").staying == positions(("t", 0, 5L)))
  }

  test(
    "a topic that returns to a cluster that drains is not read where the one that replaces it has taken its place"
  ) {
    // No cluster has read "x" yet.
    val topics = SortedMap.from(Seq("t", "u", "v", "w", "x").map(_ -> TopologyTopic("s")))
    val topology = Topology(SortedMap(
      "a" -> TopologyCluster("a", topics.map { case (t, of) => t -> of.copy(draining = true) }, Map.empty),
      "b" -> TopologyCluster("b", topics, Map.empty, replaces = Some("a"))
    ))
    val left = Retained.at(1000L, positions(("t", 0, 5L), ("u", 0, 5L), ("v", 0, 5L), ("w", 0, 5L)))
    val owed = Retained.at(1000L, positions(("u", 0, 5L))).of(FormerCluster("a", Some("K")))
    val start = CompositeOffset(
      on("b", ("t", 0, 5L)),
      retained = SortedMap(
        "a" -> left.copy(drained = Set("t", "u", "w")),
        "b" -> (owed ++ Retained.at(1000L, positions(("w", 0, 7L))))
      )
    )
    val rules = Reconcile.Rules(-1L, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    assert(Reconcile(start, topology, 2000L, rules).clusters("a").topics == Set("v"))
  }

  test("same-offsets: a cluster that has returned, and responds after its retention, is looked at then") {
    val topology =
      Topology(SortedMap("a" -> TopologyCluster("a", SortedMap("t" -> TopologyTopic("s")), Map.empty)))
    val away = CompositeOffset(
      SortedMap.empty[String, Positions],
      retained = SortedMap("a" -> Retained.at(1000L, positions(("t", 0, 5L)), ids = _ => Some("T"))),
      identities = SortedMap("a" -> ClusterIdentity(Some("K")))
    )
    val rules = Reconcile.Rules(100L, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    def next(start: CompositeOffset, now: Long, view: ClusterView) = NextOffset(
      start,
      Reconcile(start, topology, now, rules),
      Map("a" -> view),
      ReplacedClusterPolicy.SameOffsets,
      _ => false
    )
    def end(found: NextOffset) = found.offset(found.spans.map(_ => 0L))
    val silent = end(next(away, 1050L, ClusterView.Pending))
    assert(end(next(silent, 2000L, ClusterView.Pending)).sameAs(silent), "once")
    def responds(kafkaId: String) = next(
      silent,
      9000L,
      ClusterView.Reachable(
        positions(("t", 0, 8L)),
        positions(("t", 0, 0L)),
        identity = ClusterIdentity(Some(kafkaId), SortedMap("t" -> "T"))
      )
    )
    val same = responds("K")
    assert(same.replaced.isEmpty && same.spans.map(s => s.from -> s.end) == Seq(5L -> 8L))
    assert(end(same).retained.isEmpty && end(same).identity("a").kafkaId.contains("K"))
    assert(responds("L").replaced.map(r => r.known -> r.found) == Seq("K" -> "L"))
  }

  test("a later departure restarts the retention of its own topic only") {
    val start = CompositeOffset(
      on("a", ("t", 0, 5L)),
      retained = SortedMap("a" -> Retained.at(1000L, positions(("u", 0, 3L))))
    )
    val both = Retained.at(1050L, positions(("t", 0, 5L))) ++ Retained.at(1000L, positions(("u", 0, 3L)))
    assert(left(start, 100L, 1050L) == SortedMap("a" -> both))
    assert(left(start, 100L, 1100L) == SortedMap("a" -> Retained.at(1100L, positions(("t", 0, 5L)))))
    val again = start.copy(clusters = on("a", ("u", 1, 5L)))
    assert(left(again, 100L, 1050L)("a").topics("u").since == 1050L)
  }
}

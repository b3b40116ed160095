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

/**
 * A batch of clusters a and b, of which b is deferred: what the following offsets read, whatever happens to b meanwhile.
 */
class DeferralSuite extends AnyFunSuite {
  import DeferralSuite._

  private val start = CompositeOffset(at("a" -> 0L, "b" -> 3L), identities = identities("a", "b"))
  private val end = CompositeOffset(at("a" -> 5L, "b" -> 9L), identities = identities("a", "b"))
  private val whole = anyLog(OffsetRange.between(start, end))
  private val deferral = Deferral(start, end, whole.filter(_._1 == "b"))
  private val decided = Deferrals.none.added(0L, deferral)

  private def after(
      topology: Topology,
      views: Map[String, ClusterView],
      from: CompositeOffset = end,
      retentionMs: Long = -1,
      ifReplaced: ReplacedClusterPolicy = ReplacedClusterPolicy.Fail,
      deferrals: Deferrals = decided
  ): CompositeOffset = {
    val rules = Reconcile.Rules(retentionMs, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    val reached = deferrals.reached(from)
    val next = NextOffset(reached, Reconcile(reached, topology, 0L, rules), views, ifReplaced, _ => true)
    deferrals.resumed(from, next.offset(next.spans.map(_.lag)))
  }

  /** What the batch reads; fails if the offset could not be logged. */
  private def reads(from: CompositeOffset, to: CompositeOffset): Map[String, Seq[OffsetRange]] =
    anyLog(OffsetRange.beforeLogging(from, CompositeOffsetJson.read(to.json))).toMap

  /** Which log the ranges are in is tested elsewhere. */
  private def anyLog(ranges: SortedMap[String, Seq[OffsetRange]]): SortedMap[String, Seq[OffsetRange]] =
    ranges.map { case (id, of) => id -> of.map(_.copy(log = LogIdentity.unknown)) }

  private val onlyA = Map("a" -> Seq(OffsetRange("t", 0, 5, 7)))

  test("the batch is read without the deferred ranges, each time it is planned") {
    assert(deferral.rest(whole).toMap == Map("a" -> Seq(OffsetRange("t", 0, 0, 5))))
    assert(decided.of(start, end).contains(deferral) && decided.of(start, start).isEmpty)
    assert(decided.of(end, end).isEmpty && decided.of(start, end.copy(entered = at("b" -> 3L))).isEmpty)
  }

  test("deferred ranges are compared with the leader epoch that their position had, also across elections") {
    def elected(of: CompositeOffset, epoch: Long) = of.copy(identities = of.identities.map {
      case (id, known) =>
        id -> known.copy(epochs = Positions.from(Seq(("t", 0, epoch))))
    })
    val (from, until) = (elected(start, 3L), elected(end, 4L))
    val ranges = OffsetRange.between(from, until).filter(_._1 == "b")
    val deferrals = Deferrals.none.added(0L, Deferral(from, until, ranges))
    assert(deferrals.reached(until).identity("b").epochs == Positions.from(Seq(("t", 0, 3L))))
    assert(deferrals.reached(until).identity("a") == until.identity("a"))
    val seen = view("b", 9).copy(identity =
      view("b", 9).identity.copy(epochs = Positions.from(Seq(("t", 0, 4L))))
    )
    val next = after(topology("a", "b"), Map("b" -> seen), from = until, deferrals = deferrals)
    assert(reads(until, next).toSeq == Seq("b" -> Seq(OffsetRange("t", 0, 3, 9, epoch = Some(3L)))))
    assert(next.identity("b").epochs == Positions.from(Seq(("t", 0, 4L))))
    val away = after(topology("a", "b"), Map.empty, from = until, deferrals = deferrals)
    assert(away.identity("b").epochs == Positions.from(Seq(("t", 0, 3L))), "the cluster is still unreachable")
  }

  test("only what is deferred of a topic is left out") {
    val two = SortedMap("b" -> Seq(OffsetRange("t", 0, 3, 9), OffsetRange("t", 1, 0, 4)))
    assert(deferral.rest(two).toMap == Map("b" -> Seq(OffsetRange("t", 1, 0, 4))))
  }

  test("at the end of the batch, the query has not reached what is deferred") {
    assert(decided.reached(end).clusters == at("a" -> 5L, "b" -> 3L))
    assert(decided.reached(start) == start)
    assert(decided.left(end).toMap == Map("b" -> Seq(OffsetRange("t", 0, 3, 9))))
  }

  test("the cluster is reachable again: the next batch reads its records from where the deferral starts") {
    val next = after(topology("a", "b"), Map("a" -> view("a", 7), "b" -> view("b", 12)))
    assert(reads(end, next) == onlyA.updated("b", Seq(OffsetRange("t", 0, 3, 12))))
  }

  test("the cluster is still unreachable: the next offset takes its position back, and reads nothing of it") {
    val next = after(topology("a", "b"), Map("a" -> view("a", 7)))
    assert(reads(end, next) == onlyA)
    assert(next.clusters == at("a" -> 7L, "b" -> 3L) && next.entered == at("b" -> 3L))
    // From here on the offset log is all that is needed.
    val later = after(topology("a", "b"), Map("a" -> view("a", 7), "b" -> view("b", 9)), next)
    assert(reads(next, later) == Map("b" -> Seq(OffsetRange("t", 0, 3, 9))))
  }

  test("nothing is new anywhere: an offset is logged nevertheless, because a position goes back") {
    val next = after(topology("a", "b"), Map("a" -> view("a", 5)))
    assert(!next.sameAs(end) && reads(end, next).isEmpty)
  }

  test("with a limit, the records are read over several batches") {
    val transition = Reconcile(
      decided.reached(end),
      topology("a", "b"),
      0L,
      Reconcile.Rules(-1, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    )
    val views = Map[String, ClusterView]("a" -> view("a", 5), "b" -> view("b", 9))
    val next = NextOffset(decided.reached(end), transition, views, ReplacedClusterPolicy.Fail, _ => true)
    val limited = decided.resumed(end, next.offset(next.spans.map(span => math.min(2L, span.lag))))
    assert(reads(end, limited) == Map("b" -> Seq(OffsetRange("t", 0, 3, 5))))
    val entered = decided.entered(decided.entering(limited))
    assert(entered.left(limited).toMap == Map("b" -> Seq(OffsetRange("t", 0, 5, 9))))
    assert(entered.over(limited).isEmpty)
    assert(entered.over(after(topology("a", "b"), views, limited, deferrals = entered)) == Seq(0L))
  }

  test("the cluster is removed: what is deferred is retained, and read when the cluster returns") {
    val removed = after(topology("a"), Map("a" -> view("a", 7)))
    assert(reads(end, removed) == onlyA && removed.retained("b").positions == at("b" -> 3L)("b"))
    val entered = decided.entered(decided.entering(removed))
    assert(entered.left(removed).toMap == Map("b" -> Seq(OffsetRange("t", 0, 3, 9))))
    val back = after(topology("a", "b"), Map("a" -> view("a", 7), "b" -> view("b", 9)), removed)
    assert(reads(removed, back) == Map("b" -> Seq(OffsetRange("t", 0, 3, 9))))
  }

  test("the cluster is removed and nothing is retained: the records are given up") {
    val removed = after(topology("a"), Map("a" -> view("a", 7)), retentionMs = 0)
    val entered = decided.entered(decided.entering(removed))
    assert(entered.left(removed).isEmpty && entered.over(removed) == Seq(0L))
    assert(entered.givenUp(removed).toMap == Map("b" -> Seq(OffsetRange("t", 0, 3, 9))))
  }

  test("the cluster is added under another id: the records are read under that id, and not given up") {
    val renamed = after(topology("a", "c"), Map("a" -> view("a", 7), "c" -> view("b", 12)))
    assert(reads(end, renamed) == onlyA.updated("c", Seq(OffsetRange("t", 0, 3, 12))))
    assert(decided.entered(Seq(0L)).givenUp(renamed).isEmpty)
  }

  test("the topic drains: it is read from where the deferral starts up to its target, and is retired then") {
    val draining = Topology(SortedMap("a" -> cluster("a"), "b" -> cluster("b", draining = true)))
    val targeted = end.copy(until = ReadUntil(at("b" -> 9L)))
    val deferrals = Deferrals.none.added(0L, Deferral(start, targeted, whole.filter(_._1 == "b")))
    val away = after(draining, Map("a" -> view("a", 7)), targeted, deferrals = deferrals)
    assert(away.draining == at("b" -> 9L) && away.position("b").get("t", 0).contains(3L))
    val next = after(
      draining,
      Map("a" -> view("a", 7), "b" -> view("b", 12)),
      targeted,
      deferrals = deferrals
    )
    assert(reads(targeted, next) == onlyA.updated("b", Seq(OffsetRange("t", 0, 3, 9))))
    val retired = after(draining, Map("a" -> view("a", 7), "b" -> view("b", 12)), next)
    assert(retired.retained("b").positions == at("b" -> 9L)("b"))
  }

  test(
    "the topic was recreated, or the cluster replaced: the new log is read, and nothing of it is deferred"
  ) {
    val recreated =
      view("b", 20).copy(identity = view("b", 20).identity.copy(topics = SortedMap("t" -> "another")))
    val replaced = view("b", 20).in(Some("another"))
    for (found <- Seq(recreated, replaced)) {
      val next = after(
        topology("a", "b"),
        Map("a" -> view("a", 7), "b" -> found),
        ifReplaced = ReplacedClusterPolicy.Earliest
      )
      assert(reads(end, next) == onlyA.updated("b", Seq(OffsetRange("t", 0, 0, 20))))
      assert(decided.entered(Seq(0L)).left(next).isEmpty)
    }
  }

  test("the batch in which the records enter is deferred as well: they are read once, after both") {
    val second = after(topology("a", "b"), Map("a" -> view("a", 7), "b" -> view("b", 12)))
    val again = Deferral(end, second, OffsetRange.between(end, second).filter(_._1 == "b"))
    val both = decided.added(1L, again).entered(decided.entering(second))
    assert(both.all.map { case (n, entry) => n -> entry.entered }.toMap == Map(0L -> true, 1L -> false))
    assert(both.left(second).toMap == Map("b" -> Seq(OffsetRange("t", 0, 3, 12))))
    val views = Map[String, ClusterView]("a" -> view("a", 7), "b" -> view("b", 12))
    val third = after(topology("a", "b"), views, second, deferrals = both)
    assert(third.json != second.json, "to Spark, equal offsets are no batch")
    assert(reads(second, third).isEmpty)
    val entered = both.entered(both.entering(third))
    val fourth = after(topology("a", "b"), views, third, deferrals = entered)
    assert(reads(third, fourth) == Map("b" -> Seq(OffsetRange("t", 0, 3, 12))))
    assert(entered.over(fourth) == Seq(0L, 1L))
  }

  test("a later offset with the text of the deferred batch's end does not take positions back again") {
    val away = after(topology("a", "b"), Map("a" -> view("a", 5)))
    val entered = decided.entered(decided.entering(away))
    val caughtUp = after(topology("a", "b"), Map("a" -> view("a", 5), "b" -> view("b", 9)), away)
    assert(caughtUp.json == end.json)
    assert(entered.reached(caughtUp) == caughtUp && entered.of(start, caughtUp).isEmpty)
    assert(entered.over(caughtUp) == Seq(0L))
  }

  test("a crash before the next offset is logged changes nothing: it is computed again") {
    assert(decided.entering(end).isEmpty)
    val one = after(topology("a", "b"), Map("a" -> view("a", 7)))
    assert(after(topology("a", "b"), Map("a" -> view("a", 7))) == one)
    assert(decided.entering(one) == Seq(0L))
  }

  test("topics enter in the deferred batch: they resume where they entered") {
    val entering = CompositeOffset(
      at("a" -> 5L, "b" -> 9L),
      entered = at("b" -> 4L),
      identities = identities("a", "b")
    )
    val without = start.copy(clusters = at("a" -> 0L))
    val of =
      Deferrals.none.added(0L, Deferral(without, entering, OffsetRange.between(without, entering) - "a"))
    val next =
      after(topology("a", "b"), Map("a" -> view("a", 7), "b" -> view("b", 9)), entering, deferrals = of)
    assert(reads(entering, next) == onlyA.updated("b", Seq(OffsetRange("t", 0, 4, 9))))
  }
}

private object DeferralSuite {
  def at(positions: (String, Long)*): SortedMap[String, Positions] =
    SortedMap.from(positions.map { case (id, offset) => id -> Positions.from(Seq(("t", 0, offset))) })

  def identities(ids: String*): SortedMap[String, ClusterIdentity] =
    SortedMap.from(ids.map(id => id -> ClusterIdentity(Some(s"kafka-$id"), SortedMap("t" -> s"topic-$id"))))

  def view(id: String, end: Long): ClusterView.Reachable = ClusterView.Reachable(
    ends = at("x" -> end)("x"),
    earliest = at("x" -> 0L)("x"),
    identity = ClusterIdentity(Some(s"kafka-$id"), SortedMap("t" -> s"topic-$id"))
  )

  def cluster(id: String, draining: Boolean = false): TopologyCluster =
    TopologyCluster(id, SortedMap("t" -> TopologyTopic("s", draining = draining)), Map.empty)

  def topology(ids: String*): Topology = Topology(SortedMap.from(ids.map(id => id -> cluster(id))))
}

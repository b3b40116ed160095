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

/** The leader epochs of positions, and which logs are compared with them before they are read. */
class EpochRulesSuite extends AnyFunSuite with TimeLimit {

  private def positions(all: (Int, Long)*) = Positions(Seq("t" -> SortedMap.from(all)))
  private def topology(ids: String*): Topology = Topology(SortedMap.from(ids.map(id =>
    id -> TopologyCluster(id, SortedMap("t" -> TopologyTopic("s")), Map.empty)
  )))

  /** Topic `t` of cluster `a` at these positions, with these epochs. */
  private def reading(at: (Int, Long)*)(epochs: (Int, Long)*): CompositeOffset = CompositeOffset(
    SortedMap("a" -> positions(at: _*)),
    identities = SortedMap("a" -> ClusterIdentity(Some("K"), SortedMap("t" -> "T"), positions(epochs: _*)))
  )

  private def view(ends: (Int, Long)*)(epochs: (Int, Long)*) = ClusterView.Reachable(
    positions(ends: _*),
    positions(ends.map { case (p, _) => p -> 0L }: _*),
    identity = ClusterIdentity(Some("K"), SortedMap("t" -> "T"), positions(epochs: _*))
  )

  private def next(start: CompositeOffset, seen: ClusterView, to: Topology = topology("a")): NextOffset = {
    val rules = Reconcile.Rules(-1L, drainRemoved = false, (_, _, _, _) => OffsetsPolicy.Earliest)
    val transition = Reconcile(start, to, 1000L, rules)
    NextOffset(
      start,
      transition,
      to.clusters.map { case (id, _) => id -> seen },
      ReplacedClusterPolicy.Fail,
      _ => true
    )
  }

  private def logged(found: NextOffset, most: Long = Long.MaxValue): CompositeOffset =
    CompositeOffsetJson.read(found.offset(found.spans.map(s => math.min(s.lag, most))).json)

  private def compared(start: CompositeOffset, end: CompositeOffset, cluster: String = "a") =
    OffsetRange.beforeLogging(start, end).getOrElse(cluster, Nil).flatMap(r => r.epoch.map(r.partition -> _))

  private def replayed(start: CompositeOffset, end: CompositeOffset) =
    OffsetRange.between(start, end).getOrElse("a", Nil).flatMap(r => r.epoch.map(r.partition -> _))

  test("a position that moves has the epoch of the response, one that does not keeps its own") {
    val start = reading(0 -> 5L, 1 -> 5L)(0 -> 3L, 1 -> 3L)
    val end = logged(next(start, view(0 -> 9L, 1 -> 5L)(0 -> 4L, 1 -> 4L)))
    assert(end.identity("a").epochs == positions(0 -> 4L, 1 -> 3L))
    assert(compared(start, end) == Seq(0 -> 3L))
    // The log of partition 1 is compared when there is something to read.
    val later = logged(next(end, view(0 -> 9L, 1 -> 6L)(0 -> 4L, 1 -> 4L)))
    assert(compared(end, later) == Seq(1 -> 3L))
    assert(later.identity("a").epochs == positions(0 -> 4L, 1 -> 4L))
  }

  test("a partition that limits leave out keeps the epoch of its position") {
    val start = reading(0 -> 5L)(0 -> 3L)
    val seen = view(0 -> 9L, 1 -> 2L)(0 -> 4L, 1 -> 1L)
    val end = logged(next(start, seen), most = 0L)
    assert(end.identity("a").epochs == positions(0 -> 3L, 1 -> 1L), "partition 1 enters")
    assert(compared(end, logged(next(end, seen))) == Seq(0 -> 3L))
  }

  test(
    "an election alone starts no batch, nor do epochs that were not known; they are adopted with a batch"
  ) {
    Seq(reading(0 -> 5L)(0 -> 3L), reading(0 -> 5L)()).foreach { start =>
      assert(logged(next(start, view(0 -> 5L)(0 -> 4L))).sameAs(start))
    }
    val start = reading(0 -> 5L, 1 -> 5L)()
    val end = logged(next(start, view(0 -> 5L, 1 -> 6L)(0 -> 4L, 1 -> 4L)))
    assert(end.identity("a").epochs == positions(0 -> 4L, 1 -> 4L))
    assert(compared(start, end).isEmpty, "the epoch of the start is not known")
    val silent = logged(next(end, view(0 -> 7L, 1 -> 6L)()))
    assert(silent.identity("a").epochs == positions(1 -> 4L), "the broker gives none")
    assert(compared(end, silent).isEmpty)
  }

  test("without ids, epochs alone start no batch either") {
    val start = CompositeOffset(SortedMap("a" -> positions(0 -> 5L)))
    val seen = view(0 -> 5L)(0 -> 3L)
      .copy(identity = ClusterIdentity(epochs = positions(0 -> 3L)))
    assert(logged(next(start, seen)).sameAs(start))
  }

  test("logs with the same leader as before are not compared, but those of a batch that was logged are") {
    val start = reading(0 -> 5L, 1 -> 5L)(0 -> 3L, 1 -> 3L)
    val end = logged(next(start, view(0 -> 9L, 1 -> 9L)(0 -> 3L, 1 -> 4L)))
    assert(compared(start, end) == Seq(1 -> 3L))
    assert(replayed(start, end) == Seq(0 -> 3L, 1 -> 3L))
  }

  test(
    "a first position has the epoch of the response, so that its log is compared when the batch is read again"
  ) {
    val start = reading(0 -> 5L)(0 -> 3L)
    val end = logged(next(start, view(0 -> 9L, 1 -> 2L)(0 -> 3L, 1 -> 1L)))
    assert(end.identity("a").entered == positions(1 -> 1L))
    assert(compared(start, end).isEmpty)
    assert(replayed(start, end) == Seq(0 -> 3L, 1 -> 1L))
    assert(end.withoutEntries.identity("a").entered.isEmpty && end.withoutEntries.entries.positions.isEmpty)
  }

  test(
    "an epoch stays with a retained position, and with a topic that returns, also under another cluster id"
  ) {
    val start = reading(0 -> 5L)(0 -> 3L)
    val away = logged(next(start, ClusterView.Unreachable, topology()))
    assert(away.retained("a").topics("t").epochs == SortedMap(0 -> 3L) && away.identity("a").epochs.isEmpty)
    for (id <- Seq("a", "b")) {
      val back = logged(next(away, view(0 -> 5L)(0 -> 4L), topology(id)))
      assert(back.identity(id).epochs == positions(0 -> 3L), "not compared yet")
      val read = logged(next(away, view(0 -> 9L)(0 -> 4L), topology(id)))
      assert(compared(away, read, id) == Seq(0 -> 3L))
      assert(read.identity(id).entered == positions(0 -> 3L))
      assert(read.identity(id).epochs == positions(0 -> 4L) && read.retained.isEmpty)
      assert(compared(back, logged(next(back, view(0 -> 9L)(0 -> 4L), topology(id))), id) == Seq(0 -> 3L))
    }
  }

  test("a cluster without a response keeps the epochs of its positions") {
    val start = reading(0 -> 5L)(0 -> 3L)
    val end = logged(next(start, ClusterView.Unreachable))
    assert(end == start && end.sameAs(start))
    val half = view(1 -> 2L)(1 -> 9L).copy(unanswered = Map(("t", 0) -> "no leader"))
    assert(logged(next(start, half)).identity("a").epochs == positions(0 -> 3L, 1 -> 9L))
  }

  test("a position that was reset is in the log of the new leader, and is not compared") {
    for (
      (seen, at) <-
        Seq(view(0 -> 4L)(0 -> 8L) -> 4L, view(0 -> 9L)(0 -> 8L).copy(earliest = positions(0 -> 7L)) -> 9L)
    ) {
      val start = reading(0 -> 5L)(0 -> 3L)
      val found = next(start, seen)
      val end = logged(found)
      assert(found.losses.size == 1 && end.position("a") == positions(0 -> at))
      assert(end.identity("a").epochs == positions(0 -> 8L) && compared(start, end).isEmpty)
    }
  }

  test("one number for a topic whose partitions have the same epoch, else one for each; -1 is unknown") {
    def text(offset: CompositeOffset) = CompositeOffsetJson.write(offset.copy(identities =
      offset.identities.map { case (id, of) => id -> of.copy(kafkaId = None, topics = SortedMap.empty) }
    ))
    val same = text(reading(0 -> 5L, 7 -> 6L)(0 -> 3L, 7 -> 3L))
    assert(same.contains(""""identities":{"a":{"epochs":{"t":3}}}"""), same)
    val each = text(reading(0 -> 5L, 7 -> 6L, 8 -> 1L)(0 -> 3L, 8 -> 4L))
    assert(each.contains(""""epochs":{"t":[3,-1,4]}"""), each)
    Seq(same, each).foreach(one => assert(CompositeOffsetJson.read(one).json == one))
    Seq("[3]", "[3,-2,4]", "\"x\"", "-1", "3000000000", "[3,1.5,4]", "{}").foreach { wrong =>
      intercept[Exception](CompositeOffsetJson.read(each.replace("[3,-1,4]", wrong)))
    }
  }

  test(
    "a range names the log that has its records: the topic, and before it is logged the newest leader epoch"
  ) {
    val start = reading(0 -> 5L)(0 -> 3L)
    val found = next(start, view(0 -> 8L)(0 -> 4L))
    def logs(of: SortedMap[String, Seq[OffsetRange]]) = of("a").map(_.log)
    assert(logs(OffsetRange.beforeLogging(start, logged(found))) == Seq(LogIdentity(Some("T"), Some(4L))))
    assert(logs(OffsetRange.between(start, logged(found))) == Seq(LogIdentity(Some("T"), None)))
    val batch = next(CompositeOffset.empty, view(0 -> 8L)(0 -> 4L))
    assert(logs(OffsetRange.ofAll(batch)) == Seq(LogIdentity(Some("T"), Some(4L))))
    assert(OffsetRange.ofAll(next(CompositeOffset.empty, view(0 -> 0L)(0 -> 4L))).isEmpty)
  }
}

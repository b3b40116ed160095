package io.github.dynamickafka.source.trigger

import scala.collection.immutable.SortedMap
import scala.util.Random

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.NoneWrong
import io.github.dynamickafka.metadata._
import io.github.dynamickafka.metadata.watch.RemovalGuard
import io.github.dynamickafka.offset._
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

/**
 * Random edits of the metadata of a running query: cluster ids are renamed, topics move between ids of the same Kafka cluster,
 * are removed and return. An answer never has a topic twice, so no edit is an error, and each record is read once.
 */
class RenamedClustersPropertySuite extends AnyFunSuite with TimeLimit {
  private val kafkas = Seq("K1", "K2")
  private val names = Seq("t", "u")
  private val kafkaOf = Map("a" -> "K1", "b" -> "K1", "c" -> "K1", "d" -> "K2", "e" -> "K2")
  private val ids = kafkaOf.keys.toSeq.sorted

  /** One query, its metadata, and what Kafka has. The log of each topic has as many records as its end. */
  private final class Run(random: Random, isCorrected: Boolean) {
    private val drains = random.nextBoolean()
    private val guard = new RemovalGuard("test", most = Some(Int.MaxValue), confirmations = 2)
    private var ends = (for { k <- kafkas; t <- names } yield (k, t) -> 0L).toMap

    /** The cluster id of each topic that the metadata has. */
    private var listed = Map.empty[(String, String), String]
    private var offset = CompositeOffset.empty
    private var down = Set.empty[String]
    private var yielding = Set.empty[(String, String)]
    var read = Vector.empty[(String, String, Long)]

    private def chance(percent: Int) = random.nextInt(100) < percent
    private def any[A](of: Seq[A]): A = of(random.nextInt(of.size))

    def edit(): Unit = {
      val kafka = any(kafkas)
      val id = any(ids.filter(kafkaOf(_) == kafka))
      val topics = if (chance(60)) names else Seq(any(names))
      topics.foreach(t => listed = if (chance(85)) listed.updated((kafka, t), id) else listed - (kafka -> t))
    }

    /** The answer of the service, now and then without something. */
    private def answer(complete: Boolean): Topology = {
      val shown = if (complete || chance(80)) listed else listed.filter(_ => chance(60))
      Topology(SortedMap.from(shown.groupMap(_._2)(_._1._2).map { case (id, topics) =>
        id -> TopologyCluster(id, SortedMap.from(topics.map(_ -> TopologyTopic("s"))), Map.empty)
      }))
    }

    def trigger(complete: Boolean): Unit = {
      if (!complete) ends = ends.map { case (log, end) => log -> (end + random.nextInt(3)) }
      if (!complete) down = ids.filter(_ => chance(15)).toSet else down = Set.empty
      val topology = guard(answer(complete)).topology
      yielding = DuplicateClusters.stillYielding(yielding, topology, offset)
      val end = next(topology)
      if (!end.sameAs(offset)) {
        for ((id, ranges) <- OffsetRange.beforeLogging(offset, end); range <- ranges)
          read ++= (range.from until range.until).map((kafkaOf(id), range.topic, _))
        offset = CompositeOffsetJson.read(end.json)
      }
    }

    @annotation.tailrec
    private def next(feed: Topology): CompositeOffset = {
      val topology = feed.without(yielding)
      val rules = Reconcile.Rules(-1L, drains, (_, _, _, _) => OffsetsPolicy.Earliest)
      val transition = Reconcile(offset, topology, 1L, rules)
      val views = transition.clusters.map { case (id, work) => id -> view(id, work) }
      val more =
        if (isCorrected) DuplicateClusters.yielding(topology, offset, transition, views)
        else Set.empty[(String, String)]
      if (more.nonEmpty) {
        yielding ++= more
        next(feed)
      } else {
        DuplicateClusters.refuse(transition, views)
        val advance = NextOffset(offset, transition, views, ReplacedClusterPolicy.Fail, _ => false)
        advance.offset(advance.spans.map(s => if (chance(70)) s.lag else s.lag / 2))
      }
    }

    private def view(id: String, work: ClusterTransition): ClusterView =
      if (down(id)) { if (chance(50)) ClusterView.Pending else ClusterView.Unreachable }
      else
        ClusterView.Reachable(
          ends = Positions.from(work.topics.map(t => (t, 0, ends((kafkaOf(id), t))))),
          earliest = Positions.from(work.topics.map(t => (t, 0, 0L))),
          identity = ClusterIdentity(
            Some(kafkaOf(id)),
            SortedMap.from(work.topics.map(t => t -> s"${kafkaOf(id)} $t"))
          )
        )

    /** The records of the topics that the metadata has now. */
    def expected: Set[(String, String, Long)] = (for {
      ((kafka, topic), _) <- listed.toSeq
      at <- 0L until ends((kafka, topic))
    } yield (kafka, topic, at)).toSet
  }

  private def wrong(seed: Long, isCorrected: Boolean): Option[String] = {
    val run = new Run(new Random(seed), isCorrected)
    try {
      (1 to 30).foreach { i =>
        if (i % 3 == 1) run.edit()
        run.trigger(complete = false)
      }
      (1 to 30).foreach(_ => run.trigger(complete = true))
      val twice = run.read.diff(run.read.distinct)
      val lost = run.expected -- run.read
      Option.when(
        twice.nonEmpty || lost.nonEmpty
      )(s"seed $seed: twice ${twice.take(5)}, lost ${lost.take(5)}")
    } catch { case e: Exception => Some(s"seed $seed: $e") }
  }

  test("renamed cluster ids: no edit ends the query, and each record is read once") {
    NoneWrong(0 until 30)(wrong(_, isCorrected = true))
  }

  test("further renamed cluster ids", TestAll) {
    NoneWrong(30 until 2000)(wrong(_, isCorrected = true))
  }

  test("it finds that both ids are read until the removal is confirmed") {
    assert((0L until 100L).iterator.flatMap(wrong(
      _,
      isCorrected = false
    )).exists(_.contains("DUPLICATE_CLUSTER")))
  }
}

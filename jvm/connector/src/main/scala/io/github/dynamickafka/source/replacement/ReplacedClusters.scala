package io.github.dynamickafka.source.replacement

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.replacement.{Replacement, ReplacingClusters}
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  Continuation,
  NextOffset,
  Positions,
  ReplacedCluster,
  Transition
}
import io.github.dynamickafka.source.cluster.ClusterStreams
import io.github.dynamickafka.topology.ReplacedClusterPolicy

/**
 * Where a trigger continues in clusters that replace others.
 *
 * @param views the responses of the clusters, with the positions of those that enter
 * @param continued positions in clusters that have the id of the one that was read
 * @param entered clusters with an id of their own, by `replaces` in the metadata
 */
private[dynamickafka] final case class DecidedReplacements(
    views: Map[String, ClusterView],
    continued: Map[String, Continuation],
    entered: Seq[ReplacedCluster]
)

/**
 * Kafka clusters that take the place of others: whether and where the query continues in them. What a trigger finds here is
 * decided once its offset is logged, which has the positions and Kafka's new id. Used only by the thread of the query.
 *
 * @param kafkaId asks a cluster for its `cluster.id`
 */
private[source] final class ReplacedClusters(
    policy: ReplacedClusterPolicy,
    replacements: Replacements,
    lastRecords: ReadBefore,
    kafkaId: String => Option[String],
    clock: Clock
) {
  import ReplacedClusters._

  private var ids = ReplacedIds.none

  /**
   * Asks the clusters. Changes nothing.
   *
   * @return None if no cluster replaces another one
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`
   */
  def decide(
      start: CompositeOffset,
      replacing: ReplacingClusters,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] = {
    val silent = returning(transition, views, next)
    Option.when(next.replaced.nonEmpty || replacing.former.nonEmpty || silent.nonEmpty) {
      val found = continuations(start, transition, views, next)
      val (entered, entries) = entering(replacing, transition, views)
      DecidedReplacements(
        // A cluster that does not respond meanwhile keeps its positions.
        views ++ entries ++ (silent ++ found.collect { case (id, None) => id }).map(_ -> ClusterView.Pending),
        found.collect { case (id, Some(continuation)) => id -> continuation },
        entered
      )
    }
  }

  /**
   * Where the query continues, by cluster id; None for a cluster that does not respond meanwhile.
   *
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`
   */
  private def continuations(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Map[String, Option[Continuation]] = next.replaced.flatMap { cluster =>
    refuseAlternating(cluster)
    policy match {
      case ReplacedClusterPolicy.Fail => throw refused(cluster, Unknown)
      // What these mean is known without another question.
      case ReplacedClusterPolicy.Earliest | ReplacedClusterPolicy.Latest => None
      case _ =>
        views.get(cluster.cluster).collect {
          case view: ClusterView.Reachable if view.unanswered.isEmpty =>
            cluster.cluster -> resolved(cluster, cluster.cluster, start, transition, view)
        }
    }
  }.toMap

  private def resolved(
      cluster: ReplacedCluster,
      former: String,
      start: CompositeOffset,
      transition: Transition,
      view: ClusterView.Reachable
  ): Option[Continuation] = {
    val positions = positionsOf(start, former)
    replacements(Replacement(
      cluster,
      former,
      positions,
      lastRecords.of(former, positions),
      lastRecords.lastBatchMs,
      transition.clusters.get(cluster.cluster).fold(Set.empty[String])(_.topics),
      view
    )).map(_.fold(reason => throw refused(cluster, reason), identity))
  }

  /**
   * The clusters that enter in the place of others, and their responses with the positions at which they enter.
   *
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`
   */
  private def entering(
      replacing: ReplacingClusters,
      transition: Transition,
      views: Map[String, ClusterView]
  ): (Seq[ReplacedCluster], Map[String, ClusterView]) = {
    val all = for {
      (id, former) <- replacing.former.toSeq.sortBy(_._1)
      view <- views.get(id).collect { case view: ClusterView.Reachable => view }
      cluster = ReplacedCluster(
        id,
        replacing.start.identity(former).kafkaId.getOrElse(""),
        view.kafkaId.getOrElse("")
      )
      // The same Kafka cluster under a new id continues at its own positions.
      if transition.clusters.contains(id) && (cluster.known != cluster.found || cluster.known.isEmpty)
    } yield {
      val found =
        if (view.unanswered.nonEmpty) None
        else
          resolved(cluster, former, replacing.start, transition, view)
      (
        found.map(continuation => cluster.copy(continued = Some(continuation))),
        id -> found.fold[ClusterView](ClusterView.Pending)(continuation =>
          view.copy(entering = Positions.from(continuation.positions.iterator.map { case (topic, p, at) =>
            (topic, p, view.ends.get(topic, p).fold(at)(math.min(at, _)))
          }))
        )
      )
    }
    (all.flatMap(_._1), all.map(_._2).toMap)
  }

  /**
   * Checks topics that return to positions of the same Kafka cluster, with `same-offsets`: its log may have been cut and filled again
   * meanwhile, with the same ids.
   *
   * @return the clusters that do not respond meanwhile
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`
   */
  private def returning(
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Set[String] =
    if (policy != ReplacedClusterPolicy.SameOffsets) Set.empty
    else (for {
      (id, work) <- transition.clusters.toSeq
      view <- views.get(id).collect { case view: ClusterView.Reachable => view }
      // Positions that are not in the log are judged as losses.
      positions = work.returning.filter((topic, p) =>
        work.returning.get(topic, p).exists(at =>
          view.earliest.get(topic, p).forall(_ <= at) && view.ends.get(topic, p).exists(_ >= at)
        )
      )
      if positions.nonEmpty && !next.replaced.exists(_.cluster == id)
      cluster = ReplacedCluster(id, view.kafkaId.getOrElse(""), view.kafkaId.getOrElse(""))
      of = Replacement(
        cluster,
        id,
        positions,
        lastRecords.of(id, positions),
        lastRecords.lastBatchMs,
        positions.topics,
        view
      )
      if replacements(of).map(_.left.foreach(reason => throw refused(cluster, reason))).isEmpty
    } yield id).toSet

  /** Logs what this trigger continues with. */
  def logDecided(
      start: CompositeOffset,
      replacing: ReplacingClusters,
      next: NextOffset,
      decided: DecidedReplacements
  ): Unit = {
    for (cluster <- decided.entered; found <- cluster.continued; former = replacing.former(cluster.cluster))
      log.warn(
        "Cluster '{}' replaces cluster '{}' (cluster.id {} instead of {}): former offsets {}, new offsets {}{}",
        cluster.cluster,
        former,
        cluster.found,
        cluster.known,
        CompositeOffsetJson.writePositions(positionsOf(replacing.start, former)),
        CompositeOffsetJson.writePositions(found.positions),
        found.notes.map("; " + _).mkString
      )
    next.replaced.filter(isContinued(next, _)).foreach { c =>
      ids = ids.replaced(c, clock.monotonicMs())
      val at = Positions.from(next.spans.iterator.filter(_.cluster == c.cluster)
        .map(s => (s.topic, s.partition, s.from)))
      log.warn(
        "Cluster '{}' is another Kafka cluster than before (cluster.id {} instead of {}); the query continues with it " +
          "because 'replacedClusterPolicy' is set: former offsets {}, new offsets {}{}",
        c.cluster,
        c.found,
        c.known,
        CompositeOffsetJson.writePositions(start.position(c.cluster)),
        CompositeOffsetJson.writePositions(at),
        decided.continued.get(c.cluster).toSeq.flatMap(_.notes).map("; " + _).mkString
      )
    }
  }

  /** An address that leads to several Kafka clusters would let the query change between them with each answer. */
  private def refuseAlternating(cluster: ReplacedCluster): Unit = {
    val more = Iterator.continually(kafkaId(cluster.cluster)).take(Answers).flatten.toSet
    val others = more - cluster.found
    if (others.nonEmpty || ids.alternates(cluster, clock.monotonicMs()))
      throw refused(
        cluster,
        s"its cluster.id alternates between answers (${(others + cluster.found + cluster.known).toSeq.sorted.mkString(", ")}), " +
          "so its address leads to several Kafka clusters, for example through a proxy"
      )
  }
}

private[source] object ReplacedClusters {
  private val log = LoggerFactory.getLogger(classOf[ReplacedClusters])

  private val Answers = 3

  def apply(
      policy: ReplacedClusterPolicy,
      streams: ClusterStreams,
      lastRecords: ReadBefore,
      clock: Clock
  ): ReplacedClusters =
    new ReplacedClusters(policy, Replacements(policy, streams), lastRecords, kafkaId(streams, _), clock)

  private def kafkaId(streams: ClusterStreams, id: String): Option[String] =
    streams.identities(Map(id -> Set.empty)).get(id).flatMap(_.toOption).flatMap(_.kafkaId)

  val Unknown = "the offsets in the checkpoint do not apply to it"

  def refused(cluster: ReplacedCluster, reason: String): Errors.Runtime =
    Errors.clusterReplaced(cluster.cluster, cluster.known, cluster.found, reason)

  /** Also of topics that were removed, or return in this trigger. */
  private def positionsOf(start: CompositeOffset, id: String): Positions =
    start.retained.get(id).fold(Positions.empty)(_.positions) ++ start.position(id)

  /** Otherwise it keeps its positions until all of its partitions have answered. */
  private def isContinued(next: NextOffset, cluster: ReplacedCluster): Boolean =
    next.identities.get(cluster.cluster).exists(_.kafkaId.contains(cluster.found))
}

/** Which Kafka clusters were replaced in a run of a query, oldest first, with monotonic milliseconds. Immutable. */
private[dynamickafka] final case class ReplacedIds(all: Vector[(ReplacedCluster, Long)]) {

  def replaced(cluster: ReplacedCluster, now: Long): ReplacedIds =
    ReplacedIds(recent(now) :+ (cluster -> now))

  /**
   * Whether the query has changed to this Kafka cluster and back to the other one, both a short time ago: a failover and the way
   * back are two changes.
   */
  def alternates(cluster: ReplacedCluster, now: Long): Boolean = {
    def has(known: String, found: String) = recent(now).exists { case (c, _) =>
      c.cluster == cluster.cluster && c.known == known && c.found == found
    }
    has(cluster.known, cluster.found) && has(cluster.found, cluster.known)
  }

  private def recent(now: Long) = all.filter { case (_, at) => now - at < ReplacedIds.ShortMs }
}

private[dynamickafka] object ReplacedIds {
  val none: ReplacedIds = ReplacedIds(Vector.empty)
  private val ShortMs = 600000L
}

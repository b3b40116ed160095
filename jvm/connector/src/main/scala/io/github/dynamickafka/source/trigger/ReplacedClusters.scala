package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.offset.replacement.Replacement
import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  Continuation,
  NextOffset,
  Positions,
  ReplacedCluster,
  Transition
}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterReads, ClusterStream, ClusterStreams}

/**
 * Where a trigger continues in clusters that replace others.
 *
 * @param views the responses of the clusters; pending where a cluster does not respond meanwhile
 * @param continued positions in these clusters, by cluster id
 */
private[dynamickafka] final case class DecidedReplacements(
    views: Map[String, ClusterView],
    continued: Map[String, Continuation]
)

/**
 * Kafka clusters that take the place of others: whether and where the query continues in them. What a trigger finds here is
 * decided once its offset is logged, which has the positions and Kafka's new id. Used only by the thread of the query.
 */
private[source] final class ReplacedClusters(
    policy: ReplacedClusterPolicy,
    replacements: Replacements,
    lastRecords: ReadBefore,
    clusters: ClusterReads,
    clock: Clock
) {
  import ReplacedClusters._

  private var ids = ReplacedIds.none

  /**
   * Asks the clusters, all at once, and not longer than for other requests. Changes nothing.
   *
   * @return None if no cluster replaces another one
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`
   */
  def decide(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] = {
    val continuing =
      next.replaced.map(c => Asked(c, continues = true, continued(c, start, transition, views)))
    val asked = (continuing ++ returning(transition, views, next)).map(a => a -> a.of.map(replacements(_)))
    val reads = asked.collect {
      case (of, Some(Right(read))) => of -> Some(read)
      case (of, _) if of.isWhole => of -> None
    }
    val read = clusters.read(reads.groupMap(_._1.id)(identity).map { case (id, all) =>
      id -> ((config: ClusterConfig) => all.collect { case (of, Some(read)) => of -> read(config) }.toMap)
    })
    val found = asked.map { case (of, question) =>
      val answer = read.get(of.id).flatten
      if (of.isWhole) refuseAlternating(of.cluster, answer.fold(Set.empty[String])(_._1))
      if (policy == ReplacedClusterPolicy.Fail) throw refused(of.cluster, Unknown)
      of -> question.map {
        case Left(decision) => Some(decision)
        case Right(_) => answer.map(_._2(of))
      }.map(_.map(_.fold(reason => throw refused(of.cluster, reason), identity)))
    }
    val silent = found.collect { case (of, Some(None)) => of.id }
    Option.when(next.replaced.nonEmpty || silent.nonEmpty)(DecidedReplacements(
      // A cluster that does not respond meanwhile keeps its positions.
      views ++ silent.map(_ -> ClusterView.Pending),
      found.collect { case (of, Some(Some(where))) if of.continues => of.id -> where }
        .groupMapReduce(_._1)(_._2)(_ ++ _)
    ))
  }

  /** What continues in a cluster; None if what the policy means is known without it. */
  private def continued(
      cluster: ReplacedCluster,
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView]
  ): Option[Replacement] = views.get(cluster.cluster).filter(_ => policy.continues).collect {
    case view: ClusterView.Reachable if view.unanswered.isEmpty || cluster.of.isDefined =>
      val positions = cluster.positions(start)
      Replacement(
        cluster,
        cluster.former,
        positions,
        lastRecords.of(cluster.former, positions),
        lastRecords.lastBatchMs,
        transition.clusters.get(cluster.cluster).fold(Set.empty[String])(topics(_, cluster)),
        view
      )
  }

  /** The topics that may continue: the others of a cluster that is read already have positions of their own. */
  private def topics(work: ClusterTransition, cluster: ReplacedCluster): Set[String] =
    if (cluster.of.isEmpty) work.topics else work.returning.topics ++ work.entering.keySet

  /**
   * Topics that return to positions of the same Kafka cluster, which are checked with `same-offsets`: its log may have been cut and
   * filled again meanwhile, with the same ids.
   */
  private def returning(
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Seq[Asked] =
    if (policy != ReplacedClusterPolicy.SameOffsets) Nil
    else for {
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
      // The Kafka cluster and the topics are known, whatever the clocks of producers are.
      read = lastRecords.of(id, positions)
      of = Replacement(cluster, id, positions, read, lastBatchMs = 0L, positions.topics, view)
    } yield Asked(cluster, continues = false, Some(of))

  /** Logs what this trigger continues with. */
  def logDecided(
      start: CompositeOffset,
      next: NextOffset
  ): Unit = next.replaced.filter(isContinued(next, _)).foreach { c =>
    if (c.of.isEmpty) ids = ids.replaced(c, clock.monotonicMs())
    // A copy of this cluster is compared with the former records, although nothing may be read here before.
    if (policy == ReplacedClusterPolicy.SameOffsets && c.former != c.cluster)
      lastRecords.continued(c.former, c.cluster, c.positions(start))
    log.warn(
      "Cluster '{}' {} (cluster.id {} instead of {}); the query continues with it because 'replacedClusterPolicy' " +
        "is set: former offsets {}, new offsets {}{}",
      c.cluster,
      if (c.former == c.cluster) "is another Kafka cluster than before"
      else s"replaces cluster '${c.former}'",
      c.found,
      c.known,
      CompositeOffsetJson.writePositions(c.positions(start)),
      CompositeOffsetJson.writePositions(Positions.from(next.spans.iterator.filter(s =>
        s.cluster == c.cluster && s.enters
      ).map(s => (s.topic, s.partition, s.from)))),
      c.continued.toSeq.flatMap(_.notes).map("; " + _).mkString
    )
  }

  /**
   * An address that leads to several Kafka clusters would let the query change between them with each answer.
   *
   * @param answers the ids of the cluster in a few more answers
   */
  private def refuseAlternating(cluster: ReplacedCluster, answers: Set[String]): Unit = {
    val others = answers - cluster.found
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

  /**
   * @param continues whether the positions are those of another Kafka cluster
   * @param of what has to be known, unless the policy says it
   */
  private final case class Asked(cluster: ReplacedCluster, continues: Boolean, of: Option[Replacement]) {
    def id: String = cluster.cluster

    /** Whether the id leads to another Kafka cluster. */
    def isWhole: Boolean = continues && cluster.of.isEmpty
  }

  val Unknown = "the offsets in the checkpoint do not apply to it"

  def refused(cluster: ReplacedCluster, reason: String): Errors.Runtime =
    Errors.clusterReplaced(cluster.cluster, cluster.known, cluster.found, reason)

  /** Whether the query continues in the cluster now. If not, it keeps its positions until all partitions have answered. */
  private def isContinued(next: NextOffset, cluster: ReplacedCluster): Boolean =
    next.rest.identities.get(cluster.cluster).exists(_.kafkaId.contains(cluster.found))
}

/** The Kafka clusters that were replaced in a run of a query, oldest first, with monotonic milliseconds. Immutable. */
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

/**
 * Where a query that does not run would continue in clusters that take the place of others, by the code of a trigger. Nothing is
 * logged or stored. Blocks.
 */
private[dynamickafka] object PlannedReplacements {

  /**
   * @param configs of the clusters of the transition
   * @throws DynamicKafkaRuntimeException `CLUSTER_REPLACED`, `CLUSTER_UNREACHABLE` and others that fail the query
   */
  def decide(
      policy: ReplacedClusterPolicy,
      checkpoint: SourceCheckpoint,
      configs: Map[String, ClusterConfig],
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] = {
    val clock = Clock.System
    val streams = new ClusterStreams(
      new ClusterStream(_, _, clock),
      skipUnreachable = false,
      failureTimeoutMs = -1L,
      clock
    )
    try {
      streams.set(configs)
      val lastRecords = new LastRecords(checkpoint, (_, _) => None)
      new ReplacedClusters(policy, new Replacements(policy), lastRecords, streams, clock)
        .decide(start, transition, views, next)
    } finally streams.close()
  }
}

package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{OffsetsPolicy, Topology, TopologyTopic}
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  Continuation,
  HandOver,
  Loss,
  NextOffset,
  Positions,
  Reconcile,
  RenamedTopic,
  Transition
}
import io.github.dynamickafka.source.checkpoint.{DecidedEntries, InitialOffset, MigratedPositions}
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs, ClusterQuestion}

/** Sends the requests of a trigger to the clusters. Used only by the thread of the query. */
private[source] final class TriggerPlanner(state: QueryState, replaced: ReplacedClusters) {
  import state._

  private val log = LoggerFactory.getLogger(classOf[TriggerPlanner])

  // Kept in memory and not in the checkpoint, because properties may contain secrets.
  private var lastProperties = Map.empty[String, Map[String, String]]
  private val patterns = new TopicPatterns(options.metadata.discovery.intervalMs, streams, clock)
  private var loggedWaiting = Set.empty[(String, String)]
  private var replacing = Map.empty[String, String]
  private var loggedReplacing = Map.empty[String, String]
  private var last: Option[TriggerPlanner.Last] = None

  /** Topics that the metadata lack, and that are read under another cluster id, as [[DuplicateClusters.yielding]]. */
  private var yielding = Set.empty[(String, String)]

  /** The parameters are those of [[TriggerContext]]. */
  def next(
      start: CompositeOffset,
      origin: TriggerContext.Origin,
      complete: Boolean = false,
      pinned: Option[Map[String, ClusterView]] = None
  ): TriggerSnapshot = snapshot(begin(start, origin, complete, pinned))

  /** Only here a trigger finds out which topology is the newest. */
  private def begin(
      start: CompositeOffset,
      origin: TriggerContext.Origin,
      complete: Boolean,
      pinned: Option[Map[String, ClusterView]]
  ): TriggerContext = {
    val newest = feed.current()
    val now = clock.currentTimeMillis()
    val found = ReplacingClusters(start, newest, options.changes.drainRemoved, now)
    replacing = found.waiting
    val trigger = TriggerContext.begin(
      found.start,
      found.topology,
      configs,
      now,
      origin,
      complete,
      pinned
    )
    origin match {
      case TriggerContext.FirstStart(_) => trigger.configs.ofTopology.checkFirst(found.topology)
      case TriggerContext.Started(None, _) => checkMigrated(start, newest)
      case TriggerContext.Started(_, _) => ()
    }
    trigger
  }

  /** A checkpoint with positions, and nothing that this source stores before its first batch. */
  private def checkMigrated(start: CompositeOffset, newest: Topology): Unit =
    if (checkpoint.topology.isEmpty) {
      MigratedPositions(start, newest).check()
      log.info(
        "The checkpoint was migrated, and does not have the cluster.id of Kafka: its positions are taken to be those of the Kafka clusters {}",
        start.clusters.keys.map(id =>
          s"'$id' (${newest.clusters.get(id).fold("")(_.bootstrapServers)})"
        ).mkString(", ")
      )
    }

  @annotation.tailrec
  private def snapshot(trigger: TriggerContext): TriggerSnapshot = expand(trigger, listed = Set.empty) match {
    case Some(found) => found
    // An unreachable cluster has moved or left meanwhile, or a topic yields to another cluster id: another trigger begins.
    case None => snapshot(begin(trigger.start, trigger.origin, trigger.complete, trigger.pinned))
  }

  /**
   * @param listed clusters whose topics are listed in this trigger in any case
   * @return None if a cluster that did not respond has moved or left meanwhile, or a topic yields to another cluster id
   */
  @annotation.tailrec
  private def expand(trigger: TriggerContext, listed: Set[String]): Option[TriggerSnapshot] = {
    val found = patterns.expand(
      trigger.topology,
      trigger.start,
      cluster => trigger.configs.ofTopology(cluster.id, cluster.properties),
      trigger.pinned.isDefined,
      hasMoved(trigger, _),
      listed
    ).flatMap { case (topology, unlisted) =>
      yielding = DuplicateClusters.stillYielding(yielding, topology, trigger.start)
      ask(trigger, topology.without(yielding), unlisted)
    }
    val outdated = found.filter(_ => trigger.pinned.isEmpty).fold(Set.empty[String])(snapshot =>
      patterns.outdated(snapshot.topology, TriggerPlanner.missing(snapshot.views)) -- listed
    )
    if (outdated.isEmpty) found else expand(trigger, listed ++ outdated)
  }

  private def hasMoved(trigger: TriggerContext, clusters: Set[String]): Boolean =
    clusters.nonEmpty &&
      feed.newest.exists(newest => clusters.exists(TriggerPlanner.moved(trigger.topology, newest)))

  /** @param unlisted clusters whose topics have never been listed successfully */
  private def ask(
      trigger: TriggerContext,
      topology: Topology,
      unlisted: Set[String]
  ): Option[TriggerSnapshot] = {
    val before =
      last.filter(l =>
        trigger.pinned.isEmpty && !trigger.complete && l.isOf(trigger.start, topology, unlisted)
      )
    val transition = before.fold(trigger.transition(options, topology))(
      _.snapshot.transition.copy(now = trigger.now)
    )
    if (before.isEmpty) streams.set(configsOf(trigger, transition, topology))
    val questions = before.fold(questionsOf(trigger, transition, topology))(_.questions)
    answersTo(questions, trigger, transition, topology).flatMap { answers =>
      val found =
        if (unlisted.isEmpty) answers
        else answers ++ unlisted.diff(answers.keySet).map(_ -> ClusterView.Unreachable)
      before.filter(_.isSettled(found)).map(l => Some(l.snapshot)).getOrElse {
        val more =
          if (options.changes.allowDuplicates) Set.empty[(String, String)]
          else DuplicateClusters.yielding(topology, trigger.start, transition, found)
        yielding ++= more
        val decided =
          if (more.isEmpty) confirmed(trigger, transition, questions, found) else None
        decided.map { case (found, unresolved) =>
          if (!options.changes.allowDuplicates) DuplicateClusters.refuse(transition, found)
          val (views, next) = continued(trigger, transition, found, unresolved)
          logWaiting(next.waiting)
          logReplacing(views)
          logRenamed(next.renamed)
          val snapshot = TriggerSnapshot(trigger, topology, transition, views, next)
          last = Some(TriggerPlanner.Last(unlisted, questions, snapshot, isTimed(trigger.start)))
          snapshot
        }
      }
    }
  }

  /** A pinned response applies to its logs only: a cluster whose address has changed since is asked whether it has them. */
  private def answersTo(
      questions: Map[String, ClusterQuestion],
      trigger: TriggerContext,
      transition: Transition,
      topology: Topology
  ): Option[Map[String, ClusterView]] =
    // Without a retention, what enters may be a topic that leaves under another cluster id, and is forgotten in this trigger.
    trigger.pinned.fold(streams.ask(questions, hasMoved(trigger, _), beside = transition.retains)) { pinned =>
      val moved = last.map(_.snapshot.topology).fold(Set.empty[String])(TriggerPlanner.moved(_, topology))
      val asked = questions.filter { case (id, _) => moved(id) }
      if (asked.isEmpty) Some(pinned)
      else streams.ask(asked, hasMoved(trigger, _)).map(TriggerPlanner.followed(pinned, _))
    }

  /** Whether the effect of a topology on these positions changes with time: a retention expires. */
  private def isTimed(start: CompositeOffset): Boolean =
    options.changes.retentionMs >= 0 && start.retained.nonEmpty

  /**
   * The responses that decide, and what they mean. A response that was requested before this trigger decides nothing for
   * good: it is requested again. If a topic has another id, the cluster's id is asked for again: otherwise only its topics show
   * that a cluster was replaced behind its address.
   */
  private def confirmed(
      trigger: TriggerContext,
      transition: Transition,
      questions: Map[String, ClusterQuestion],
      found: Map[String, ClusterView]
  ): Option[(Map[String, ClusterView], NextOffset)] = {
    val next = nextOf(transition, trigger, found)
    val unconfirmed =
      if (trigger.pinned.isDefined) Set.empty[String]
      else UnconfirmedClusters(transition, next).intersect(streams.times.earlier)
    val again =
      if (unconfirmed.isEmpty) Some((found, next))
      else
        streams.askAfterwards(
          questions.filter { case (id, _) => unconfirmed(id) },
          hasMoved(trigger, _)
        ).map {
          answers =>
            val views = found ++ answers
            (views, nextOf(transition, trigger, views))
        }
    again.map { case (views, next) =>
      // What was requested afterwards says which Kafka cluster it is.
      val recreated =
        next.losses.collect { case loss: Loss.TopicRecreated => loss.cluster }.toSet -- unconfirmed
      if (recreated.isEmpty || trigger.pinned.isDefined) (views, next)
      else {
        val identified = identify(views, recreated)
        (identified, nextOf(transition, trigger, identified))
      }
    }
  }

  private def nextOf(
      transition: Transition,
      trigger: TriggerContext,
      views: Map[String, ClusterView],
      continued: Map[String, Continuation] = Map.empty
  ): NextOffset =
    trigger.decided.losses(
      views,
      NextOffset(
        trigger.start,
        transition,
        trigger.decided.in(views),
        options.changes.replaced,
        losses.isLost(_, trigger.now),
        continued ++ trigger.decided.continued(views)
      )
    )

  private def identify(views: Map[String, ClusterView], clusters: Set[String]): Map[String, ClusterView] = {
    val ids = streams.identities(clusters.map(_ -> Set.empty[String]).toMap)
      .collect { case (id, Right(ClusterIdentity(Some(kafkaId), _, _, _))) => id -> kafkaId }
    views.map {
      case (id, view: ClusterView.Reachable) => id -> view.in(ids.get(id).orElse(view.kafkaId))
      case other => other
    }
  }

  /** Adds the positions in clusters that take the place of others. */
  private def continued(
      trigger: TriggerContext,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): (Map[String, ClusterView], NextOffset) =
    replaced.decide(trigger.start, transition, views, next).fold((views, next)) { found =>
      val decided = nextOf(transition, trigger, found.views, found.continued)
      replaced.logDecided(trigger.start, decided)
      (found.views, decided)
    }

  private def logRenamed(topics: Seq[RenamedTopic]): Unit = topics.foreach { r =>
    log.info(
      "Cluster '{}' is the Kafka cluster that was cluster '{}': topic '{}' continues at its retained offsets",
      r.cluster,
      r.former,
      r.topic
    )
  }

  /**
   * Clusters that have left the topology but must still be read use the last known properties of the metadata or, after
   * a restart, the properties in the checkpoint.
   */
  private def configsOf(
      trigger: TriggerContext,
      transition: Transition,
      topology: Topology
  ): Map[String, ClusterConfig] = {
    // A cluster with patterns must be open to list its topics, even if none matches.
    val open = transition.clusters.keySet ++ topology.clusters.collect {
      case (id, c) if c.patterns.nonEmpty => id
    }
    val properties = open.iterator.map { id =>
      val known = topology.clusters.get(id).map(_.properties).orElse(lastProperties.get(id))
        .orElse(checkpoint.cluster(id).map(_.properties))
      id -> known.getOrElse(
        throw Errors.invalidOffset(s"cluster '$id' is neither in the metadata nor in the checkpoint")
      )
    }
    lastProperties = properties.toMap
    lastProperties.map { case (id, p) => id -> trigger.configs.all(id, p) }
  }

  private def questionsOf(
      trigger: TriggerContext,
      transition: Transition,
      topology: Topology
  ): Map[String, ClusterQuestion] = {
    val former = last.map(_.snapshot.topology)
    transition.clusters.map { case (id, work) =>
      val isChanged = former.exists(f => (f ne topology) && f.clusters.get(id) != topology.clusters.get(id))
      id -> TriggerPlanner.question(work, trigger.complete, afterwards = isChanged)
    }
  }

  /** A cluster that is lost, and not removed explicitly, is waited for as long as another one that does not respond. */
  private def logReplacing(views: Map[String, ClusterView]): Unit = {
    val silent = replacing.filter { case (_, former) => views.get(former).contains(ClusterView.Unreachable) }
    (silent.toSet -- loggedReplacing).foreach { case (id, former) =>
      log.warn(
        "Cluster '{}' is not read before cluster '{}', which it replaces, is read to its end, and '{}' does not respond. If it is lost, " +
          "set its 'state' in the metadata to 'removed': then '{}' is read where 'replacedClusterPolicy' says",
        id,
        former,
        former,
        id
      )
    }
    loggedReplacing = silent
  }

  private def logWaiting(waiting: Seq[(String, String)]): Unit = {
    (waiting.toSet -- loggedWaiting).toSeq.sorted.foreach { case (id, topic) =>
      log.warn(
        "Kafka cluster '{}' has no topic '{}', which is in the metadata; it is read once it exists",
        id,
        topic
      )
    }
    loggedWaiting = waiting.toSet
  }
}

private[dynamickafka] object TriggerPlanner {

  /**
   * What the last trigger used and found.
   *
   * @param isTimed whether the same state would be another one later
   */
  private final case class Last(
      unlisted: Set[String],
      questions: Map[String, ClusterQuestion],
      snapshot: TriggerSnapshot,
      isTimed: Boolean
  ) {
    def isOf(start: CompositeOffset, topology: Topology, unlisted: Set[String]): Boolean =
      !isTimed && (snapshot.trigger.start eq start) && (snapshot.topology eq topology) &&
        this.unlisted == unlisted &&
        // These have to be asked for, and decided, in each trigger.
        UnconfirmedClusters(snapshot.transition, snapshot.next).isEmpty &&
        questions.valuesIterator.forall(!_.isAfterwards)

    /** Whether the responses are the same objects, so that they mean the same. */
    def isSettled(views: Map[String, ClusterView]): Boolean = (views eq snapshot.views) ||
      views.size == snapshot.views.size && views.forall { case (id, view) =>
        snapshot.views.get(id).exists(_ eq view)
      }
  }

  /** The clusters that have other properties than in a former topology, or are in one of both only. */
  def moved(former: Topology, topology: Topology): Set[String] =
    (former.clusters.keySet ++ topology.clusters.keySet).filter(id =>
      former.clusters.get(id).map(_.properties) != topology.clusters.get(id).map(_.properties)
    ).toSet

  /**
   * The responses of a run with `AvailableNow`: the pinned ones apply to their logs only.
   *
   * @param now the responses of clusters that have moved since
   */
  def followed(pinned: Map[String, ClusterView], now: Map[String, ClusterView]): Map[String, ClusterView] =
    pinned ++ now.filterNot { case (id, view) =>
      (pinned.get(id), view) match {
        case (Some(before: ClusterView.Reachable), here: ClusterView.Reachable) => here.continues(before)
        case _ => false
      }
    }

  /** @param afterwards whether the metadata of the cluster have changed */
  def question(
      work: ClusterTransition,
      complete: Boolean,
      afterwards: Boolean
  ): ClusterQuestion = ClusterQuestion(
    work.topics,
    work.staying ++ work.returning,
    work.entering,
    work.ending,
    work.only,
    complete,
    if (afterwards || work.newlyDraining.nonEmpty) ClusterQuestion.Afterwards else ClusterQuestion.InTrigger
  )

  private def missing(views: Map[String, ClusterView]): Map[String, Set[String]] =
    views.collect { case (id, view: ClusterView.Reachable) if view.missing.nonEmpty => id -> view.missing }
}

/**
 * The clusters about which a trigger would decide something for good that an older response might have wrong: records or
 * topics that are lost, another Kafka cluster, other drain targets. Pure.
 */
private[source] object UnconfirmedClusters {
  def apply(transition: Transition, next: NextOffset): Set[String] = {
    val targets = transition.clusters.collect {
      case (id, work) if work.targets != next.rest.draining.getOrElse(id, Positions.empty) => id
    }
    targets.toSet ++ next.losses.iterator.map(_.cluster) ++ next.replaced.iterator.map(_.cluster) ++
      next.renamed.iterator.map(_.cluster)
  }
}

/**
 * The state of all clusters in a trigger: the effect of the topology on the positions, and the offsets in Kafka.
 *
 * @param topology the topology of the trigger, with the topics that match patterns
 * @param views the responses of the clusters
 */
private[source] final case class TriggerSnapshot(
    trigger: TriggerContext,
    topology: Topology,
    transition: Transition,
    views: Map[String, ClusterView],
    next: NextOffset
) {

  /** The offset before the first record that the trigger can read. */
  def position: CompositeOffset = next.start.withoutEntries

  /** The topics, by cluster, that have partitions without an answer. */
  def unansweredTopics: Map[String, Set[String]] = views.collect {
    case (id, view: ClusterView.Reachable) if view.unanswered.nonEmpty =>
      id -> view.unanswered.keySet.map(_._1)
  }
}

/** Refuses to read a topic twice through two cluster ids of one Kafka cluster. Pure. */
private[source] object DuplicateClusters {

  /**
   * The topics, (cluster id, name), that yield to the same topic under another id of the same Kafka cluster, because the last answer
   * of the service lacks them: their removal is not confirmed, or they drain. If it has the topic under no id, the one that is
   * read stays.
   */
  def yielding(
      topology: Topology,
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView]
  ): Set[(String, String)] = {
    val found = kafkaIdsOf(views)
    // Known positions are about the Kafka cluster that they were read from.
    def kafkaId(id: String) =
      Option.when(start.position(id).nonEmpty)(start.identity(id).kafkaId).flatten.orElse(found.get(id))
    val all = for {
      (id, work) <- transition.clusters.toSeq
      known <- kafkaId(id).toSeq
      topic <- work.topics
    } yield (known, topic) -> id
    all.groupMap(_._1)(_._2).iterator.filter(_._2.size > 1).flatMap { case ((_, topic), ids) =>
      val named = ids.filter(topology.names(_, topic))
      val stays =
        if (named.nonEmpty) named
        else ids.filter(start.position(_).topics(topic)).headOption.orElse(ids.headOption).toSeq
      ids.diff(stays).map(_ -> topic)
    }.toSet
  }

  /** The topics, of these, that would still be read. */
  def stillYielding(
      topics: Set[(String, String)],
      topology: Topology,
      start: CompositeOffset
  ): Set[(String, String)] = topics.filter { case (id, topic) =>
    !topology.names(id, topic) &&
    (topology.clusters.get(id).exists(_.topics.contains(topic)) || start.position(id).topics(topic))
  }

  /** @throws DynamicKafkaRuntimeException `DUPLICATE_CLUSTER` */
  def refuse(transition: Transition, views: Map[String, ClusterView]): Unit =
    kafkaIdsOf(
      views
    ).toSeq.filter { case (id, _) => transition.clusters.contains(id) }.groupMap(_._2)(_._1).foreach {
      case (kafkaId, ids) =>
        val byTopic =
          ids.sorted.flatMap(id => transition.clusters(id).topics.map(_ -> id)).groupMap(_._1)(_._2)
        byTopic.valuesIterator.find(_.size > 1).foreach { both =>
          val shared =
            byTopic.collect { case (topic, readers) if both.take(2).forall(readers.contains) => topic }
          throw Errors.duplicateCluster(both(0), both(1), kafkaId, shared.toSeq)
        }
    }

  private def kafkaIdsOf(views: Map[String, ClusterView]): Map[String, String] = views.flatMap {
    case (id, view: ClusterView.Reachable) => view.kafkaId.map(id -> _)
    case _ => None
  }
}

/**
 * What a trigger decides with. Created once, when the trigger begins, and passed down: a topology that the metadata service
 * returns meanwhile is that of the next trigger.
 *
 * @param start the positions that the query has reached
 * @param topology the newest one, without the topics that match patterns
 * @param configs of the clusters of the topology, and of those that are read
 * @param now epoch milliseconds
 * @param origin how the query has started
 * @param complete see [[io.github.dynamickafka.source.cluster.ClusterQuestion]]
 * @param pinned responses to use instead of new requests
 */
private[dynamickafka] final case class TriggerContext(
    start: CompositeOffset,
    topology: Topology,
    configs: TriggerContext.Configs,
    now: Long,
    origin: TriggerContext.Origin,
    complete: Boolean,
    pinned: Option[Map[String, ClusterView]]
) {

  /** Where topics enter, as an earlier run has decided. */
  def decided: DecidedEntries = origin match {
    case TriggerContext.FirstStart(_) => DecidedEntries.none
    case TriggerContext.Started(_, decided) => decided
  }

  /** This context at the positions that are reached now; None at the first start, and with pinned responses. */
  def readFurther(reached: CompositeOffset, now: Long, decided: DecidedEntries): Option[TriggerContext] =
    origin match {
      case started: TriggerContext.Started if pinned.isEmpty =>
        Some(copy(start = reached, now = now, origin = started.copy(decided = decided)))
      case _ => None
    }

  /** @param expanded the topology with the topics that match patterns */
  def transition(options: SourceOptions, expanded: Topology): Transition = {
    val rules = Reconcile.Rules(
      options.changes.retentionMs,
      options.changes.drainRemoved,
      entry,
      configs.all.ending(_, _),
      startsOnce,
      configs.ofTopology.entering(_, _, _, unresolvedAtStart = false)
    )
    Reconcile(start, expanded, now, rules)
  }

  private def startsOnce(id: String, name: String): Boolean = origin match {
    case TriggerContext.Started(Some(i), _) =>
      i.unresolved(id) || i.isUnresolved(id, name) || i.handOver.has(id, name)
    case _ => false
  }

  /** The start position of a topic without a position, if it has not been read. */
  private def entry(
      id: String,
      name: String,
      topic: TopologyTopic,
      clusterIsKnown: Boolean
  ): OffsetsPolicy = origin match {
    case TriggerContext.FirstStart(handOver) =>
      handOver.start(id, name, configs.ofTopology.starting(id, topic))
    case TriggerContext.Started(initial, _) =>
      val isUnresolved = initial.exists(_.isUnresolved(id, name))
      val policy = configs.ofTopology.entering(
        id,
        topic,
        clusterIsKnown && !isUnresolved,
        isUnresolved || initial.exists(_.unresolved(id))
      )
      // Also a topic that enters long after the first start follows on its history.
      initial.fold(policy)(_.handOver.start(id, name, policy))
  }
}

private[dynamickafka] object TriggerContext {

  /** @param all with the clusters that are read although they have left the topology */
  final case class Configs(ofTopology: ClusterConfigs, all: ClusterConfigs)

  sealed trait Origin

  /**
   * The trigger determines the start offset of batch 0.
   *
   * @param handOver where Kafka follows on histories
   */
  final case class FirstStart(handOver: HandOver) extends Origin

  /**
   * @param initial how the start offset of batch 0 was determined, if the checkpoint has it
   * @param decided where topics enter, as an earlier run has decided
   */
  final case class Started(initial: Option[InitialOffset], decided: DecidedEntries = DecidedEntries.none)
      extends Origin

  def begin(
      start: CompositeOffset,
      topology: Topology,
      configs: ClusterConfigs.ByScope,
      now: Long,
      origin: Origin,
      complete: Boolean = false,
      pinned: Option[Map[String, ClusterView]] = None
  ): TriggerContext = {
    val ids = topology.clusters.keySet.toSet
    TriggerContext(
      start,
      topology,
      Configs(configs(ids), configs(ids ++ start.clusters.keySet)),
      now,
      origin,
      complete,
      pinned
    )
  }
}

package io.github.dynamickafka.source.trigger

import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  Loss,
  NextOffset,
  Reconcile,
  RenamedTopic,
  ReplacedCluster,
  Transition
}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint
import io.github.dynamickafka.source.cluster.{ClusterConfig, ClusterConfigs, ClusterQuestion, ClusterStreams}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.{OffsetsPolicy, ReplacedClusterPolicy, Topology, TopologyTopic}

/** Sends the requests of a trigger to the clusters. Used only by the thread of the query. */
private[source] final class TriggerPlanner(
    options: SourceOptions,
    configs: ClusterConfigs.ByScope,
    streams: ClusterStreams,
    feed: TopologyFeed,
    memory: SourceCheckpoint,
    losses: LossPolicy,
    clock: Clock
) {
  private val log = LoggerFactory.getLogger(classOf[TriggerPlanner])

  // Kept in memory and not in the checkpoint, because properties may contain secrets.
  private var lastKnown = Map.empty[String, Map[String, String]]
  private val patterns = new TopicPatterns(options.discovery.intervalMs, streams, clock)
  private var toldWaiting = Set.empty[(String, String)]
  private var last: Option[TriggerPlanner.Last] = None

  /** Topics that the metadata lack, and that are read under another cluster id, as [[DuplicateClusters.yielding]]. */
  private var yielding = Set.empty[(String, String)]

  /**
   * @param entry returns the start position of a topic without a position, given the cluster id, the name and metadata of
   *              the topic, and whether other topics of the cluster are already known
   * @param pinned responses to use instead of new requests
   * @param complete see [[ClusterQuestion]]
   */
  def look(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean
  ): TriggerSnapshot = look(start, entry, pinned, complete, listed = Set.empty)

  /** @param listed clusters whose topics are listed in this trigger in any case */
  @annotation.tailrec
  private def look(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean,
      listed: Set[String]
  ): TriggerSnapshot = {
    val asked = feed.current()
    val ids = asked.clusters.keySet.toSet
    val moved: Set[String] => Boolean =
      _.exists(id => feed.newest.exists(propertiesOf(_, id) != propertiesOf(asked, id)))
    val resolved = configs(ids)
    val expanded =
      patterns.expand(asked, start, c => resolved(c.id, c.properties), pinned.isDefined, moved, listed)
    expanded.flatMap { case (topology, unlisted) =>
      yielding = DuplicateClusters.stillYielding(yielding, topology, start)
      lookAt(start, entry, pinned, complete, topology.without(yielding), unlisted, moved)
    } match {
      // An unreachable cluster has moved or left meanwhile, or a topic yields to another cluster id: start again.
      case None => look(start, entry, pinned, complete, listed)
      case Some(found) =>
        val outdated =
          if (pinned.isDefined) Set.empty[String]
          else patterns.outdated(found.topology, TriggerPlanner.missing(found.views)) -- listed
        if (outdated.isEmpty) found else look(start, entry, pinned, complete, listed ++ outdated)
    }
  }

  /** None if a cluster that did not respond has moved or left meanwhile, or a topic yields to another cluster id. */
  private def lookAt(
      start: CompositeOffset,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      pinned: Option[Map[String, ClusterView]],
      complete: Boolean,
      topology: Topology,
      unlisted: Set[String],
      moved: Set[String] => Boolean
  ): Option[TriggerSnapshot] = {
    val before = last.filter(l => pinned.isEmpty && !complete && l.isOf(start, topology, unlisted))
    val transition = before.fold(reconcile(start, topology, entry))(
      _.look.transition.copy(now = clock.currentTimeMillis())
    )
    if (before.isEmpty) streams.set(configsOf(transition, topology))
    val questions = before.fold(questionsOf(transition, topology, complete))(_.questions)
    val views = pinned.orElse(streams.ask(questions, moved))
    views.flatMap { answers =>
      val found =
        if (unlisted.isEmpty) answers
        else answers ++ unlisted.diff(answers.keySet).map(_ -> ClusterView.Unreachable)
      before.filter(_.isSettled(found)).map(l => Some(l.look)).getOrElse {
        val next = nextOf(start, transition, found)
        val more =
          if (options.allowDuplicateClusters) Set.empty[(String, String)]
          else DuplicateClusters.yielding(topology, start, transition, found)
        yielding ++= more
        val sure = if (more.nonEmpty) None
        else if (pinned.isDefined) Some((found, next))
        else certain(start, transition, questions, found, next, moved)
        sure.map { case (views, advance) =>
          if (!options.allowDuplicateClusters) DuplicateClusters.refuse(transition, views)
          replaced(start, advance.replaced)
          tellWaiting(advance.waiting)
          tellRenamed(advance.renamed)
          val look = TriggerSnapshot(topology, transition, views, advance)
          last = Some(TriggerPlanner.Last(start, unlisted, questions, look, isTimed(start)))
          look
        }
      }
    }
  }

  private def reconcile(
      start: CompositeOffset,
      topology: Topology,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy
  ): Transition = {
    val ofTopology = configs(topology.clusters.keySet.toSet)
    val rules = Reconcile.Rules(
      options.removedClusterRetentionMs,
      options.drainRemovedClusters,
      entry,
      (id, topic) => ofTopology.ending(id, topic)
    )
    Reconcile(start, topology, clock.currentTimeMillis(), rules)
  }

  /** Whether the effect of a topology on these positions changes with time: a retention expires. */
  private def isTimed(start: CompositeOffset): Boolean =
    options.removedClusterRetentionMs >= 0 && start.retained.nonEmpty

  /**
   * The responses that decide, and what they mean. A response that was requested before this trigger decides nothing for
   * good: it is requested again. Which Kafka cluster it is, is asked again where a topic has another id: a cluster that was
   * replaced behind its address while the query runs is otherwise recognized by its topics only.
   */
  private def certain(
      start: CompositeOffset,
      transition: Transition,
      questions: Map[String, ClusterQuestion],
      found: Map[String, ClusterView],
      next: NextOffset,
      moved: Set[String] => Boolean
  ): Option[(Map[String, ClusterView], NextOffset)] = {
    val doubtful = Doubts(transition, next).intersect(streams.times.earlier)
    val again =
      if (doubtful.isEmpty) Some((found, next))
      else
        streams.askAfterwards(questions.filter { case (id, _) => doubtful(id) }, moved).map { answers =>
          val views = found ++ answers
          (views, nextOf(start, transition, views))
        }
    again.map { case (views, advance) =>
      val recreated = advance.losses.collect { case loss: Loss.TopicRecreated => loss.cluster }.toSet
      if (recreated.isEmpty) (views, advance)
      else {
        val identified = identify(views, recreated)
        (identified, nextOf(start, transition, identified))
      }
    }
  }

  private def nextOf(start: CompositeOffset, transition: Transition, views: Map[String, ClusterView]) =
    NextOffset(start, transition, views, options.replacedClusters, losses.isLost(_, transition.now))

  private def identify(views: Map[String, ClusterView], clusters: Set[String]): Map[String, ClusterView] = {
    val ids = streams.identities(clusters.map(_ -> Set.empty[String]).toMap)
      .collect { case (id, Right(ClusterIdentity(Some(kafkaId), _, _, _))) => id -> kafkaId }
    views.map {
      case (id, view: ClusterView.Reachable) => id -> view.copy(kafkaId = ids.get(id).orElse(view.kafkaId))
      case other => other
    }
  }

  private def replaced(start: CompositeOffset, clusters: Seq[ReplacedCluster]): Unit = clusters.foreach { c =>
    if (options.replacedClusters == ReplacedClusterPolicy.Fail)
      throw Errors.clusterReplaced(c.cluster, c.known, c.found)
    log.warn(
      "Cluster '{}' is another Kafka cluster than before (cluster.id {} instead of {}); the query continues with it " +
        "because 'replacedClusterPolicy' is set, and drops the offsets of the former one: {}",
      c.cluster,
      c.found,
      c.known,
      CompositeOffsetJson.writePositions(start.position(c.cluster))
    )
  }

  private def tellRenamed(topics: Seq[RenamedTopic]): Unit = topics.foreach { r =>
    log.info(
      "Cluster '{}' is the Kafka cluster that was cluster '{}': topic '{}' continues at its retained offsets",
      r.cluster,
      r.former,
      r.topic
    )
  }

  private def propertiesOf(topology: Topology, id: String) = topology.clusters.get(id).map(_.properties)

  /**
   * Clusters that have left the topology but must still be read use the last known properties of the metadata or, after
   * a restart, the properties in the checkpoint.
   */
  private def configsOf(transition: Transition, topology: Topology): Map[String, ClusterConfig] = {
    val ids = topology.clusters.keySet ++ transition.clusters.keySet
    // A cluster with patterns must be open to list its topics, even if none matches.
    val open = transition.clusters.keySet ++ topology.clusters.collect {
      case (id, c) if c.patterns.nonEmpty => id
    }
    val properties = open.iterator.map { id =>
      val known =
        propertiesOf(topology, id).orElse(lastKnown.get(id)).orElse(memory.cluster(id).map(_.properties))
      id -> known.getOrElse(
        throw Errors.invalidOffset(s"cluster '$id' is neither in the metadata nor in the checkpoint")
      )
    }
    lastKnown = properties.toMap
    val resolved = configs(ids.toSet)
    lastKnown.map { case (id, p) => id -> resolved(id, p) }
  }

  private def questionsOf(
      transition: Transition,
      topology: Topology,
      complete: Boolean
  ): Map[String, ClusterQuestion] = {
    val former = last.map(_.look.topology)
    transition.clusters.map { case (id, work) =>
      val isChanged = former.exists(f => (f ne topology) && f.clusters.get(id) != topology.clusters.get(id))
      id -> TriggerPlanner.question(work, complete, afterwards = isChanged)
    }
  }

  private def tellWaiting(waiting: Seq[(String, String)]): Unit = {
    (waiting.toSet -- toldWaiting).toSeq.sorted.foreach { case (id, topic) =>
      log.warn(
        "Kafka cluster '{}' has no topic '{}', which is in the metadata; it is read once it exists",
        id,
        topic
      )
    }
    toldWaiting = waiting.toSet
  }
}

private[source] object TriggerPlanner {

  /**
   * What the last trigger used and found.
   *
   * @param isTimed whether the same state would be another one later
   */
  private final case class Last(
      start: CompositeOffset,
      unlisted: Set[String],
      questions: Map[String, ClusterQuestion],
      look: TriggerSnapshot,
      isTimed: Boolean
  ) {
    def isOf(start: CompositeOffset, topology: Topology, unlisted: Set[String]): Boolean =
      !isTimed && (this.start eq start) && (look.topology eq topology) && this.unlisted == unlisted &&
        // These have to be asked for, and decided, in each trigger.
        Doubts(look.transition, look.advance).isEmpty && questions.valuesIterator.forall(!_.afterwards)

    /** Whether the responses are the same objects, so that they mean the same. */
    def isSettled(views: Map[String, ClusterView]): Boolean = (views eq look.views) ||
      views.size == look.views.size && views.forall { case (id, view) =>
        look.views.get(id).exists(_ eq view)
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
    afterwards || work.newlyDraining.nonEmpty
  )

  private def missing(views: Map[String, ClusterView]): Map[String, Set[String]] =
    views.collect { case (id, view: ClusterView.Reachable) if view.missing.nonEmpty => id -> view.missing }
}

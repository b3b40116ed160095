package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.{OffsetsPolicy, Topology, TopologyTopic}

/** Computes the [[Transition]] from a composite offset to a topology. Pure: uses neither Spark nor a Kafka client. */
private[dynamickafka] object Reconcile {

  /**
   * @param retentionMs how long positions of removed clusters and topics are retained; -1: forever, 0: not at all
   * @param drainRemoved whether clusters and topics that leave the topology are drained first
   * @param entry returns the start position of a topic without a position, given the cluster id, the name and metadata
   *              of the topic, and whether other topics of the cluster are already known
   * @param ending returns the stopping position of a topic, if any, given the cluster id and the metadata of the topic, which
   *               a topic that has left them no longer has
   * @param startsOnce whether `entry` has a start position of a topic that holds for its first entry only, given the cluster id and
   *                   the name
   * @param reentry the same as `entry` for such a topic that was read before
   */
  final case class Rules(
      retentionMs: Long,
      drainRemoved: Boolean,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      ending: (String, Option[TopologyTopic]) => Option[OffsetsPolicy] = (_, _) => None,
      startsOnce: (String, String) => Boolean = (_, _) => false,
      reentry: (String, TopologyTopic, Boolean) => OffsetsPolicy = (_, _, _) => OffsetsPolicy.Earliest
  )

  /** @param now epoch milliseconds */
  def apply(start: CompositeOffset, topology: Topology, now: Long, rules: Rules): Transition =
    new Reconcile(start, topology, now, rules).transition
}

private final class Reconcile(start: CompositeOffset, topology: Topology, now: Long, rules: Reconcile.Rules) {
  private val ids = start.clusters.keySet ++ start.retained.keySet ++ topology.clusters.keySet

  /** The clusters that are to take, or have taken, the place of another one. Looked up, because there may be thousands. */
  private val byReplaced = topology.clusters.values.toSeq.groupBy(_.replaces)

  private def transition: Transition = {
    val parts = ids.toSeq.map(id => id -> cluster(id))
    Transition(
      clusters = SortedMap.from(parts.collect { case (id, (work, _)) if work.topics.nonEmpty => id -> work }),
      retained = SortedMap.from(parts.collect { case (id, (_, Some(kept))) => id -> kept }),
      now = now,
      retains = rules.retentionMs != 0
    )
  }

  private def cluster(id: String): (ClusterTransition, Option[Retained]) = {
    val replacing = byReplaced.getOrElse(Some(id), Nil)
    val named = topology.clusters.get(id).fold(SortedMap.empty[String, TopologyTopic])(_.topics)
    def isDraining(topic: String) = named.get(topic).exists(_.draining)
    // Partitions that the metadata no longer selects leave in the same way as topics.
    def reads(topic: String, p: Int) = named.get(topic).forall(_.reads(p))
    val live = start.position(id).filter(reads)
    val dropped = start.position(id) -- live
    val oldTargets = start.draining.getOrElse(id, Positions.empty)
    val (topicIds, epochs) = (start.identity(id).topics, start.identity(id).epochs)
    // Another cluster takes over these positions when it enters, however long it waits for this one.
    val isAwaited = replacing.exists(by => start.position(by.id).isEmpty)
    def startingOnce(topics: Set[String]) = topics.filter(rules.startsOnce(id, _))
    def isKept(of: RetainedTopic) = isAwaited || !isExpired(of.since)
    // What a cluster has still to continue of the one that it replaced is kept as long as its own positions.
    val isOwing = named.nonEmpty || start.position(id).nonEmpty ||
      start.retained.get(id).exists(_.topics.valuesIterator.exists(of => of.former.isEmpty && isKept(of)))
    // The mark that a topic was drained outlives its offsets: while it is still draining, it must not enter again.
    val kept = start.retained.get(id).map { all =>
      val left = all.map((_, of) =>
        if (isKept(of) || (isOwing && of.former.isDefined)) of else of.only(_ => false)
      )
      left.copy(past = left.past ++ startingOnce(all.topics.keySet -- left.topics.keySet))
    }

    // Topics that are already read: a topic that is active again loses its drain target; a topic that drains, or has
    // left the metadata with `drainRemoved`, is read up to its drain target.
    def leavesByDrain(topic: String) =
      rules.drainRemoved && !named.contains(topic) && !topology.removes(id, topic)
    def toItsEnd(topic: String) = isDraining(topic) || leavesByDrain(topic)
    def reachedTarget(topic: String) = {
      val target = oldTargets.of(topic)
      target.nonEmpty && live.of(topic).forall { case (p, at) => target.get(p).forall(at >= _) }
    }
    val (stay, leave) = live.topics.partition { topic =>
      if (toItsEnd(topic)) !reachedTarget(topic) else named.contains(topic)
    }

    // Topics of the metadata that are not read: they return, enter, or remain unread because they were drained, or another cluster
    // has taken their place.
    val absent = named.keySet.toSet -- live.topics
    // A topic that was never read here is read in the cluster that has replaced this one: it continues it, or was read later.
    def hasReplaced(by: String) = start.position(by).nonEmpty ||
      start.retained.get(by).exists(_.topics.valuesIterator.exists(of =>
        of.former.fold(kept.exists(_.topics.nonEmpty) && of.since > start.lastRead(id))(_.id == id)
      ))
    val copied = replacing.iterator.filter(by => hasReplaced(by.id))
      .flatMap(_.topics.keySet).filter(t => !kept.exists(_.topics.contains(t))).toSet
    val away = absent.filter(t => isDraining(t) && (copied(t) || kept.exists(_.drained(t))))
    // Positions of an earlier topic of the same name do not return.
    def isCurrent(topic: String) = !kept.flatMap(_.topics.get(topic)).exists(positions =>
      ClusterIdentity.differ(positions.id, topicIds.get(topic))
    )
    val returnable = kept.fold(Positions.empty)(_.positions.filterTopics(isCurrent).filter(reads))
    val (back, fresh) = (absent -- away).partition(returnable.topics)
    // A topic with a drain target is read up to the target only: its other partitions do not return.
    val targets = oldTargets.filterTopics(t => stay(t) && toItsEnd(t))
    val returning = returnable.filterTopics(t => back(t) || (stay(t) && !targets.topics(t)))
    val clusterIsKnown = start.position(id).nonEmpty || kept.exists(_.topics.nonEmpty)
    val entering = fresh.iterator.map(t =>
      t -> (if (kept.exists(_.past(t))) rules.reentry(id, named(t), clusterIsKnown)
            else rules.entry(id, t, named(t), clusterIsKnown))
    )

    val reading = stay ++ back ++ fresh
    val ending = reading.iterator.flatMap { t =>
      val before = start.endsOf(id).get(t)
      val of = topicIds.get(t).orElse(kept.flatMap(_.topics.get(t)).flatMap(_.id))
      val found = StoppingOffsets.of(id, t, rules.ending(id, named.get(t)), before, of, alone = ids.size == 1)
      val left = before.filter(e => !named.contains(t) && !found.exists(_.by == e.by))
      left.map(StoppingOffsets.kept(_, of)).orElse(found).map(t -> _)
    }
    val work = ClusterTransition(
      staying = live.filterTopics(stay),
      returning = returning,
      entering = SortedMap.from(entering),
      targets = targets,
      newlyDraining = reading.filter(t => toItsEnd(t) && !targets.topics(t)),
      ending = SortedMap.from(ending),
      only = named.collect {
        case (t, topic) if reading(t) && topic.partitions.isDefined =>
          t -> topic.partitions.fold(Set.empty[Int])(_.toSet)
      }
    )
    val leaving = live.filterTopics(leave)
    val left = if (rules.retentionMs == 0 && !isAwaited) Positions.empty else leaving ++ dropped
    val retained = kept.getOrElse(Retained.empty)
      .map((topic, of) => of.only(!returning.of(topic).contains(_))) ++
      Retained.at(now, left, ids = topicIds.get, epochs = epochs)
    val drained = leaving.topics.filter(isDraining) ++ away ++ retained.drained.filter(t =>
      isDraining(t) || (!named.contains(t) && retained.topics.nonEmpty)
    )
    val past = retained.past ++ startingOnce(leaving.topics -- left.topics)
    (work, Some(retained.copy(drained = drained, past = past)).filterNot(_.isEmpty))
  }

  private def isExpired(since: Long): Boolean = rules.retentionMs >= 0 && now - since >= rules.retentionMs
}

/**
 * The effect of a topology on the positions of a query: which topics stay, enter, leave, return or drain.
 *
 * @param clusters the topics to read now, by cluster id
 * @param retained positions that are kept for a return, without expired ones
 * @param now epoch milliseconds
 * @param retains whether positions are retained at all
 */
private[dynamickafka] final case class Transition(
    clusters: SortedMap[String, ClusterTransition],
    retained: SortedMap[String, Retained],
    now: Long = 0L,
    retains: Boolean = true
)

/**
 * One cluster of a [[Transition]]. The partitions of `staying`, `returning` and `entering` are disjoint.
 *
 * @param staying topics that are already read, with their current positions
 * @param returning topics that return, with their retained positions
 * @param entering topics without a position, with their start positions
 * @param targets drain targets of draining topics that have one
 * @param newlyDraining topics that start to drain: their current latest offsets become their drain targets
 * @param ending topics with a stopping position
 * @param only topics of which only some partitions are read, with these partitions
 */
private[dynamickafka] final case class ClusterTransition(
    staying: Positions,
    returning: Positions = Positions.empty,
    entering: SortedMap[String, OffsetsPolicy] = SortedMap.empty,
    targets: Positions = Positions.empty,
    newlyDraining: Set[String] = Set.empty,
    ending: SortedMap[String, Ending] = SortedMap.empty,
    only: Map[String, Set[Int]] = Map.empty
) {
  def topics: Set[String] = staying.topics ++ returning.topics ++ entering.keySet
  def drains(topic: String): Boolean = newlyDraining(topic) || targets.topics(topic)
}

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.{OffsetsPolicy, Topology, TopologyTopic}

/**
 * What a topology means for the positions that a query has: what stays, enters, leaves, returns, drains.
 *
 * @param clusters what is to be read now, by cluster id
 * @param retained what is kept for a return, expired entries gone
 */
private[dynamickafka] final case class Transition(
    clusters: SortedMap[String, ClusterTransition],
    retained: SortedMap[String, Retained]
)

/**
 * One cluster of a [[Transition]]. The partitions of the first three are disjoint.
 *
 * @param staying topics that are being read, where reading is
 * @param returning topics that come back, at their retained positions
 * @param entering topics without a position, and where they start
 * @param targets last targets of draining topics that have one
 * @param newlyDraining topics whose end offsets of now become their last target
 * @param ending topics that end somewhere
 * @param only topics of which not all partitions are read, and which are
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

/** Pure: knows neither Spark nor a Kafka client. */
private[dynamickafka] object Reconcile {

  /**
   * @param retentionMs how long positions of what has left are kept; -1: for ever, 0: not at all
   * @param drainRemoved what leaves the topology is read to its end first
   * @param entry where a topic starts that has no position: cluster id, the topic's name and metadata, and
   *              whether other topics of the cluster are known already
   * @param ending where a topic ends, if it does: cluster id and the topic's metadata
   */
  final case class Rules(
      retentionMs: Long,
      drainRemoved: Boolean,
      entry: (String, String, TopologyTopic, Boolean) => OffsetsPolicy,
      ending: (String, TopologyTopic) => Option[OffsetsPolicy] = (_, _) => None
  )

  /** @param now epoch milliseconds */
  def apply(start: CompositeOffset, topology: Topology, now: Long, rules: Rules): Transition = {
    val ids = start.clusters.keySet ++ start.retained.keySet ++ topology.clusters.keySet
    val parts = ids.toSeq.map(id => id -> cluster(id, start, topology, now, rules, alone = ids.size == 1))
    Transition(
      clusters = SortedMap.from(parts.collect { case (id, (work, _)) if work.topics.nonEmpty => id -> work }),
      retained = SortedMap.from(parts.collect { case (id, (_, Some(kept))) => id -> kept })
    )
  }

  private def cluster(
      id: String,
      start: CompositeOffset,
      topology: Topology,
      now: Long,
      rules: Rules,
      alone: Boolean
  ): (ClusterTransition, Option[Retained]) = {
    val named = topology.clusters.get(id).fold(SortedMap.empty[String, TopologyTopic])(_.topics)
    def isDraining(topic: String) = named.get(topic).exists(_.draining)
    // Partitions that are not read any more leave as topics do.
    def reads(topic: String, p: Int) = named.get(topic).forall(_.reads(p))
    val live = start.position(id).filter(reads)
    val dropped = start.position(id) -- live
    val oldTargets = start.draining.getOrElse(id, Positions.empty)
    val kept = start.retained.get(id).map { r =>
      // That a topic was drained outlasts its offsets: while it is still draining, it has not left and come back.
      if (expired(r.since, now, rules.retentionMs)) r.copy(positions = Positions.empty) else r
    }

    // Topics that are being read: active again cancels a target; gone or draining ones go to their target.
    def toItsEnd(topic: String) = isDraining(topic) || (!named.contains(topic) && rules.drainRemoved)
    def reachedTarget(topic: String) = {
      val target = oldTargets.of(topic)
      target.nonEmpty && live.of(topic).forall { case (p, at) => target.get(p).forall(at >= _) }
    }
    val (stay, leave) = live.topics.partition { topic =>
      if (toItsEnd(topic)) !reachedTarget(topic) else named.contains(topic)
    }

    // Topics that are named and not being read: they return, enter, or stay away since they were drained.
    val absent = named.keySet.toSet -- live.topics
    val away = absent.filter(t => isDraining(t) && kept.exists(_.drained(t)))
    val returnable = kept.fold(Positions.empty)(_.positions.filter(reads))
    val (back, fresh) = (absent -- away).partition(returnable.topics)
    // A topic with a target is read up to there, and nothing else of it.
    val targets = oldTargets.filterTopics(t => stay(t) && toItsEnd(t))
    val returning = returnable.filterTopics(t => back(t) || (stay(t) && !targets.topics(t)))
    val clusterIsKnown = start.position(id).nonEmpty || kept.exists(_.positions.nonEmpty)
    val entering = fresh.iterator.map(t => t -> rules.entry(id, t, named(t), clusterIsKnown))

    val reading = stay ++ back ++ fresh
    val ending = reading.iterator.flatMap { t =>
      val before = start.endsOf(id).get(t)
      named.get(
        t
      ).fold(StoppingOffsets.kept(before))(m =>
        StoppingOffsets.of(id, t, rules.ending(id, m), before, alone)
      ).map(t -> _)
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
    (work, retain(kept, live.filterTopics(leave), dropped, returning, isDraining, now, rules.retentionMs))
  }

  private def retain(
      kept: Option[Retained],
      leaving: Positions,
      dropped: Positions,
      returning: Positions,
      isDraining: String => Boolean,
      now: Long,
      retentionMs: Long
  ): Option[Retained] = {
    val old = kept.map(_.positions -- returning).getOrElse(Positions.empty)
    val fresh = if (retentionMs == 0) Positions.empty else leaving ++ dropped
    val all = old ++ fresh
    val drained = (kept.fold(Set.empty[String])(_.drained) ++ leaving.topics).filter(isDraining)
    if (all.isEmpty && drained.isEmpty) None
    else {
      // The youngest counts: rather kept too long than forgotten too early.
      val since = if (fresh.nonEmpty) now else kept.fold(now)(_.since)
      Some(Retained(since, all, drained))
    }
  }

  private def expired(since: Long, now: Long, retentionMs: Long): Boolean =
    retentionMs >= 0 && now - since >= retentionMs
}

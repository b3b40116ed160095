package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.{OffsetsPolicy, ReplacedClusterPolicy}

/**
 * What a trigger reads of a cluster that has responded. Pure.
 *
 * A position is about the topic with the id that is stored with it. If Kafka has another id now, the topic was recreated
 * and its positions are void; an id that is not known is not compared.
 *
 * @param continued topics that continue at the positions of a former cluster id
 * @param found the Kafka clusters whose positions continue in this one
 * @param ifReplaced where they do
 * @param isLost whether a topic or partition that is missing counts as lost
 * @param inNewCluster where they do, if it is known; None: as `ifReplaced`
 */
private[offset] final class ReachableCluster(
    id: String,
    start: CompositeOffset,
    transition: Transition,
    work: ClusterTransition,
    view: ClusterView.Reachable,
    continued: SortedMap[String, RetainedTopic],
    found: Seq[ReplacedCluster],
    ifReplaced: ReplacedClusterPolicy,
    isLost: Loss => Boolean,
    inNewCluster: Option[Continuation] = None
) {
  import NextOffset.Part
  import ReachableCluster.Found

  private val identity = start.identity(id)
  private val kept = start.retained.get(id)
  private val replaced = found.map(_.copy(continued = inNewCluster))
  private val replacedWhole = found.find(_.of.isEmpty).map(of => FormerCluster(id, Some(of.known)))

  private val returning = work.returning ++ Positions(continued.map { case (topic, positions) =>
    topic -> positions.offsets
  })
  private val positions = work.staying ++ returning

  /** The leader epochs of the known positions. Retained positions of a former topic can have the same names. */
  private val epochs = kept.fold(identity.epochs)(_.epochs ++ identity.epochs) ++
    Positions(continued.map { case (topic, positions) => topic -> positions.epochs })
  private val gone = positions.topics.intersect(view.missing)
  private val halfAnswered = view.unanswered.keySet.map(_._1)

  /** The id of the topic that the known positions are about. */
  private def knownId(topic: String): Option[String] =
    identity.topics.get(topic)
      .orElse(kept.flatMap(_.topics.get(topic)).flatMap(_.id))
      .orElse(continued.get(topic).flatMap(_.id))

  /** Topics whose known positions are those of another Kafka cluster. */
  private val isOfFormer: Set[String] = work.staying.topics.filter(_ => replacedWhole.isDefined) ++
    work.returning.topics.filter { topic =>
      kept.flatMap(_.topics.get(topic)).flatMap(_.former).orElse(replacedWhole).exists(!_.isIn(view))
    }

  private def isRecreated(topic: String): Boolean =
    !isOfFormer(topic) && positions.topics(topic) &&
      ClusterIdentity.differ(knownId(topic), view.topicIds.get(topic))

  /** Topics where Kafka has another one than that which the known positions are about. */
  private val isNew: Set[String] = work.topics.filter(topic => isOfFormer(topic) || isRecreated(topic))

  /** Whether this is certainly the topic that the known positions are about. */
  private def isSame(topic: String): Boolean =
    !isOfFormer(topic) && knownId(topic).exists(view.topicIds.get(topic).contains)

  /**
   * Topics that enter, or are read from their beginning, as soon as all their partitions respond: a partition that follows later would be
   * new, and be read from its beginning.
   */
  private val isLater: Set[String] = halfAnswered.filter(topic =>
    work.entering.contains(topic) || isNew(topic)
  )

  private val ends = work.ending.filter { case (topic, _) => !view.missing(topic) && !isLater(topic) }
    .map { case (topic, e) =>
      topic -> TopicEnds(e.by, view.endings.of(topic) ++ e.fixed.in(view.topicIds.get(topic)))
    }
    .filter(_._2.offsets.nonEmpty)

  /** Positions that do not change, because the cluster did not return the offsets of their partition. */
  private def isHeld(topic: String, partition: Int): Boolean =
    isLater(topic) || (view.unanswered.contains((topic, partition)) && !isNew(topic))

  def part: Part = {
    val reading = work.topics.filterNot(topic => view.missing(topic) || isLater(topic))
    val held = returning.filter(isHeld)
    val topics =
      reading.toSeq.sorted.map(topic => topic -> (if (isNew(topic)) renewed(topic) else next(topic)))
    val spans = topics.flatMap(_._2.spans)
    val vanished = Positions(topics.map { case (topic, found) => topic -> found.vanished })
    // A position that has not returned yet stays retained. Otherwise it is retained as soon as it counts as lost, so that
    // it neither keeps a topic from draining nor returns as a position of another topic; with a retention of 0, it stays
    // where it is.
    val backAgain = vanished.filter((topic, p) => returning.get(topic, p).isDefined)
    val lost = Positions.from((vanished -- backAgain).iterator.filter { case (topic, p, at) =>
      isNew(topic) || isLost(Loss.PartitionGone(id, topic, p, at))
    })
    val left = lost.filterTopics(topic => transition.retains && !isSame(topic))
    val here = (vanished -- backAgain -- left).filterTopics(topic => !isNew(topic))
    Part(
      spans = spans,
      losses = (gone -- isOfFormer).toSeq.sorted.map(Loss.TopicGone(id, _)) ++ topics.flatMap(_._2.losses),
      waiting = (work.entering.keySet ++ isOfFormer).toSeq.filter(view.missing),
      carried =
        work.staying.filter((topic, p) => (gone(topic) && !isOfFormer(topic)) || isHeld(topic, p)) ++ here,
      retained = Retained.at(transition.now, left, ids = knownId, epochs = epochs) ++
        // The new cluster may get these topics later.
        retains(Retained.at(
          transition.now,
          work.staying.filterTopics(topic => gone(topic) && isOfFormer(topic)),
          ids = knownId
        )) ++
        retains(NextOffset.stillRetained(kept, work.returning.filterTopics(gone) ++ held ++ backAgain)) ++
        NextOffset.stillRetained(Some(Retained(continued)), held ++ backAgain),
      retains = retains,
      targets = targets(spans) ++
        whereTheyAre(here.at(lost), (gone -- isOfFormer).filter(t => isLost(Loss.TopicGone(id, t)))),
      judged = reading,
      ends = ends,
      identity = ClusterIdentity(
        view.kafkaId.orElse(identity.kafkaId),
        SortedMap.from(work.topics.flatMap(t =>
          view.topicIds.get(t).filter(_ => reading(t)).orElse(knownId(t)).map(t -> _)
        )),
        identity.epochs
      ),
      replaced = replaced
    )
  }

  /** Retained positions, those of another Kafka cluster as such, and without topics that continue under other names. */
  private def retains(all: Retained): Retained = {
    val from = inNewCluster.filter(_ => found.nonEmpty).fold(Set.empty[String])(_.from)
    val of = replacedWhole.fold(all)(all.of)
    of.copy(topics = of.topics.filterNot { case (topic, kept) =>
      from(topic) && kept.former.exists(!_.isIn(view))
    })
  }

  /** Where the policy has found a position for this partition. */
  private def decided(topic: String, partition: Int): Option[Long] =
    inNewCluster.filter(_ => found.nonEmpty).flatMap(_.positions.get(topic, partition))

  /** A topic that continues at the known positions, or enters. */
  private def next(topic: String): Found = {
    val known = positions.of(topic).filter { case (p, _) => !view.unanswered.contains((topic, p)) }
    val ends = view.ends.of(topic)
    val earliest = view.earliest.of(topic)
    val (there, vanished) = known.partition { case (p, _) => ends.contains(p) }
    val old = there.toSeq.map { case (p, at) =>
      val (first, end) = (earliest.getOrElse(p, at), ends(p))
      if (end < at && isSame(topic))
        span(topic, p, math.max(first, end), enters = true) -> Some(Loss.CutOff(id, topic, p, at, end))
      else if (end < at) span(topic, p, first, enters = true) -> Some(Loss.Recreated(id, topic, p, at, end))
      else if (first > at) span(topic, p, first, enters = true) -> Some(Loss.Expired(id, topic, p, at, first))
      else
        span(topic, p, at, enters = returning.get(topic, p).isDefined)
          .copy(known = epochs.get(topic, p)) -> None
    }
    // A draining topic is read up to its drain targets, so partitions that are added later are not read.
    val fresh =
      if (work.targets.topics(topic)) Nil else (ends.keySet -- known.keySet).toSeq.map(enter(topic, _))
    val lost = vanished.toSeq.map { case (p, at) => Loss.PartitionGone(id, topic, p, at) }
    Found((old ++ fresh).map(_._1), (old ++ fresh).flatMap(_._2) ++ lost, vanished)
  }

  /** A topic that was recreated, or whose cluster was replaced: its positions mean nothing in the new log. */
  private def renewed(topic: String): Found = {
    val ends = view.ends.of(topic)
    val spans = ends.toSeq.map { case (p, end) =>
      val from = decided(topic, p).filter(_ => isOfFormer(topic)).getOrElse {
        if (isOfFormer(topic) && ifReplaced == ReplacedClusterPolicy.Latest) end
        else view.earliest.get(topic, p).getOrElse(end)
      }
      span(topic, p, from, enters = true)
    }
    if (isOfFormer(topic)) Found(spans, Nil)
    else {
      val known = positions.of(topic)
      val ids = (knownId(topic).getOrElse(""), view.topicIds.getOrElse(topic, ""))
      val loss = Loss.TopicRecreated(id, topic, ids._1, ids._2, known, ends)
      Found(spans, Seq(loss), known -- ends.keySet)
    }
  }

  private def enter(topic: String, partition: Int): (Span, Option[Loss]) = {
    val end = view.ends.get(topic, partition).getOrElse(0L)
    val first = view.earliest.get(topic, partition).getOrElse(end)
    val asked = decided(topic, partition).orElse(view.entering.get(topic, partition))
    asked.filter(_ => !positions.topics(topic)) match {
      case Some(asked) if asked < first || asked > end =>
        (
          span(topic, partition, first, enters = true),
          Some(work.entering.get(topic) match {
            case Some(after: OffsetsPolicy.After) if after.offsets.contains(partition) =>
              Loss.AfterHistory(id, topic, partition, asked, first, end)
            case _ => Loss.OutOfRange(id, topic, partition, asked, first, end)
          })
        )
      case asked => (span(topic, partition, asked.getOrElse(first), enters = true), None)
    }
  }

  /**
   * The drain targets. A target that would never be reached is lowered, because the topic has a stopping offset below
   * it, or was truncated; a topic that was recreated is drained up to its end.
   */
  private def targets(spans: Seq[Span]): Positions = {
    val old = work.targets.filterTopics(topic => !isNew(topic) || isLater(topic))
    // Without the target of each partition, a topic would be retired before it is read completely.
    val set = spans.filter(s =>
      !halfAnswered(s.topic) && (work.newlyDraining(s.topic) || (isNew(s.topic) && work.drains(s.topic)))
    )
    Positions.from(old.iterator.map { case (topic, p, target) =>
      // The latest offsets are those of the new topic, and what was left to drain was in the former one.
      val end = view.ends.get(topic, p).filterNot(_ => isLater(topic))
      (topic, p, end.fold(target)(end => math.min(math.min(end, stop(topic, p)), target)))
    }) ++ Positions.from(set.map(s => (s.topic, s.partition, s.end)))
  }

  /**
   * A draining topic or partition that counts as lost has no records to read: it has reached its target. The partition of
   * a topic with a known id is only unknown to the broker that responded, because Kafka does not remove partitions.
   */
  private def whereTheyAre(lostPartitions: Positions, lostTopics: Set[String]): Positions =
    work.staying.filterTopics(topic => lostTopics(topic) && work.drains(topic)) ++
      lostPartitions.filterTopics(topic => work.drains(topic) && !isSame(topic))

  private def stop(topic: String, partition: Int): Long =
    ends.get(topic).flatMap(_.offsets.get(partition)).getOrElse(Long.MaxValue)

  private def span(topic: String, partition: Int, from: Long, enters: Boolean): Span = {
    val end = view.ends.get(topic, partition).getOrElse(from)
    val target =
      if (isNew(topic)) Long.MaxValue else work.targets.get(topic, partition).getOrElse(Long.MaxValue)
    val last = math.min(math.min(end, target), stop(topic, partition))
    Span(
      id,
      topic,
      partition,
      from,
      math.max(from, last),
      enters,
      newest = view.epochs.get(topic, partition)
    )
  }
}

private[offset] object ReachableCluster {

  /** @param vanished positions of partitions that Kafka does not have */
  private final case class Found(
      spans: Seq[Span],
      losses: Seq[Loss],
      vanished: SortedMap[Int, Long] = SortedMap.empty
  )
}

/** Topics that enter under a new cluster id of a Kafka cluster whose former id has left. Pure. */
private[offset] object RenamedTopics {

  /** The topics of a cluster that continue at retained positions, with these positions. */
  def apply(
      id: String,
      work: ClusterTransition,
      view: Option[ClusterView],
      start: CompositeOffset,
      retained: SortedMap[String, Retained]
  ): Seq[(RenamedTopic, RetainedTopic)] = view match {
    case Some(found: ClusterView.Reachable) if found.kafkaId.isDefined =>
      val former = retained.filter { case (other, _) =>
        other != id && start.identity(other).kafkaId == found.kafkaId
      }.map { case (other, kept) => other -> kept.copy(topics = kept.topics.filter(_._2.former.isEmpty)) }
      work.entering.keys.toSeq.filterNot(found.missing).flatMap { topic =>
        former.toSeq.flatMap { case (other, kept) =>
          kept.topics.get(topic).map(RenamedTopic(id, other, topic) -> _)
        }
          .filterNot { case (_, positions) =>
            ClusterIdentity.differ(positions.id, found.topicIds.get(topic))
          }
          .maxByOption(_._2.since)
      }
    case _ => Nil
  }
}

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}

/**
 * Computes the next composite offset from a [[Transition]] and the responses of the clusters. Pure.
 *
 * @param spans the ranges that can be read, before limits
 * @param losses positions that Kafka no longer serves; the spans start at the first available record
 * @param waiting (cluster, topic) pairs of the metadata that do not exist in Kafka and were never read
 * @param replaced clusters that are other Kafka clusters than those that were read
 * @param renamed topics that continue at the retained offsets of another cluster id of the same Kafka cluster
 */
private[dynamickafka] final case class NextOffset(
    spans: IndexedSeq[Span],
    losses: Seq[Loss],
    waiting: Seq[(String, String)],
    carried: SortedMap[String, Positions],
    retained: SortedMap[String, Retained],
    draining: SortedMap[String, Positions],
    ends: StoppingOffsets.ByCluster,
    identities: SortedMap[String, ClusterIdentity],
    replaced: Seq[ReplacedCluster],
    renamed: Seq[RenamedTopic]
) {

  /** The offset before the first record that can be read. */
  def start: CompositeOffset = offset(spans.map(_ => 0L))

  /** The offset after reading `granted(i)` records of `spans(i)`. */
  def offset(granted: IndexedSeq[Long]): CompositeOffset = {
    val to = spans.iterator.zip(granted.iterator).map { case (s, n) =>
      (s.cluster, s.topic, s.partition, s.from + n)
    }
    val from = spans.iterator.filter(_.enters).map(s => (s.cluster, s.topic, s.partition, s.from))
    CompositeOffset(
      NextOffset.merge(carried, Positions.byCluster(to)),
      Positions.byCluster(from),
      retained,
      draining,
      ends,
      identitiesAt(granted)
    )
  }

  /** All that can be read now, without identities. */
  def latest: CompositeOffset = {
    val to = spans.iterator.map(s => (s.cluster, s.topic, s.partition, s.from + s.lag))
    val all = NextOffset.merge(carried, Positions.byCluster(to))
    CompositeOffset(all, retained = retained, draining = draining, ends = ends)
  }

  private def identitiesAt(granted: IndexedSeq[Long]): SortedMap[String, ClusterIdentity] = {
    val at = Positions.byCluster(spans.iterator.zip(granted.iterator).flatMap { case (s, n) =>
      s.epochAfter(n).map((s.cluster, s.topic, s.partition, _))
    })
    // A first position is stored with the epoch of the leader that had it: the batch may be read again after the log was truncated.
    val entered = Positions.byCluster(spans.iterator.filter(_.enters).flatMap(s =>
      s.known.orElse(s.newest).map((s.cluster, s.topic, s.partition, _))
    ))
    (at.keySet ++ entered.keySet).foldLeft(identities) { (all, id) =>
      val known = all.getOrElse(id, ClusterIdentity.unknown)
      all.updated(
        id,
        known.copy(
          epochs = known.epochs ++ at.getOrElse(id, Positions.empty),
          entered = entered.getOrElse(id, Positions.empty)
        )
      )
    }
  }
}

/**
 * @param known the `cluster.id` of the Kafka cluster that was read, `found` that of the one that responds now
 * @param continued where its positions continue in the new one, if they do
 * @param of if only retained positions are those of another Kafka cluster: which
 */
private[dynamickafka] final case class ReplacedCluster(
    cluster: String,
    known: String,
    found: String,
    continued: Option[Continuation] = None,
    of: Option[FormerCluster] = None
) {

  /** The cluster id under which the former one was read. */
  def former: String = of.fold(cluster)(_.id)

  /** The positions that have to continue, also of topics that were removed, or return in this trigger. */
  def positions(start: CompositeOffset): Positions = {
    val kept = start.retained.getOrElse(cluster, Retained.empty)
    val same = kept.copy(topics = kept.topics.filter(_._2.former == of)).positions
    if (of.isDefined) same else same ++ start.position(cluster)
  }
}

/**
 * Where a query continues in a Kafka cluster that replaces another one.
 *
 * @param positions the next offsets to read; a partition that is absent is read from its beginning
 * @param repeated the number of records that are read again, as far as it is known
 * @param notes what the log line says beside the positions
 * @param from topics of the former cluster that continue under other names
 */
private[dynamickafka] final case class Continuation(
    positions: Positions,
    repeated: Long = 0L,
    notes: Seq[String] = Nil,
    from: Set[String] = Set.empty
) {
  def ++(that: Continuation): Continuation =
    Continuation(
      positions ++ that.positions,
      repeated + that.repeated,
      notes ++ that.notes,
      from ++ that.from
    )
}

/** A topic of `cluster` that continues at the retained positions of the cluster id `former`. */
private[dynamickafka] final case class RenamedTopic(cluster: String, former: String, topic: String)

/**
 * The range of one partition that a trigger can read, before limits.
 *
 * @param enters true if `from` differs from the position at the start of the batch, so that it must be logged
 * @param known the leader epoch of `from`, if `from` is a position that was reached before and its epoch was stored
 * @param newest the leader epoch of the response that `end` is from
 */
private[dynamickafka] final case class Span(
    cluster: String,
    topic: String,
    partition: Int,
    from: Long,
    end: Long,
    enters: Boolean,
    known: Option[Long] = None,
    newest: Option[Long] = None
) {
  def key: LogKey = LogKey(cluster, topic, partition)
  def lag: Long = math.max(0L, end - from)

  /**
   * The leader epoch of the position after `n` records. A position that does not move keeps its own: what is below it has
   * not been compared with the log of another leader.
   */
  def epochAfter(n: Long): Option[Long] = if (n > 0) newest else known.orElse(newest)
}

private[dynamickafka] object NextOffset {

  /**
   * @param ifReplaced where to continue if a cluster id leads to another Kafka cluster than before
   * @param isLost whether a topic or partition that is missing counts as lost. Until then nothing about it changes: a
   *               drain target that is given up too early would end the drain before the loss is declared
   * @param continued where to continue in such a Kafka cluster, if `ifReplaced` alone does not say it, by cluster id
   */
  def apply(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      ifReplaced: ReplacedClusterPolicy,
      isLost: Loss => Boolean,
      continued: Map[String, Continuation] = Map.empty
  ): NextOffset = {
    val renamed = transition.clusters.toSeq.flatMap { case (id, work) =>
      RenamedTopics(id, work, views.get(id), start, transition.retained)
    }
    val parts = transition.clusters.map { case (id, work) =>
      id -> (views.getOrElse(id, ClusterView.Unreachable) match {
        case ClusterView.Unreachable | ClusterView.Pending => carried(id, start, work, ifReplaced)
        case view: ClusterView.Reachable =>
          val found = replaced(id, start, work, view, ifReplaced)
          // A replaced Kafka cluster concerns all topics, and topics without an answer cannot be judged.
          if (view.unanswered.nonEmpty && found.exists(_.of.isEmpty || start.position(id).isEmpty))
            carried(id, start, work, ifReplaced).copy(replaced = found)
          else {
            val kept =
              renamed.filter(_._1.cluster == id).map { case (of, positions) => of.topic -> positions }
            new ReachableCluster(
              id,
              start,
              transition,
              work,
              view,
              SortedMap.from(kept),
              found,
              ifReplaced,
              isLost,
              continued.get(id)
            ).part
          }
      })
    }
    val gone = renamed.map(_._1)
    val kept = transition.retained.map { case (id, positions) =>
      def stays(topic: String) = !gone.exists(r => r.former == id && r.topic == topic)
      val left = positions.copy(topics = positions.topics.filter { case (topic, _) => stays(topic) })
      id -> parts.get(id).fold(left)(part => part.retains(left))
    }
    val retained = parts.foldLeft(kept) { case (all, (id, part)) =>
      all.updated(id, all.getOrElse(id, Retained.empty) ++ part.retained)
    }.filterNot(_._2.isEmpty)
    NextOffset(
      spans = parts.valuesIterator.flatMap(_.spans).toIndexedSeq,
      losses = parts.valuesIterator.flatMap(_.losses).toSeq,
      waiting = parts.iterator.flatMap { case (id, part) => part.waiting.map(id -> _) }.toSeq,
      carried = nonEmpty(parts.map { case (id, part) => id -> part.carried }),
      retained = retained,
      draining = nonEmpty(parts.map { case (id, part) => id -> part.targets }),
      ends = ends(start, parts, retained),
      identities = identities(start, parts, retained),
      replaced = parts.valuesIterator.flatMap(_.replaced).toSeq,
      renamed = gone
    )
  }

  /**
   * The part of one cluster.
   *
   * @param retained positions that should return but cannot yet, or whose partitions Kafka no longer has
   * @param retains what is left of other retained positions of the cluster id
   * @param judged topics whose stopping offsets are in `ends`; those of other topics do not change
   * @param identity what Kafka calls the cluster and the topics that are read
   */
  private[offset] final case class Part(
      spans: Seq[Span] = Nil,
      losses: Seq[Loss] = Nil,
      waiting: Seq[String] = Nil,
      carried: Positions = Positions.empty,
      retained: Retained = Retained.empty,
      retains: Retained => Retained = all => all,
      targets: Positions = Positions.empty,
      judged: Set[String] = Set.empty,
      ends: StoppingOffsets.ByTopic = SortedMap.empty,
      identity: ClusterIdentity = ClusterIdentity.unknown,
      replaced: Seq[ReplacedCluster] = Nil
  )

  /** @param vanished positions of partitions that Kafka does not have */
  private[offset] final case class Found(
      spans: Seq[Span],
      losses: Seq[Loss],
      vanished: SortedMap[Int, Long] = SortedMap.empty
  )

  /** A stopping offset is kept while its partition is absent, and is dropped together with its position. */
  private def ends(
      start: CompositeOffset,
      parts: SortedMap[String, Part],
      retained: SortedMap[String, Retained]
  ): StoppingOffsets.ByCluster = {
    val kept = start.ends.map { case (id, topics) =>
      val part = parts.getOrElse(id, Part())
      val known = part.carried.topics ++ part.spans.iterator.map(_.topic) ++
        retained.get(id).fold(Set.empty[String])(_.topics.keySet)
      id -> topics.filter { case (topic, _) => known(topic) && !part.judged(topic) }
    }
    parts.foldLeft(kept) { case (all, (id, part)) =>
      all.updated(id, all.getOrElse(id, SortedMap.empty[String, TopicEnds]) ++ part.ends)
    }.filter(_._2.nonEmpty)
  }

  /** A cluster has an identity while it is read or retained, a topic while it is read. */
  private def identities(
      start: CompositeOffset,
      parts: SortedMap[String, Part],
      retained: SortedMap[String, Retained]
  ): SortedMap[String, ClusterIdentity] = {
    val away = (retained -- parts.keySet).map { case (id, _) =>
      id -> ClusterIdentity(start.identity(id).kafkaId)
    }
    (away ++ parts.map { case (id, part) =>
      val read = part.carried.topics ++ part.spans.iterator.map(_.topic)
      val topics = part.identity.topics.filter { case (topic, _) => read(topic) }
      def keeps = retained.get(id).exists(kept =>
        kept.drained.nonEmpty || kept.topics.valuesIterator.exists(_.former.isEmpty)
      )
      val kafkaId = part.identity.kafkaId.filter(_ => read.nonEmpty || keeps)
      id -> ClusterIdentity(kafkaId, topics, part.identity.epochs.at(part.carried))
    }).filterNot(_._2.isEmpty)
  }

  /** Positions that stay retained, with the time at which they left. */
  private[offset] def stillRetained(kept: Option[Retained], positions: Positions): Retained =
    kept.getOrElse(Retained.empty).copy(drained = Set.empty)
      .map((topic, of) => of.only(p => positions.get(topic, p).isDefined))

  /** A Kafka cluster whose id leads to another one now, and those whose positions continue in this one from now on. */
  private def replaced(
      id: String,
      start: CompositeOffset,
      work: ClusterTransition,
      view: ClusterView.Reachable,
      ifReplaced: ReplacedClusterPolicy
  ): Seq[ReplacedCluster] = {
    val whole = for {
      known <- start.identity(id).kafkaId
      found <- view.kafkaId if found != known
    } yield ReplacedCluster(id, known, found)
    def isThere(topic: String) = !view.missing(topic) && !view.unanswered.exists(_._1._1 == topic)
    // A topic of another name may continue in one that enters; and a cluster that has none of them is refused by `fail`.
    val isAsked = work.entering.keys.exists(isThere) &&
      (start.position(id).isEmpty || ifReplaced.isInstanceOf[ReplacedClusterPolicy.MirrorMaker])
    val formers = start.retained.get(id).toSeq.flatMap(_.topics).collect {
      case (topic, RetainedTopic(_, _, _, _, Some(of)))
          if !of.isIn(view) && (isAsked || work.returning.topics(topic) && !view.missing(topic)) => of
    }
    whole.toSeq ++ formers.distinct.map(of =>
      ReplacedCluster(id, of.kafkaId.getOrElse(""), view.kafkaId.getOrElse(""), of = Some(of))
    )
  }

  /**
   * A cluster without a response keeps its positions and its drain targets. What returns is not retained any longer, or the retention
   * could end before the cluster responds.
   */
  private def carried(
      id: String,
      start: CompositeOffset,
      work: ClusterTransition,
      ifReplaced: ReplacedClusterPolicy
  ): Part = {
    val kept = start.retained.getOrElse(id, Retained.empty)
    // What returns with `same-offsets` is looked at when the cluster responds: until then it is retained as what a copy still continues.
    val isChecked = ifReplaced == ReplacedClusterPolicy.SameOffsets
    val (own, others) = kept.topics.partition { case (_, of) => of.former.isEmpty && !isChecked }
    val back = work.returning.filterTopics(own.contains)
    val identity = start.identity(id)
    val retained = stillRetained(Some(kept.copy(topics = others)), work.returning)
    Part(
      spans = back.iterator.map { case (topic, p, at) =>
        Span(id, topic, p, at, at, enters = true, known = own(topic).epochs.get(p))
      }.toSeq,
      carried = work.staying,
      retained =
        if (isChecked && identity.kafkaId.isDefined) retained.of(FormerCluster(id, identity.kafkaId))
        else retained,
      targets = work.targets,
      identity = identity.copy(topics = identity.topics ++ back.topics.flatMap(t => own(t).id.map(t -> _)))
    )
  }

  private def nonEmpty(all: SortedMap[String, Positions]): SortedMap[String, Positions] =
    all.filter(_._2.nonEmpty)

  private[offset] def merge(
      one: SortedMap[String, Positions],
      other: SortedMap[String, Positions]
  ): SortedMap[String, Positions] =
    other.foldLeft(one) { case (all, (id, positions)) =>
      all.updated(id, all.getOrElse(id, Positions.empty) ++ positions)
    }
}

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
  import NextOffset.{Found, Part}

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

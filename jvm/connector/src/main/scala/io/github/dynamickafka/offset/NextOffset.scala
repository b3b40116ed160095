package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy}

/**
 * Computes the next composite offset from a [[Transition]] and the responses of the clusters. Pure.
 *
 * @param spans the ranges that can be read, before limits
 * @param losses positions that Kafka no longer serves; the spans start at the first available record
 * @param waiting (cluster, topic) pairs of the metadata that do not exist in Kafka and were never read
 * @param rest the offset without the partitions of the spans
 * @param replaced clusters that are other Kafka clusters than those that were read
 * @param renamed topics that continue at the retained offsets of another cluster id of the same Kafka cluster
 */
private[dynamickafka] final case class NextOffset(
    spans: IndexedSeq[Span],
    losses: Seq[Loss],
    waiting: Seq[(String, String)],
    rest: CompositeOffset,
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
    rest.copy(
      clusters = NextOffset.merge(rest.clusters, Positions.byCluster(to)),
      entered = Positions.byCluster(from),
      identities = identitiesAt(granted)
    )
  }

  /** All that can be read now, without identities. */
  def latest: CompositeOffset = {
    val to = spans.iterator.map(s => (s.cluster, s.topic, s.partition, s.from + s.lag))
    rest.copy(
      clusters = NextOffset.merge(rest.clusters, Positions.byCluster(to)),
      identities = SortedMap.empty
    )
  }

  private def identitiesAt(granted: IndexedSeq[Long]): SortedMap[String, ClusterIdentity] = {
    val at = Positions.byCluster(spans.iterator.zip(granted.iterator).flatMap { case (s, n) =>
      s.epochAfter(n).map((s.cluster, s.topic, s.partition, _))
    })
    // A first position is stored with the epoch of the leader that had it: the batch may be read again after the log was truncated.
    val entered = Positions.byCluster(spans.iterator.filter(_.enters).flatMap(s =>
      s.known.orElse(s.newest).map((s.cluster, s.topic, s.partition, _))
    ))
    (at.keySet ++ entered.keySet).foldLeft(rest.identities) { (all, id) =>
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
    key: LogKey,
    from: Long,
    end: Long,
    enters: Boolean,
    known: Option[Long] = None,
    newest: Option[Long] = None
) {
  def cluster: String = key.cluster
  def topic: String = key.topic
  def partition: Int = key.partition
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
    val parts = transition.clusters.map { case (id, work) =>
      id -> (views.getOrElse(id, ClusterView.Unreachable) match {
        case ClusterView.Unreachable | ClusterView.Pending => new SilentCluster(id, start, work, ifReplaced)
        case view: ClusterView.Reachable =>
          val found = replaced(id, start, work, view, ifReplaced)
          // A replaced Kafka cluster concerns all topics, and topics without an answer cannot be judged.
          if (view.unanswered.nonEmpty && found.exists(_.of.isEmpty || start.position(id).isEmpty))
            new SilentCluster(id, start, work, ifReplaced, found)
          else
            new ReachableCluster(
              id,
              start,
              transition,
              view,
              found.map(_.copy(continued = continued.get(id))),
              ifReplaced,
              isLost
            )
      })
    }
    val renamed = parts.valuesIterator.flatMap(_.renamed).toSeq
    val others = transition.retained.map { case (id, kept) =>
      def stays(topic: String) = !renamed.exists(r => r.former == id && r.topic == topic)
      id -> kept.copy(topics = kept.topics.filter { case (topic, _) => stays(topic) })
    }
    val retained = parts.foldLeft(others) { case (all, (id, part)) =>
      all.updated(id, part.retained(all.getOrElse(id, Retained.empty)))
    }.filterNot(_._2.isEmpty)
    NextOffset(
      spans = parts.valuesIterator.flatMap(_.spans).toIndexedSeq,
      losses = parts.valuesIterator.flatMap(_.losses).toSeq,
      waiting = parts.iterator.flatMap { case (id, part) => part.waiting.map(id -> _) }.toSeq,
      rest = CompositeOffset(
        nonEmpty(parts.map { case (id, part) => id -> part.carried }),
        retained = retained,
        until = ReadUntil(
          nonEmpty(parts.map { case (id, part) => id -> part.targets }),
          ends(start, parts, retained)
        ),
        identities = identities(start, parts, retained)
      ),
      replaced = parts.valuesIterator.flatMap(_.replaced).toSeq,
      renamed = renamed
    )
  }

  /** @param vanished positions of partitions that Kafka does not have */
  private[offset] final case class Found(
      spans: Seq[Span],
      losses: Seq[Loss],
      vanished: SortedMap[Int, Long] = SortedMap.empty
  )

  /** A stopping offset is kept while its partition is absent, and is dropped together with its position. */
  private def ends(
      start: CompositeOffset,
      parts: SortedMap[String, ClusterPart],
      retained: SortedMap[String, Retained]
  ): StoppingOffsets.ByCluster = {
    val kept = start.ends.map { case (id, topics) =>
      val part = parts.get(id)
      def isKnown(topic: String) =
        part.exists(_.read(topic)) || retained.get(id).exists(_.topics.contains(topic))
      id -> topics.filter { case (topic, _) => isKnown(topic) && !part.exists(_.judged(topic)) }
    }
    parts.foldLeft(kept) { case (all, (id, part)) =>
      all.updated(id, all.getOrElse(id, SortedMap.empty[String, TopicEnds]) ++ part.ends)
    }.filter(_._2.nonEmpty)
  }

  /** A cluster has an identity while it is read or retained, a topic while it is read. */
  private def identities(
      start: CompositeOffset,
      parts: SortedMap[String, ClusterPart],
      retained: SortedMap[String, Retained]
  ): SortedMap[String, ClusterIdentity] = {
    val away = (retained -- parts.keySet).map { case (id, _) =>
      id -> ClusterIdentity(start.identity(id).kafkaId)
    }
    (away ++ parts.map { case (id, part) =>
      val topics = part.identity.topics.filter { case (topic, _) => part.read(topic) }
      def keeps = retained.get(id).exists(kept =>
        kept.drained.nonEmpty || kept.topics.valuesIterator.exists(_.former.isEmpty)
      )
      val kafkaId = part.identity.kafkaId.filter(_ => part.read.nonEmpty || keeps)
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

/** What a trigger reads of a cluster, and what it leaves of the positions of its topics. Pure. */
private[offset] sealed trait ClusterPart {
  def spans: Seq[Span]
  def losses: Seq[Loss] = Nil

  /** Topics of the metadata that Kafka does not have, and that were never read. */
  def waiting: Seq[String] = Nil

  /** Positions of partitions without a span. */
  def carried: Positions

  /** The topics that are read. */
  final lazy val read: Set[String] = carried.topics ++ spans.iterator.map(_.topic)

  /** @param others the positions that were retained and do not return in this trigger */
  def retained(others: Retained): Retained
  def targets: Positions

  /** Topics whose stopping offsets are in `ends`; those of other topics do not change. */
  def judged: Set[String] = Set.empty
  def ends: StoppingOffsets.ByTopic = SortedMap.empty

  /** What Kafka calls the cluster and the topics that are read. */
  def identity: ClusterIdentity

  /** The Kafka clusters whose positions continue in this one. */
  def replaced: Seq[ReplacedCluster]

  /** The topics that continue at the positions of a former cluster id. */
  def renamed: Seq[RenamedTopic] = Nil
}

/**
 * A cluster without a response keeps its positions and its drain targets. What returns is not retained any longer, or the retention
 * could end before the cluster responds.
 */
private[offset] final class SilentCluster(
    id: String,
    start: CompositeOffset,
    work: ClusterTransition,
    ifReplaced: ReplacedClusterPolicy,
    override val replaced: Seq[ReplacedCluster] = Nil
) extends ClusterPart {
  private val kept = start.retained.getOrElse(id, Retained.empty)
  private val known = start.identity(id)
  // With `same-offsets`, returning positions are checked when the cluster responds. Until then they stay retained, as of a former cluster.
  private val isChecked = ifReplaced == ReplacedClusterPolicy.SameOffsets
  private val (own, copied) = kept.topics.partition { case (_, of) => of.former.isEmpty && !isChecked }
  private val back = work.returning.filterTopics(own.contains)

  override val spans: Seq[Span] = back.iterator.map { case (topic, p, at) =>
    Span(LogKey(id, topic, p), at, at, enters = true, known = own(topic).epochs.get(p))
  }.toSeq

  override def carried: Positions = work.staying
  override def targets: Positions = work.targets

  override def retained(others: Retained): Retained = {
    val away = NextOffset.stillRetained(Some(kept.copy(topics = copied)), work.returning)
    others ++ (if (isChecked && known.kafkaId.isDefined) away.of(FormerCluster(id, known.kafkaId)) else away)
  }

  override val identity: ClusterIdentity =
    known.copy(topics = known.topics ++ back.topics.flatMap(t => own(t).id.map(t -> _)))
}

/**
 * A cluster that has responded.
 *
 * A position is about the topic with the id that is stored with it. If Kafka has another id now, the topic was recreated
 * and its positions are void; an id that is not known is not compared.
 *
 * @param replaced the Kafka clusters whose positions continue in this one, and where, if it is known
 * @param ifReplaced where they continue otherwise
 * @param isLost whether a topic or partition that is missing counts as lost
 */
private[offset] final class ReachableCluster(
    id: String,
    start: CompositeOffset,
    transition: Transition,
    view: ClusterView.Reachable,
    override val replaced: Seq[ReplacedCluster],
    ifReplaced: ReplacedClusterPolicy,
    isLost: Loss => Boolean
) extends ClusterPart {
  import NextOffset.Found

  private val work = transition.clusters(id)
  private val known = start.identity(id)
  private val kept = start.retained.get(id)
  private val replacedWhole = replaced.find(_.of.isEmpty).map(of => FormerCluster(id, Some(of.known)))
  private val inNewCluster = replaced.headOption.flatMap(_.continued)
  private val former = RenamedTopics(id, work, view, start, transition.retained)

  /** Topics that continue at the positions of a former cluster id. */
  private val continued = SortedMap.from(former.map { case (of, positions) => of.topic -> positions })
  override def renamed: Seq[RenamedTopic] = former.map(_._1)

  private val returning = work.returning ++ Positions(continued.map { case (topic, positions) =>
    topic -> positions.offsets
  })
  private val positions = work.staying ++ returning

  /** The leader epochs of the known positions. Retained positions of a former topic can have the same names. */
  private val epochs = kept.fold(known.epochs)(_.epochs ++ known.epochs) ++
    Positions(continued.map { case (topic, positions) => topic -> positions.epochs })
  private val gone = positions.topics.intersect(view.missing)
  private val halfAnswered = view.unanswered.keySet.map(_._1)

  /** The id of the topic that the known positions are about. */
  private def knownId(topic: String): Option[String] =
    known.topics.get(topic)
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

  override val ends: StoppingOffsets.ByTopic = work.ending.filter { case (topic, _) =>
    !view.missing(topic) && !isLater(topic)
  }
    .map { case (topic, e) =>
      topic -> TopicEnds(e.by, view.endings.of(topic) ++ e.fixed.in(view.topicIds.get(topic)))
    }
    .filter(_._2.offsets.nonEmpty)

  /** Positions that do not change, because the cluster did not return the offsets of their partition. */
  private def isHeld(topic: String, partition: Int): Boolean =
    isLater(topic) || (view.unanswered.contains((topic, partition)) && !isNew(topic))

  override val judged: Set[String] =
    work.topics.filterNot(topic => view.missing(topic) || isLater(topic))
  private val topics =
    judged.toSeq.sorted.map(topic => topic -> (if (isNew(topic)) renewed(topic) else next(topic)))
  override val spans: Seq[Span] = topics.flatMap(_._2.spans)

  private val held = returning.filter(isHeld)
  private val vanished = Positions(topics.map { case (topic, found) => topic -> found.vanished })
  // A position that has not returned yet stays retained. Otherwise it is retained as soon as it counts as lost, so that
  // it neither keeps a topic from draining nor returns as a position of another topic; with a retention of 0, it stays
  // where it is.
  private val backAgain = vanished.filter((topic, p) => returning.get(topic, p).isDefined)
  private val lost = Positions.from((vanished -- backAgain).iterator.filter { case (topic, p, at) =>
    isNew(topic) || isLost(Loss.PartitionGone(id, topic, p, at))
  })
  private val left = lost.filterTopics(topic => transition.retains && !isSame(topic))
  private val here = (vanished -- backAgain -- left).filterTopics(topic => !isNew(topic))

  override val losses: Seq[Loss] =
    (gone -- isOfFormer).toSeq.sorted.map(Loss.TopicGone(id, _)) ++ topics.flatMap(_._2.losses)

  override val waiting: Seq[String] = (work.entering.keySet ++ isOfFormer).toSeq.filter(view.missing)

  override val carried: Positions =
    work.staying.filter((topic, p) => (gone(topic) && !isOfFormer(topic)) || isHeld(topic, p)) ++ here

  override def retained(others: Retained): Retained = {
    val own = Retained.at(transition.now, left, ids = knownId, epochs = epochs) ++
      // The new cluster may get these topics later.
      retains(Retained.at(
        transition.now,
        work.staying.filterTopics(topic => gone(topic) && isOfFormer(topic)),
        ids = knownId
      )) ++
      retains(NextOffset.stillRetained(kept, work.returning.filterTopics(gone) ++ held ++ backAgain)) ++
      NextOffset.stillRetained(Some(Retained(continued)), held ++ backAgain)
    retains(others) ++ own
  }

  override val identity: ClusterIdentity = ClusterIdentity(
    view.kafkaId.orElse(known.kafkaId),
    SortedMap.from(work.topics.flatMap(t =>
      view.topicIds.get(t).filter(_ => judged(t)).orElse(knownId(t)).map(t -> _)
    )),
    known.epochs
  )

  /** Retained positions, those of another Kafka cluster as such, and without topics that continue under other names. */
  private def retains(all: Retained): Retained = {
    val from = inNewCluster.fold(Set.empty[String])(_.from)
    val of = replacedWhole.fold(all)(all.of)
    of.copy(topics = of.topics.filterNot { case (topic, kept) =>
      from(topic) && kept.former.exists(!_.isIn(view))
    })
  }

  /** Where the policy has found a position for this partition. */
  private def decided(topic: String, partition: Int): Option[Long] =
    inNewCluster.flatMap(_.positions.get(topic, partition))

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
  override def targets: Positions = {
    val old = work.targets.filterTopics(topic => !isNew(topic) || isLater(topic))
    // Without the target of each partition, a topic would be retired before it is read completely.
    val set = spans.filter(s =>
      !halfAnswered(s.topic) && (work.newlyDraining(s.topic) || (isNew(s.topic) && work.drains(s.topic)))
    )
    Positions.from(old.iterator.map { case (topic, p, target) =>
      // The latest offsets are those of the new topic, and what was left to drain was in the former one.
      val end = view.ends.get(topic, p).filterNot(_ => isLater(topic))
      (topic, p, end.fold(target)(end => math.min(math.min(end, stop(topic, p)), target)))
    }) ++ Positions.from(set.map(s => (s.topic, s.partition, s.end))) ++ whereTheyAre
  }

  /**
   * A draining topic or partition that counts as lost has no records to read: it has reached its target. The partition of
   * a topic with a known id is only unknown to the broker that responded, because Kafka does not remove partitions.
   */
  private def whereTheyAre: Positions =
    work.staying.filterTopics(topic =>
      gone(topic) && !isOfFormer(topic) && work.drains(topic) && isLost(Loss.TopicGone(id, topic))
    ) ++ here.at(lost).filterTopics(topic => work.drains(topic) && !isSame(topic))

  private def stop(topic: String, partition: Int): Long =
    ends.get(topic).flatMap(_.offsets.get(partition)).getOrElse(Long.MaxValue)

  private def span(topic: String, partition: Int, from: Long, enters: Boolean): Span = {
    val end = view.ends.get(topic, partition).getOrElse(from)
    val target =
      if (isNew(topic)) Long.MaxValue else work.targets.get(topic, partition).getOrElse(Long.MaxValue)
    val last = math.min(math.min(end, target), stop(topic, partition))
    Span(
      LogKey(id, topic, partition),
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
      view: ClusterView.Reachable,
      start: CompositeOffset,
      retained: SortedMap[String, Retained]
  ): Seq[(RenamedTopic, RetainedTopic)] =
    if (view.kafkaId.isEmpty) Nil
    else {
      val former = retained.filter { case (other, _) =>
        other != id && start.identity(other).kafkaId == view.kafkaId
      }.map { case (other, kept) => other -> kept.copy(topics = kept.topics.filter(_._2.former.isEmpty)) }
      work.entering.keys.toSeq.filterNot(view.missing).flatMap { topic =>
        former.toSeq.flatMap { case (other, kept) =>
          kept.topics.get(topic).map(RenamedTopic(id, other, topic) -> _)
        }
          .filterNot { case (_, positions) =>
            ClusterIdentity.differ(positions.id, view.topicIds.get(topic))
          }
          .maxByOption(_._2.since)
      }
    }
}

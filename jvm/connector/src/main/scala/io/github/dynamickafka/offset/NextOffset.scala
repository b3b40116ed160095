package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.ReplacedClusterPolicy

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
    ends: StoppingOffsets.ByCluster = StoppingOffsets.none,
    identities: SortedMap[String, ClusterIdentity] = SortedMap.empty,
    replaced: Seq[ReplacedCluster] = Nil,
    renamed: Seq[RenamedTopic] = Nil
) {

  /** The offset after reading `granted(i)` records of `spans(i)`. */
  def offset(granted: IndexedSeq[Long]): CompositeOffset = {
    val to = spans.iterator.zip(granted.iterator).map { case (s, n) =>
      (s.cluster, s.topic, s.partition, s.from + n)
    }
    val from = spans.iterator.filter(_.enters).map(s => (s.cluster, s.topic, s.partition, s.from))
    CompositeOffset(
      NextOffset.merge(carried, byCluster(to)),
      byCluster(from),
      retained,
      draining,
      ends,
      identitiesAt(granted)
    )
  }

  /** All that can be read now, without identities. */
  def latest: CompositeOffset = {
    val to = spans.iterator.map(s => (s.cluster, s.topic, s.partition, s.from + s.lag))
    val all = NextOffset.merge(carried, byCluster(to))
    CompositeOffset(all, retained = retained, draining = draining, ends = ends)
  }

  private def identitiesAt(granted: IndexedSeq[Long]): SortedMap[String, ClusterIdentity] = {
    val at = byCluster(spans.iterator.zip(granted.iterator).flatMap { case (s, n) =>
      s.epochAfter(n).map((s.cluster, s.topic, s.partition, _))
    })
    // Of a first position, the epoch of the leader that had it: the batch may be read again after the log was truncated.
    val entered = byCluster(spans.iterator.filter(_.enters).flatMap(s =>
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

  private def byCluster(all: Iterator[(String, String, Int, Long)]): SortedMap[String, Positions] =
    SortedMap.from(all.toSeq.groupBy(_._1).map { case (cluster, entries) =>
      cluster -> Positions.from(entries.map { case (_, topic, partition, offset) =>
        (topic, partition, offset)
      })
    })
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
  def lag: Long = math.max(0L, end - from)

  /**
   * The leader epoch of the position after `n` records. A position that does not move keeps its own: what is below it has
   * not been compared with the log of another leader.
   */
  def epochAfter(n: Long): Option[Long] = if (n > 0) newest else known.orElse(newest)
}

private[dynamickafka] object NextOffset {

  /** Without positions that were found in Kafka clusters that take the place of others. */
  def apply(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView],
      ifReplaced: ReplacedClusterPolicy,
      isLost: Loss => Boolean
  ): NextOffset = apply(start, transition, views, ifReplaced, isLost, Map.empty[String, Continuation])

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
      continued: Map[String, Continuation]
  ): NextOffset = {
    val renamed = transition.clusters.toSeq.flatMap { case (id, work) =>
      RenamedTopics(id, work, views.get(id), start, transition.retained)
    }
    val parts = transition.clusters.map { case (id, work) =>
      id -> (views.getOrElse(id, ClusterView.Unreachable) match {
        case ClusterView.Unreachable | ClusterView.Pending => carried(id, start, work, ifReplaced)
        case view: ClusterView.Reachable =>
          val found = replaced(id, start, work, view, ifReplaced)
          // Which Kafka cluster it is applies to all of its topics, and those that have not answered cannot be judged.
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
    // What returns with `same-offsets` is looked at when the cluster responds.
    val (own, others) = kept.topics.partition { case (_, of) =>
      of.former.isEmpty && ifReplaced != ReplacedClusterPolicy.SameOffsets
    }
    val back = work.returning.filterTopics(own.contains)
    val identity = start.identity(id)
    Part(
      spans = back.iterator.map { case (topic, p, at) =>
        Span(id, topic, p, at, at, enters = true, known = own(topic).epochs.get(p))
      }.toSeq,
      carried = work.staying,
      retained = stillRetained(Some(kept.copy(topics = others)), work.returning),
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

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

/**
 * Computes the next composite offset from a [[Transition]] and the responses of the clusters. Pure.
 *
 * @param spans the ranges that can be read, before limits
 * @param losses positions that Kafka no longer serves; the spans start at the first available record
 * @param waiting (cluster, topic) pairs of the metadata that do not exist in Kafka and were never read
 */
private[dynamickafka] final case class NextOffset(
    spans: IndexedSeq[Span],
    losses: Seq[Loss],
    waiting: Seq[(String, String)],
    carried: SortedMap[String, Positions],
    retained: SortedMap[String, Retained],
    draining: SortedMap[String, Positions],
    ends: StoppingOffsets.ByCluster = StoppingOffsets.none
) {

  /** The offset after reading `granted(i)` records of `spans(i)`. */
  def offset(granted: IndexedSeq[Long]): CompositeOffset = {
    val to = spans.iterator.zip(granted.iterator).map { case (s, n) =>
      (s.cluster, s.topic, s.partition, s.from + n)
    }
    val from = spans.iterator.filter(_.enters).map(s => (s.cluster, s.topic, s.partition, s.from))
    CompositeOffset(NextOffset.merge(carried, byCluster(to)), byCluster(from), retained, draining, ends)
  }

  private def byCluster(all: Iterator[(String, String, Int, Long)]): SortedMap[String, Positions] =
    SortedMap.from(all.toSeq.groupBy(_._1).map { case (cluster, of) =>
      cluster -> Positions.from(of.map { case (_, topic, partition, offset) => (topic, partition, offset) })
    })
}

private[dynamickafka] object NextOffset {

  def apply(
      start: CompositeOffset,
      transition: Transition,
      views: Map[String, ClusterView]
  ): NextOffset = {
    val parts = transition.clusters.map { case (id, work) =>
      id -> (views.getOrElse(id, ClusterView.Unreachable) match {
        case ClusterView.Unreachable => unreachable(id, start, work)
        case view: ClusterView.Reachable => new ReachableCluster(id, start, work, view).part
      })
    }
    val retained = parts.foldLeft(transition.retained) { case (all, (id, part)) =>
      putBack(all, id, part.notBack)
    }
    NextOffset(
      spans = parts.valuesIterator.flatMap(_.spans).toIndexedSeq,
      losses = parts.valuesIterator.flatMap(_.losses).toSeq,
      waiting = parts.iterator.flatMap { case (id, part) => part.waiting.map(id -> _) }.toSeq,
      carried = nonEmpty(parts.map { case (id, part) => id -> part.carried }),
      retained = retained,
      draining = nonEmpty(parts.map { case (id, part) => id -> part.targets }),
      ends = ends(start, parts, retained)
    )
  }

  /**
   * @param notBack positions that should return but cannot yet, and stay retained
   * @param judged topics whose stopping offsets are in `ends`; those of other topics do not change
   */
  private final case class Part(
      spans: Seq[Span] = Nil,
      losses: Seq[Loss] = Nil,
      waiting: Seq[String] = Nil,
      carried: Positions = Positions.empty,
      notBack: Option[Retained] = None,
      targets: Positions = Positions.empty,
      judged: Set[String] = Set.empty,
      ends: StoppingOffsets.ByTopic = SortedMap.empty
  )

  /** A stopping offset is kept while its partition is absent, and is dropped together with its position. */
  private def ends(
      start: CompositeOffset,
      parts: SortedMap[String, Part],
      retained: SortedMap[String, Retained]
  ): StoppingOffsets.ByCluster = {
    val kept = start.ends.map { case (id, topics) =>
      val part = parts.getOrElse(id, Part())
      val known = part.carried.topics ++ retained.get(id).fold(Set.empty[String])(_.positions.topics)
      id -> topics.filter { case (topic, _) => known(topic) && !part.judged(topic) }
    }
    parts.foldLeft(kept) { case (all, (id, part)) =>
      all.updated(id, all.getOrElse(id, SortedMap.empty[String, TopicEnds]) ++ part.ends)
    }.filter(_._2.nonEmpty)
  }

  private def stillRetained(id: String, start: CompositeOffset, positions: Positions): Option[Retained] =
    if (positions.isEmpty) None
    else start.retained.get(id).map(kept => Retained(kept.since, positions))

  /** An unreachable cluster keeps its positions, its drain targets and its retained positions. */
  private def unreachable(id: String, start: CompositeOffset, work: ClusterTransition): Part =
    Part(
      carried = work.staying,
      notBack = stillRetained(id, start, work.returning),
      targets = work.targets
    )

  private final class ReachableCluster(
      id: String,
      start: CompositeOffset,
      work: ClusterTransition,
      view: ClusterView.Reachable
  ) {
    private val positions = work.staying ++ work.returning
    private val gone = positions.topics.intersect(view.missing)
    private val halfAnswered = view.unanswered.keySet.map(_._1)
    // A topic enters as a whole: a partition that follows later would be new, and be read from its beginning.
    private val later = work.entering.keySet.toSet.filter(halfAnswered) -- view.missing
    private val ends = work.ending.filter { case (topic, _) => !view.missing(topic) && !later(topic) }
      .map { case (topic, e) => topic -> TopicEnds(e.by, view.endings.of(topic) ++ e.fixed) }
      .filter(_._2.offsets.nonEmpty)

    def part: Part = {
      val reading = work.topics -- view.missing -- later
      val pieces = reading.toSeq.sorted.map(topic => topic -> partitions(topic))
      val spans = pieces.flatMap { case (_, (found, _, _)) => found }
      // Without the target of each partition, a topic would be retired before it is read completely.
      val targets = spans.filter(s => work.newlyDraining(s.topic) && !halfAnswered(s.topic)).map(s =>
        (s.topic, s.partition, s.end)
      )
      Part(
        spans = spans,
        losses = gone.toSeq.sorted.map(Loss.TopicGone(id, _)) ++ pieces.flatMap { case (_, (_, losses, _)) =>
          losses
        },
        waiting = work.entering.keySet.toSeq.filter(view.missing),
        carried = work.staying.filter((t, p) => gone(t) || view.unanswered.contains((t, p))) ++
          Positions.from(pieces.flatMap { case (topic, (_, _, left)) =>
            left.map { case (p, o) => (topic, p, o) }
          }),
        notBack = stillRetained(
          id,
          start,
          work.returning.filter((t, p) => gone(t) || view.unanswered.contains((t, p)))
        ),
        targets =
          reachable(work.targets) ++ Positions.from(targets) ++ whereTheyAre(gone.filter(work.drains)),
        judged = reading,
        ends = ends
      )
    }

    /** The spans and losses of one topic, and the positions of partitions that no longer exist in Kafka. */
    private def partitions(topic: String): (Seq[Span], Seq[Loss], Seq[(Int, Long)]) = {
      val known = positions.of(topic).filter { case (p, _) => !view.unanswered.contains((topic, p)) }
      val ends = view.ends.of(topic)
      val earliest = view.earliest.of(topic)
      val old = known.toSeq.map { case (p, at) =>
        (ends.get(p), earliest.getOrElse(p, at)) match {
          case (None, _) => (None, Some(Loss.PartitionGone(id, topic, p, at)), Some(p -> at))
          case (Some(end), first) if end < at =>
            (Some(span(topic, p, first, enters = true)), Some(Loss.Recreated(id, topic, p, at, end)), None)
          case (Some(_), first) if first > at =>
            (Some(span(topic, p, first, enters = true)), Some(Loss.Expired(id, topic, p, at, first)), None)
          case _ => (Some(span(topic, p, at, enters = work.returning.get(topic, p).isDefined)), None, None)
        }
      }
      // A draining topic is read up to its drain targets, so partitions that are added later are not read.
      val fresh =
        if (work.targets.topics(topic)) Nil else (ends.keySet -- known.keySet).toSeq.map(enter(topic, _))
      (old.flatMap(_._1) ++ fresh.map(_._1), old.flatMap(_._2) ++ fresh.flatMap(_._2), old.flatMap(_._3))
    }

    private def enter(topic: String, partition: Int): (Span, Option[Loss]) = {
      val end = view.ends.get(topic, partition).getOrElse(0L)
      val first = view.earliest.get(topic, partition).getOrElse(end)
      view.entering.get(topic, partition) match {
        case Some(asked) if asked < first || asked > end =>
          (
            span(topic, partition, first, enters = true),
            Some(Loss.OutOfRange(id, topic, partition, asked, first, end))
          )
        case asked => (span(topic, partition, asked.getOrElse(first), enters = true), None)
      }
    }

    /** A draining topic that no longer exists has no records to read: it has reached its target. */
    private def whereTheyAre(topics: Set[String]): Positions = work.staying.filterTopics(topics)

    /**
     * Lowers a drain target that would never be reached, because the topic was recreated while it drained, or because
     * it has a stopping offset below the target.
     */
    private def reachable(targets: Positions): Positions =
      Positions.from(targets.iterator.map { case (topic, p, target) =>
        (
          topic,
          p,
          view.ends.get(topic, p).fold(target)(end => math.min(math.min(end, stop(topic, p)), target))
        )
      })

    private def stop(topic: String, partition: Int): Long =
      ends.get(topic).flatMap(_.offsets.get(partition)).getOrElse(Long.MaxValue)

    private def span(topic: String, partition: Int, from: Long, enters: Boolean): Span = {
      val end = view.ends.get(topic, partition).getOrElse(from)
      val target = work.targets.get(topic, partition).getOrElse(Long.MaxValue)
      val last = math.min(math.min(end, target), stop(topic, partition))
      Span(id, topic, partition, from, math.max(from, last), enters)
    }
  }

  private def putBack(
      retained: SortedMap[String, Retained],
      id: String,
      notBack: Option[Retained]
  ): SortedMap[String, Retained] =
    notBack.fold(retained) { back =>
      val merged = retained.get(id).fold(back) { kept =>
        Retained(math.max(kept.since, back.since), kept.positions ++ back.positions, kept.drained)
      }
      retained.updated(id, merged)
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

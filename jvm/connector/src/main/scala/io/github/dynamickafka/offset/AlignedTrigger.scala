package io.github.dynamickafka.offset

/**
 * Decides how far each partition is read in a trigger, so that no cluster is read further ahead of the oldest one than the drift
 * allows. Pure: what has to be asked is returned as [[Alignment.Ask]]. The clusters of the oldest records always advance.
 *
 * @param files the least time of the files of histories that are not read, which count as unread records
 * @param asked what has been asked in this trigger
 */
private[dynamickafka] final case class AlignedTrigger(
    rules: Alignment.Rules,
    alignment: Alignment,
    clusters: Map[String, Alignment.Cluster],
    now: Long,
    monotonicMs: Long,
    files: Option[Long] = None,
    asked: Alignment.Asked = Alignment.Asked()
) {
  import AlignedTrigger._
  import Alignment._

  private def times = alignment.times

  private def isSilent(key: LogKey): Boolean =
    asked.failed(key) || !clusters.get(key.cluster).exists(c => c.responds && !c.unanswered(key))

  private lazy val (silent, responding) = times.partition { case (key, _) => isSilent(key) }

  /** The partitions that can be read. */
  private lazy val open = responding.filter(_._2.isUnread)

  private lazy val openOf = byCluster(open)
  private lazy val silentOf = byCluster(silent)
  private lazy val respondingOf = byCluster(responding)

  def next: Step = {
    val unknown = asked.times ++ open.iterator.collect { case (key, p) if p.least.isEmpty => key }
    val questions =
      TimeSearch.questions(open.filter { case (key, _) => unknown(key) }, open.values, now, rules.driftMs)
    if (questions.nonEmpty) Ask(questions, copy(asked = asked.copy(times = unknown))) else align
  }

  private def align: Step =
    (clusters.keysIterator.flatMap(hold) ++ files.map(Hold(_))).minByOption(_.time) match {
      case Some(Hold(Unknown, _)) => aligned(Some(Unknown), _.at)
      case Some(oldest) if oldest.time + rules.driftMs <= now =>
        val read = TimeSearch.questions(oldest.idle, Nil, now, rules.driftMs)
        if (read.nonEmpty) Ask(read, this) else upTo(oldest.time + rules.driftMs)
      case _ => aligned(None, _.end)
    }

  private def upTo(bound: Long): Step = {
    def endBefore(time: Long)(p: PartitionTimes) = p.endAt(time, now).getOrElse(p.at)
    // Positions of which only a lower limit was known: they are searched, instead of being approached drift by drift.
    lazy val inexact = open.collect {
      case (key, p) if !asked.times(key) && p.least.exists(p.below - _ > rules.driftMs) => key
    }.toSet
    asked.bound match {
      case Some(before) if before < bound && open.valuesIterator.exists(p => p.at < endBefore(before)(p)) =>
        aligned(Some(before), endBefore(before))
      case Some(before) if before < bound && inexact.nonEmpty =>
        copy(asked = asked.copy(asked.times ++ inexact, bound = None)).next
      case _ =>
        val missing = open.collect { case (key, p) if p.endAt(bound, now).isEmpty => key -> bound }
        if (missing.nonEmpty) Ask(missing, copy(asked = asked.copy(bound = Some(bound))))
        else aligned(Some(bound), endBefore(bound))
    }
  }

  /** Partitions whose times were asked for without a response are not read. */
  private def aligned(bound: Option[Long], endOf: PartitionTimes => Long): Step = {
    val unknown = asked.failed.iterator.flatMap(key => times.get(key).map(key -> _.at))
    Aligned(bound, open.map { case (key, p) => key -> endOf(p) } ++ unknown, this)
  }

  /** The time up to which the other clusters are read because of this one. */
  private def hold(id: String): Option[Hold] = {
    def isWaitedFor(since: Map[String, Long]) =
      rules.waits && since.get(id).exists(monotonicMs - _ < rules.idleMs)
    val (unread, away) = (openOf.getOrElse(id, Map.empty), silentOf.getOrElse(id, Map.empty))
    val isRead = respondingOf.getOrElse(id, Map.empty)
    val unanswered = if (isWaitedFor(alignment.answered)) away.filter(_._2.isUnread) else Map.empty
    if (!clusters(id).responds && away.isEmpty)
      Option.when(isWaitedFor(alignment.answered))(Hold(Unknown))
    else if (unread.nonEmpty || unanswered.nonEmpty)
      (unread.values ++ unanswered.values)
        .filterNot(p => p.isTimeless || (p.isAhead(now) && p.time(now).isEmpty))
        .map(_.time(now).getOrElse(Unknown)).minOption.map(Hold(_))
    else if (isWaitedFor(alignment.unread) && (clusters(id).responds || isWaitedFor(alignment.answered)))
      (isRead.values ++ away.values).flatMap(_.time(now)).maxOption
        .map(Hold(_, isRead.filter(_._2.time(now).isDefined)))
    else None
  }

  /**
   * @param answers of the partitions that have responded
   * @param questions what was asked
   */
  def answered(questions: Map[LogKey, Long], answers: Map[LogKey, TimeAnswer]): AlignedTrigger = copy(
    alignment = alignment.copy(times = answers.foldLeft(times) { case (all, (key, answer)) =>
      all.updatedWith(key)(_.map(_.answered(answer)))
    }),
    asked = asked.copy(failed = asked.failed ++ (questions.keySet -- answers.keySet))
  )

  /** The latest offset of a partition. */
  def endOf(key: LogKey): Option[Long] = times.get(key).map(_.end)

  /**
   * What is asked for the trigger after a batch that ends at these positions.
   *
   * @param left the least time of the files that are not read then
   */
  def ahead(positions: Map[LogKey, Long], left: Option[Long] = None): Map[LogKey, Long] = {
    val after = copy(
      alignment = alignment.after(positions),
      files = left,
      asked = Asked(failed = asked.failed)
    )
    after.next match {
      case Ask(questions, _) => questions
      case _ => Map.empty
    }
  }

  /** What is kept for the next trigger, after a batch that ends at these positions. */
  def ended(positions: Map[LogKey, Long]): Alignment = {
    def at(id: String, kept: Map[String, Long], isNow: Boolean) =
      id -> (if (isNow) monotonicMs else kept.getOrElse(id, monotonicMs))
    val hasFailed = asked.failed.map(_.cluster)
    val hasUnread = times.iterator.filter(_._2.isUnread).map(_._1.cluster).toSet
    alignment.after(positions).copy(
      unread = clusters.map { case (id, _) => at(id, alignment.unread, hasUnread(id)) },
      answered = clusters.map { case (id, cluster) =>
        at(id, alignment.answered, cluster.responds && cluster.unanswered.isEmpty && !hasFailed(id))
      }
    )
  }
}

private object AlignedTrigger {
  private type Times = Map[LogKey, PartitionTimes]

  private def byCluster(all: Times): Map[String, Times] = all.groupBy(_._1.cluster)

  /** Nothing is read: the time of a cluster is not known. */
  private val Unknown = Long.MinValue

  /**
   * @param time the time of the cluster
   * @param idle its partitions, if it has no unread records
   */
  private final case class Hold(time: Long, idle: Map[LogKey, PartitionTimes] = Map.empty)
}

/**
 * Finds the times of positions by bisection: where a query starts, restarts, or a partition enters in the middle of its log. All
 * partitions are asked at once, round by round. Pure.
 */
private[dynamickafka] object TimeSearch {

  /**
   * The times to ask for in the next round. Empty if the times are known well enough: to a sixteenth of the drift, or that they
   * are not the least ones, or later than `now` less the drift.
   *
   * @param searched the partitions whose times are searched
   * @param others all partitions whose times are compared with them
   */
  def questions(
      searched: Map[LogKey, PartitionTimes],
      others: Iterable[PartitionTimes],
      now: Long,
      driftMs: Long
  ): Map[LogKey, Long] = {
    val level = math.max(0L, now - driftMs + 1)
    val precision = math.max(1L, driftMs / 16)
    val least = others.iterator.filterNot(p => p.isAhead(now) || p.isTimeless).map(
      _.below
    ).minOption.getOrElse(Long.MaxValue)
    def isOpen(p: PartitionTimes) = !p.isTimeless && !p.isAhead(now) &&
      p.least.forall(time => time < level && time < least && p.below - time > precision)
    searched.collect { case (key, p) if isOpen(p) => key -> next(p, level) }
  }

  private def next(p: PartitionTimes, level: Long): Long =
    if (p.below == Long.MaxValue) level
    else p.least.fold(0L)(time => time + (p.below - time) / 2)
}

/**
 * What the triggers of a query keep to align its clusters. Immutable.
 *
 * @param times what is known of the times of its partitions
 * @param unread when each cluster last had unread records, or was first seen. Monotonic milliseconds, as in `answered`
 * @param answered when each cluster last responded, or was first seen
 */
private[dynamickafka] final case class Alignment(
    times: Map[LogKey, PartitionTimes],
    unread: Map[String, Long] = Map.empty,
    answered: Map[String, Long] = Map.empty
) {

  /** @param read what tasks have reported of the records that they have read */
  def reported(read: LogKey => Option[ReadTime]): Alignment =
    copy(times = times.map { case (key, known) => key -> read(key).fold(known)(known.reported) })

  /** The alignment with the positions after a batch. */
  def after(positions: Map[LogKey, Long]): Alignment =
    copy(times = positions.foldLeft(times) { case (all, (key, to)) =>
      all.updatedWith(key)(_.map(known => known.moved(to, known.end)))
    })

  /**
   * A trigger begins. Nothing is known of partitions that enter.
   *
   * @param clusters the clusters that the query reads
   * @param now epoch milliseconds
   * @param monotonicMs monotonic milliseconds
   * @param files the least time of the files of histories that are not read
   */
  def begin(
      rules: Alignment.Rules,
      spans: Iterable[Span],
      clusters: Map[String, Alignment.Cluster],
      now: Long,
      monotonicMs: Long,
      files: Option[Long] = None
  ): AlignedTrigger = {
    // A partition that has no span is still read if its cluster does not respond.
    def isRead(key: LogKey) = clusters.get(key.cluster).exists(c => !c.responds || c.unanswered(key))
    val here = spans.iterator.map { span =>
      span.key -> times.get(span.key).filterNot(_ => span.enters)
        .fold(PartitionTimes(span.from, span.end, span.from))(_.moved(span.from, span.end))
    }.toMap
    def since(all: Map[String, Long]) = clusters.map { case (id, _) => id -> all.getOrElse(id, monotonicMs) }
    AlignedTrigger(
      rules,
      Alignment(times.filter { case (key, _) => isRead(key) } ++ here, since(unread), since(answered)),
      clusters,
      now,
      monotonicMs,
      files
    )
  }
}

private[dynamickafka] object Alignment {
  val none: Alignment = Alignment(Map.empty)

  /**
   * @param driftMs how far a cluster may be read ahead of the one with the oldest unread record
   * @param idleMs how long the others wait for a cluster without unread records, or without a response
   * @param waits whether they wait for it at all. Not with `Trigger.AvailableNow`: only what was there at the start counts
   */
  final case class Rules(driftMs: Long, idleMs: Long, waits: Boolean = true)

  /** @param unanswered partitions without a response of a cluster that has responded */
  final case class Cluster(responds: Boolean, unanswered: Set[LogKey] = Set.empty)

  /**
   * What has been asked in a trigger.
   *
   * @param times partitions whose times were not known, or not well enough to advance
   * @param failed partitions whose times were asked for without a response
   * @param bound the bound for which ends were asked
   */
  final case class Asked(
      times: Set[LogKey] = Set.empty,
      failed: Set[LogKey] = Set.empty,
      bound: Option[Long] = None
  )

  sealed trait Step extends Product with Serializable

  /** The clusters have to be asked for the first record of these times or later; `from` continues with the answers. */
  final case class Ask(questions: Map[LogKey, Long], from: AlignedTrigger) extends Step

  /**
   * @param bound only records that are older are read; None: all records
   * @param ends where to end, for partitions with unread records of clusters that have responded
   */
  final case class Aligned(bound: Option[Long], ends: Map[LogKey, Long], from: AlignedTrigger) extends Step
}

package io.github.dynamickafka.offset.alignment

import io.github.dynamickafka.offset.Span

/**
 * What the triggers of a query keep to align its clusters. Immutable.
 *
 * @param times what is known of the times of its partitions
 * @param unread when each cluster last had unread records, or was first seen. Monotonic milliseconds, as in `answered`
 * @param answered when each cluster last responded, or was first seen
 */
private[dynamickafka] final case class Alignment(
    times: EventTimes,
    unread: Map[String, Long] = Map.empty,
    answered: Map[String, Long] = Map.empty
) {

  /**
   * A trigger begins.
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
    def isRead(key: LogKey) = clusters.get(key.cluster).exists(c => !c.responds || c.unanswered(key))
    def since(all: Map[String, Long]) = clusters.map { case (id, _) => id -> all.getOrElse(id, monotonicMs) }
    AlignedTrigger(
      rules,
      copy(times.at(spans, isRead), since(unread), since(answered)),
      clusters,
      now,
      monotonicMs,
      files
    )
  }
}

private[dynamickafka] object Alignment {
  val none: Alignment = Alignment(EventTimes.none)

  /**
   * @param driftMs how far a cluster may be read ahead of the one with the oldest unread record
   * @param idleMs how long the others wait for a cluster without unread records, or without a response
   * @param waits whether they wait for it at all. Not with `Trigger.AvailableNow`: only what was there at the start counts
   */
  final case class Rules(driftMs: Long, idleMs: Long, waits: Boolean = true)

  /** @param unanswered partitions without a response of a cluster that has responded */
  final case class Cluster(responds: Boolean, unanswered: Set[LogKey] = Set.empty)

  sealed trait Step extends Product with Serializable

  /** The clusters have to be asked for the first record of these times or later; `from` continues with the answers. */
  final case class Ask(questions: Map[LogKey, Long], from: AlignedTrigger) extends Step

  /**
   * @param bound only records that are older are read; None: all records
   * @param ends where to end, for partitions with unread records of clusters that have responded
   */
  final case class Aligned(bound: Option[Long], ends: Map[LogKey, Long], from: AlignedTrigger) extends Step
}

package io.github.dynamickafka.offset.alignment

import io.github.dynamickafka.offset.Span

/** What is known of the times of all partitions. Immutable. */
private[dynamickafka] final case class EventTimes(partitions: Map[LogKey, PartitionTimes]) {

  def apply(partition: LogKey): Option[PartitionTimes] = partitions.get(partition)

  /** The latest offset of a partition. */
  def endOf(partition: LogKey): Option[Long] = apply(partition).map(_.end)

  /**
   * With the positions of a trigger. Nothing is known of partitions that enter.
   *
   * @param isRead whether a partition that has no span is still read: its cluster does not respond
   */
  def at(spans: Iterable[Span], isRead: LogKey => Boolean): EventTimes = {
    val here = spans.iterator.map { span =>
      val key = EventTimes.key(span)
      key -> partitions.get(key).filterNot(_ => span.enters)
        .fold(PartitionTimes(span.from, span.end, span.from))(_.moved(span.from, span.end))
    }.toMap
    EventTimes(partitions.filter { case (key, _) => isRead(key) } ++ here)
  }

  /** With the positions after a batch. */
  def after(positions: Iterable[(LogKey, Long)]): EventTimes = EventTimes(positions.foldLeft(partitions) {
    case (all, (key, to)) => all.get(key).fold(all)(known => all.updated(key, known.moved(to, known.end)))
  })

  def answered(answers: Iterable[(LogKey, TimeAnswer)]): EventTimes =
    EventTimes(answers.foldLeft(partitions) { case (all, (key, answer)) =>
      all.get(key).fold(all)(known => all.updated(key, known.answered(answer)))
    })

  def reported(read: ReadTimes): EventTimes =
    if (read eq ReadTimes.none) this
    else EventTimes(partitions.map { case (key, known) => key -> read(key).fold(known)(known.reported) })
}

private[dynamickafka] object EventTimes {
  val none: EventTimes = EventTimes(Map.empty)

  def key(span: Span): LogKey = LogKey(span.cluster, span.topic, span.partition)
}

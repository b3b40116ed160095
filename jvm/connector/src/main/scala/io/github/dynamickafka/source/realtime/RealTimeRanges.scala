package io.github.dynamickafka.source.realtime

import io.github.dynamickafka.offset.{CompositeOffset, LogIdentity, OffsetRange, Positions}

/**
 * What a batch reads that starts at an offset, by cluster. Pure.
 *
 * Kafka's client gets the leader epoch of each start. It compares the log with it before it reads, and again at each election: while
 * it has read no record, it knows no other epoch, and would read on in a log that was truncated and has grown past the start.
 */
private[source] object RealTimeRanges {

  def apply(start: CompositeOffset): Seq[(String, OffsetRange)] =
    for {
      (id, positions) <- start.clusters.toSeq
      identity = start.identity(id)
      targets = start.draining.getOrElse(id, Positions.empty)
      (topic, p, from) <- positions.iterator.toSeq
      stop = start.endsOf(id).get(topic).flatMap(_.offsets.get(p))
      until = (targets.get(topic, p) ++ stop).minOption.getOrElse(OffsetRange.NoEnd) if from < until
    } yield id -> OffsetRange(
      topic,
      p,
      from,
      until,
      identity.epochs.get(topic, p),
      LogIdentity(identity.topics.get(topic))
    )
}

package io.github.dynamickafka.admin.checkpoint

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.{CompositeOffset, Positions}

/**
 * The position in one partition.
 *
 * @param at the next offset to read
 * @param state `reading`; `draining`: read up to the target; `retained`: removed, and resumed here if it is added again; `drained`:
 *              removed after it was read to its target
 * @param entered where reading begins, if the newest batch adds the partition, or adds it again
 * @param target where draining ends
 * @param stop where reading ends for good, by stopping offsets
 * @param sinceMs when it was removed, in milliseconds since 1970-01-01 UTC
 */
private[admin] final case class Position(
    cluster: String,
    topic: String,
    partition: Int,
    at: Long,
    state: String,
    entered: Option[Long] = None,
    target: Option[Long] = None,
    stop: Option[Long] = None,
    sinceMs: Option[Long] = None
) {
  def isRead: Boolean = sinceMs.isEmpty
  def place: TopicPartition = new TopicPartition(topic, partition)
}

private[admin] object Position {

  /** All positions of an offset, sorted by cluster, topic and partition. Pure. */
  def of(offset: CompositeOffset): Seq[Position] = {
    val read = offset.clusters.toSeq.flatMap { case (id, positions) =>
      val targets = offset.draining.getOrElse(id, Positions.empty)
      val entered = offset.entered.getOrElse(id, Positions.empty)
      val ends = offset.endsOf(id)
      positions.iterator.map { case (topic, p, at) =>
        val target = targets.get(topic, p)
        Position(
          id,
          topic,
          p,
          at,
          if (target.isDefined) "draining" else "reading",
          entered.get(topic, p),
          target,
          ends.get(topic).flatMap(_.offsets.get(p))
        )
      }
    }
    val left = for {
      (id, kept) <- offset.retained.toSeq
      (topic, of) <- kept.topics.toSeq
      (p, at) <- of.offsets
    } yield {
      val state = if (kept.drained(topic)) "drained" else "retained"
      Position(id, topic, p, at, state, sinceMs = Some(of.since))
    }
    (read ++ left).sortBy(p => (p.cluster, p.topic, p.partition))
  }
}

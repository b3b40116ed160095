package io.github.dynamickafka.admin.checkpoint

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.{CompositeOffset, Positions}

/**
 * The position in one partition, of which `state` is how users know it: `active`, `draining`, or `retained`, which is not read.
 *
 * @param at the next offset to read
 */
private[admin] final case class Position(
    cluster: String,
    topic: String,
    partition: Int,
    at: Long,
    state: String
) {
  def isRead: Boolean = state != Position.Retained
  def place: TopicPartition = new TopicPartition(topic, partition)
}

private[admin] object Position {
  private val Retained = "retained"

  /** All positions of an offset, sorted by cluster, topic and partition. Pure. */
  def of(offset: CompositeOffset): Seq[Position] = {
    val read = offset.clusters.toSeq.flatMap { case (id, positions) =>
      val targets = offset.draining.getOrElse(id, Positions.empty)
      positions.iterator.map { case (topic, p, at) =>
        Position(id, topic, p, at, if (targets.get(topic, p).isDefined) "draining" else "active")
      }
    }
    val left = offset.retained.toSeq.flatMap { case (id, kept) =>
      kept.positions.iterator.map { case (topic, p, at) => Position(id, topic, p, at, Retained) }
    }
    (read ++ left).sortBy(p => (p.cluster, p.topic, p.partition))
  }
}

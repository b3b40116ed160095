package io.github.dynamickafka.source.read

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.Loss

/** A part of a range that does not exist, or no longer exists, on the cluster. */
private[source] sealed trait Lost extends Product with Serializable {
  def partition: TopicPartition

  /** The loss as it is reported to users. */
  def in(cluster: String): Loss
}

/** @param at the next offset to read */
private[source] final case class LostPartition(partition: TopicPartition, at: Long) extends Lost {
  override def in(cluster: String): Loss =
    Loss.PartitionGone(cluster, partition.topic, partition.partition, at)
}

/**
 * The end of a range is not in the log.
 *
 * @param at the next offset to read
 * @param until the end of the range, exclusive
 * @param end the latest offset, which is at most `at`
 */
private[source] final case class LostEnd(partition: TopicPartition, at: Long, until: Long, end: Long)
    extends Lost {
  override def in(cluster: String): Loss =
    Loss.BeyondEnd(cluster, partition.topic, partition.partition, at, until, end)
}

/**
 * @param at the next offset to read
 * @param until the end of the range, exclusive
 * @param earliest the earliest available offset
 * @param end the latest offset, which is the offset after the last record
 * @param truncated whether the log was truncated below `at`, for example by an unclean leader election (KIP-320)
 * @param diverges the offset from which on the log has other records than those that were read, if it is known
 */
private[source] final case class LostOffsets(
    partition: TopicPartition,
    at: Long,
    until: Long,
    earliest: Long,
    end: Long,
    truncated: Boolean,
    diverges: Option[Long] = None
) extends Lost {

  /**
   * The offset of the first available record; the end of the range if none of its records is available. Never below the
   * range, also where the log diverges below it: the next range would find the same divergence again if the leader was
   * elected after this range was logged, and repeat what this one has read.
   */
  def resumeAt: Long =
    if (at < earliest) math.min(earliest, until)
    else if (at < end) at
    else until

  /** Whether the offset is available again, so that no record is lost. */
  def isBack: Boolean = !truncated && at >= earliest && at < end

  override def in(cluster: String): Loss =
    if (at < earliest) Loss.Expired(cluster, partition.topic, partition.partition, at, earliest)
    else if (truncated) Loss.Truncated(cluster, partition.topic, partition.partition, at, diverges)
    else Loss.Recreated(cluster, partition.topic, partition.partition, at, end)
}

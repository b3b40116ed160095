package io.github.dynamickafka.source.read

import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.offset.Loss

/** What a range names and the cluster does not have (any more). */
private[source] sealed trait Lost extends Product with Serializable {
  def partition: TopicPartition

  /** As users are told. */
  def in(cluster: String): Loss
}

/** @param at the next offset to read */
private[source] final case class LostPartition(partition: TopicPartition, at: Long) extends Lost {
  override def in(cluster: String): Loss =
    Loss.PartitionGone(cluster, partition.topic, partition.partition, at)
}

/**
 * @param at the next one to read
 * @param until the end of the range
 * @param earliest the first that is there
 * @param end the one after the last that is there
 * @param truncated the log has been cut below `at`, as after an unclean election of its leader (KIP-320)
 */
private[source] final case class LostOffsets(
    partition: TopicPartition,
    at: Long,
    until: Long,
    earliest: Long,
    end: Long,
    truncated: Boolean
) extends Lost {

  /** Where records are (still, or again) there; the end of the range where none of it is. */
  def resumeAt: Long =
    if (at < earliest) math.min(earliest, until)
    else if (at < end) at
    else until

  /** Whether it was there when it was looked for: then nothing is lost. */
  def isBack: Boolean = !truncated && at >= earliest && at < end

  override def in(cluster: String): Loss =
    if (at < earliest) Loss.Expired(cluster, partition.topic, partition.partition, at, earliest)
    else if (truncated) Loss.Truncated(cluster, partition.topic, partition.partition, at)
    else Loss.Recreated(cluster, partition.topic, partition.partition, at, end)
}

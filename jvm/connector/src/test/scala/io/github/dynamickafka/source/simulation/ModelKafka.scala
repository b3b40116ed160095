package io.github.dynamickafka.source.simulation

/**
 * The log of a partition. Each record is a number that no other record of a history has, so that two records at the same
 * offset of two logs are not mistaken for one.
 *
 * @param first the earliest available offset
 * @param epochs the leader epochs, each with the offset where it starts, as Kafka keeps them
 */
private[source] final case class ModelLog(
    first: Long = 0L,
    records: Vector[Long] = Vector.empty,
    epochs: Vector[(Long, Long)] = Vector(0L -> 0L)
) {
  def end: Long = first + records.size
  def append(more: Seq[Long]): ModelLog = copy(records = records ++ more)

  /** Retention: the oldest records are gone. */
  def expire(count: Int): ModelLog =
    copy(first = first + math.min(count, records.size), records = records.drop(count))

  /** The epoch of the leader. */
  def epoch: Long = epochs.last._1

  /** The epoch of the leader that has written this offset. */
  def epochOf(offset: Long): Long = epochs.filter(_._2 <= offset).last._1

  /** Clean leader election. */
  def elect: ModelLog = copy(epochs = epochs.filter(_._2 < end) :+ (epoch + 1 -> end))

  /** Unclean leader election: the newest records are gone. */
  def cut(count: Int): ModelLog = copy(records = records.dropRight(count)).elect

  /** Kafka's answer to OffsetsForLeaderEpoch: where the records of later epochs start. */
  def endOf(epoch: Long): Long =
    epochs.collectFirst { case (later, start) if later > epoch => start }.getOrElse(end)

  /** The records in this range of offsets that exist. */
  def read(from: Long, until: Long): Vector[Long] =
    records.slice(math.max(0L, from - first).toInt, math.max(0L, until - first).toInt)
}

/** @param id Kafka's topic id (KIP-516) */
private[source] final case class ModelTopic(id: String, logs: Vector[ModelLog])

/** @param id Kafka's `cluster.id` (KIP-78) */
private[simulation] final case class ModelCluster(id: String, topics: Map[String, ModelTopic])

/** One log, whatever its topic and its cluster are called. */
private[simulation] final case class LogId(topicId: String, partition: Int)

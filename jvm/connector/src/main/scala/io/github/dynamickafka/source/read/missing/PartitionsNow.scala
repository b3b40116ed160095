package io.github.dynamickafka.source.read.missing

import java.time.Duration

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.Consumer
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException

/**
 * Asks the cluster of a consumer which partitions exist and where their logs end, while ranges are not complete. Used by the thread of the
 * consumer.
 *
 * @param uncommitted opens another consumer of the cluster, which reads the end of the log instead of the last stable offset
 */
private[read] final class PartitionsNow(
    consumer: Consumer[Array[Byte], Array[Byte]],
    uncommitted: Option[() => Consumer[Array[Byte], Array[Byte]]]
) {
  // Opened at the first question.
  private var ofLogEnds = Option.empty[Consumer[Array[Byte], Array[Byte]]]

  /**
   * The offsets after the last records of the logs, whether transactions are open or not.
   *
   * @param waitMs how long to wait; if the cluster does not respond, the result is empty
   */
  def logEnds(asked: Set[TopicPartition], waitMs: Option[Long] = None): Map[TopicPartition, Long] = {
    if (ofLogEnds.isEmpty) ofLogEnds = uncommitted.map(_())
    val client = ofLogEnds.getOrElse(consumer)
    try waitMs.fold(client.endOffsets(asked.asJava))(ms =>
        client.endOffsets(asked.asJava, Duration.ofMillis(ms))
      )
        .asScala.map { case (tp, end) => tp -> end.longValue }.toMap
    catch { case _: TimeoutException if waitMs.isDefined => Map.empty }
  }

  /** Those of these partitions that exist; all of a topic if the cluster does not respond. */
  def existing(partitions: Set[TopicPartition], waitMs: Long): Set[TopicPartition] =
    partitions.groupBy(_.topic).flatMap { case (topic, partitionsOfTopic) =>
      try consumer.partitionsFor(topic, Duration.ofMillis(waitMs)).asScala.map(p =>
          new TopicPartition(topic, p.partition)
        )
      catch { case _: TimeoutException => partitionsOfTopic }
    }.toSet

  /** The other consumer, if there is one. Does not wait. */
  def close(): Unit = {
    ofLogEnds.foreach(_.close(Duration.ZERO))
    ofLogEnds = None
  }
}

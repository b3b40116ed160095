package io.github.dynamickafka.source.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream

import io.github.dynamickafka.offset.{CompositeOffsetJson, Positions}

/**
 * The current executors, as preferred locations. Spark exposes them to its Kafka source but not through a public
 * interface. So this class plans partitions of topics with Spark's source, which distributes them over all executors by a
 * hash. This makes no requests, and the topics need not exist.
 *
 * @param source a stream of Spark's Kafka source
 */
private[source] final class ExecutorPlaces(source: => MicroBatchStream) {
  private lazy val stream = source
  private lazy val none = offset(0L)
  private lazy val one = offset(1L)

  /** In a stable order; empty if all tasks run in this process. */
  def all(): IndexedSeq[String] =
    if (SparkSession.active.sparkContext.isLocal) IndexedSeq.empty
    else stream.planInputPartitions(none, one).flatMap(_.preferredLocations).distinct.sorted.toIndexedSeq

  private def offset(at: Long) = stream.deserializeOffset(
    CompositeOffsetJson.writePositions(Positions.from(ExecutorPlaces.probes.map { case (topic, partition) =>
      (topic, partition, at)
    }))
  )
}

private[source] object ExecutorPlaces {
  val Most = 1000
  private val Step = 31

  /**
   * The topics and partitions that find all of up to [[Most]] executors. Spark takes the remainder of the hash of topic
   * and partition, in which the partition counts 31 times and the last letter of the topic once: 31 topics with
   * successive last letters have successive hashes, so they leave no executor out, whatever their number is.
   */
  val probes: Seq[(String, Int)] =
    for (letter <- 0 until Step; partition <- 0 to Most / Step)
      yield (s"places-${('A' + letter).toChar}", partition)
}

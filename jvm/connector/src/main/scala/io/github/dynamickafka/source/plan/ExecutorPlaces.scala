package io.github.dynamickafka.source.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream

import io.github.dynamickafka.offset.{CompositeOffsetJson, Positions}

/**
 * The current executors, as preferred locations. Spark exposes them to its Kafka source but not through a public
 * interface. So this class plans a topic with many partitions with Spark's source, which distributes them over all
 * executors by a hash. This makes no requests, and the topic need not exist.
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
    CompositeOffsetJson.writePositions(Positions.from((0 until ExecutorPlaces.Partitions).map((
      "places",
      _,
      at
    ))))
  )
}

private[source] object ExecutorPlaces {

  /** Sufficient for a few hundred executors. */
  private val Partitions = 512
}

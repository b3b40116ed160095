package io.github.dynamickafka.source.plan

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream

import io.github.dynamickafka.offset.{CompositeOffsetJson, Positions}

/**
 * The executors that there are, as preferred locations. Spark tells them to its own Kafka source and to no public
 * interface, so that source is asked: it places partitions by a hash over all executors, and a topic of many partitions
 * comes to each of them. No request is made for it, and the topic need not exist.
 *
 * @param source a stream of Spark's own Kafka source
 */
private[source] final class ExecutorPlaces(source: => MicroBatchStream) {
  private lazy val stream = source
  private lazy val none = offset(0L)
  private lazy val one = offset(1L)

  /** In a stable order; empty where all tasks run in this process. */
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

  /** Enough for a few hundred executors. */
  private val Partitions = 512
}

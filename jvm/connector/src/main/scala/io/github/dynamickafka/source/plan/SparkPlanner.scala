package io.github.dynamickafka.source.plan

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.cluster.ClusterStream
import io.github.dynamickafka.source.spark.ClusterPartition

/**
 * Has Spark's own reader read a batch. Only where delegation tokens are configured (`spark.kafka.clusters.*`): how they
 * get into a consumer is known to Spark's reader alone.
 */
private[source] final class SparkPlanner(splits: Splits) extends BatchPlanner {
  import SparkPlanner._

  override def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      order: Seq[String],
      clusters: String => ClusterStream,
      stream: (String, String) => String
  ): Array[InputPartition] = {
    val parts = ranges.keys.toSeq.zip(splits(ranges.values.toSeq))
    val planned = parts.flatMap { case (id, ofCluster) =>
      val cluster = clusters(id)
      val reader = cluster.readerFactory
      // A plan of its own for each stream: what Spark's planner gives back does not tell the topic.
      ofCluster.groupBy(range => stream(id, range.topic)).toSeq.sortBy(_._1).flatMap {
        case (streamId, ofStream) =>
          val topics = ofStream.map(_.topic).toSet
          apart(ofStream).flatMap(cluster.plan).map { inner =>
            ClusterPartition(
              id,
              cluster.config.bootstrapServers,
              streamId,
              topics,
              inner,
              reader,
              inner.preferredLocations.toSeq
            )
          }
      }
    }
    rotate(planned, order.toIndexedSeq).toArray
  }
}

private[source] object SparkPlanner {

  /** No two ranges of one partition together: Spark plans one of each at a time. */
  private def apart(ranges: Seq[OffsetRange]): Seq[Seq[OffsetRange]] = {
    val byPartition = ranges.groupBy(r => (r.topic, r.partition)).values.toSeq
    (0 until byPartition.map(_.size).maxOption.getOrElse(0)).map(i => byPartition.flatMap(_.lift(i)))
  }

  /**
   * Spark places a partition by the hash of its topic and number, so the same partition of many clusters comes to
   * one executor, unless each cluster begins to count at another one.
   */
  def rotate(partitions: Seq[ClusterPartition], clusters: IndexedSeq[String]): Seq[InputPartition] = {
    val places = partitions.flatMap(_.locations).distinct.sorted.toIndexedSeq
    if (places.size < 2) partitions
    else partitions.map { p =>
      val shift = clusters.indexOf(p.cluster)
      p.copy(locations = p.locations.map(at => places((places.indexOf(at) + shift) % places.size)))
    }
  }
}

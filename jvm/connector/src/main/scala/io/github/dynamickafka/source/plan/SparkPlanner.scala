package io.github.dynamickafka.source.plan

import scala.collection.immutable.SortedMap
import scala.util.hashing.MurmurHash3

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.cluster.ClusterStream
import io.github.dynamickafka.source.spark.ClusterPartition

/**
 * Plans a batch for Spark's Kafka reader. Used only if delegation tokens are configured (`spark.kafka.clusters.*`),
 * because only Spark's reader can pass them to a consumer.
 */
private[source] final class SparkPlanner(splits: Splits) extends BatchPlanner {
  import SparkPlanner._

  override def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String => ClusterStream,
      stream: (String, String) => String
  ): Array[InputPartition] = {
    val parts = ranges.keys.toSeq.zip(splits(ranges.values.toSeq))
    val planned = parts.flatMap { case (id, ofCluster) =>
      val cluster = clusters(id)
      val reader = cluster.readerFactory
      // One plan per stream, because the partitions of Spark's planner do not provide the topic.
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
    rotate(planned).toArray
  }
}

private[source] object SparkPlanner {

  /** Separates ranges of the same partition, because Spark plans one range per partition at a time. */
  private def apart(ranges: Seq[OffsetRange]): Seq[Seq[OffsetRange]] = {
    val byPartition = ranges.groupBy(r => (r.topic, r.partition)).values.toSeq
    (0 until byPartition.map(_.size).maxOption.getOrElse(0)).map(i => byPartition.flatMap(_.lift(i)))
  }

  /**
   * Spark chooses the preferred executor of a partition by a hash of topic and partition, so the same partition of all
   * clusters would go to one executor. Shifts the executors of each cluster by its id to prevent this: another cluster
   * moves no partition.
   */
  def rotate(partitions: Seq[ClusterPartition]): Seq[InputPartition] = {
    val places = partitions.flatMap(_.locations).distinct.sorted.toIndexedSeq
    if (places.size < 2) partitions
    else {
      val index = places.zipWithIndex.toMap
      partitions.map { p =>
        val shift = math.floorMod(MurmurHash3.stringHash(p.cluster), places.size)
        p.copy(locations = p.locations.map(at => places((index(at) + shift) % places.size)))
      }
    }
  }
}

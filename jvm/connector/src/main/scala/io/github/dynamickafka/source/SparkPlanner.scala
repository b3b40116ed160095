package io.github.dynamickafka.source

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.offset.OffsetRange

/**
 * Has Spark's own reader read a batch. Only where delegation tokens are configured (`spark.kafka.clusters.*`): how they
 * get into a consumer is known to Spark's reader alone.
 */
private[source] object SparkPlanner extends BatchPlanner {

  override def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      clusters: String => ClusterStream,
      stream: (String, String) => String
  ): Array[InputPartition] = {
    val planned = ranges.toSeq.flatMap { case (id, ofCluster) =>
      val cluster = clusters(id)
      val reader = cluster.readerFactory
      // A plan of its own for each stream: what Spark's planner gives back does not tell the topic.
      ofCluster.groupBy(range => stream(id, range.topic)).toSeq.sortBy(_._1).flatMap {
        case (streamId, ofStream) =>
          val topics = ofStream.map(_.topic).toSet
          cluster.plan(ofStream).map { inner =>
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
    rotate(planned, ranges.keys.toIndexedSeq).toArray
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

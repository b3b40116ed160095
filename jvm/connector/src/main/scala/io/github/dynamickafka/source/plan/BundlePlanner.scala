package io.github.dynamickafka.source.plan

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.read.{RangeBundle, ReadSettings, SharedTask, StreamRange}

/** Plans the ranges of all clusters as the partitions of one batch, for [[BundleReader]]. */
private[source] object BundlePlanner {

  /**
   * @param stream the stream id of a (cluster, topic)
   * @param cores the current number of cores of the session
   * @param executors the executors, as preferred locations
   */
  def partitions(
      ranges: SortedMap[String, Seq[OffsetRange]],
      consumers: String => ConsumerSettings,
      stream: (String, String) => String,
      settings: ReadSettings,
      splits: Splits,
      cores: Int,
      executors: IndexedSeq[String]
  ): Array[InputPartition] = {
    val parts = splits(ranges.values.toSeq)
    val bundles = if (splits.asked) parts.map(_.map(Seq(_))) else Bundles(parts, cores)(_.size)
    val places = new Places(executors)
    val all = ranges.toSeq.zip(bundles).flatMap { case ((id, whole), ofCluster) =>
      val consumer = consumers(id)
      val undivided = whole.toSet
      ofCluster.map { bundle =>
        RangeBundle(
          consumer,
          bundle.map(range => StreamRange(stream(id, range.topic), range)),
          settings,
          // A divided range has no preferred location, because all parts of a partition would go to one executor.
          Some(bundle.head).filter(undivided).flatMap(r => places(id, r.topic, r.partition)).toSeq
        )
      }
    }
    val tasks = if (splits.asked) all.map(Seq(_)) else Bundles.shared(all, cores)(_.size, _.locations)
    if (tasks.forall(_.size == 1))
      Successors(tasks.flatten, slots(cores, executors.size), executors.size).toArray
    else
      tasks.map {
        case Seq(one) => one
        // Fetches from its next clusters itself.
        case several => SharedTask(several)
      }.toArray
  }

  private def slots(cores: Int, executors: Int) = if (executors == 0) cores else cores / executors
}

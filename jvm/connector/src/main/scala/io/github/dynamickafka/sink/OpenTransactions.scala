package io.github.dynamickafka.sink

import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.sink.commit.TaskTransactions

/**
 * The transactions that the finished tasks of a batch have left open, by cluster. Spark passes no message of a task of a streaming
 * query to the driver before all tasks have finished, but merges accumulators when each of them does.
 */
private[sink] final class OpenTransactions
    extends AccumulatorV2[TaskTransactions, Map[String, OpenTransactions.OfCluster]] {
  import OpenTransactions._

  // Spark merges on a thread of its own, and any thread reads gauges.
  @volatile private var clusters = Map.empty[String, OfCluster]

  override def add(task: TaskTransactions): Unit = task.prepared.foreach { t =>
    val beganMs = task.ages.openMs.get(t.cluster).fold(task.ages.atMs)(task.ages.atMs - _)
    include(t.cluster, OfCluster(1, beganMs))
  }

  override def merge(other: AccumulatorV2[TaskTransactions, Map[String, OfCluster]]): Unit =
    other.value.foreach { case (id, transactions) => include(id, transactions) }

  private def include(id: String, transactions: OfCluster): Unit =
    clusters = clusters.updatedWith(id)(known => Some(known.fold(transactions)(_ + transactions)))

  override def value: Map[String, OfCluster] = clusters
  override def isZero: Boolean = clusters.isEmpty
  override def reset(): Unit = clusters = Map.empty

  override def copy(): OpenTransactions = {
    val copied = new OpenTransactions
    copied.clusters = clusters
    copied
  }
}

private[sink] object OpenTransactions {

  /** @param beganMs when the oldest one was opened, in milliseconds since the epoch, by the clock of its executor */
  final case class OfCluster(transactions: Int, beganMs: Long) {
    def +(other: OfCluster): OfCluster =
      OfCluster(transactions + other.transactions, math.min(beganMs, other.beganMs))
  }
}

package io.github.dynamickafka.sink

import scala.collection.mutable

import org.apache.spark.sql.connector.write.WriterCommitMessage
import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.sink.commit.TaskTransactions

/** @param bytes of keys, values and headers, before they are compressed */
private[sink] final case class Written(records: Long, bytes: Long) {
  def +(other: Written): Written = Written(records + other.records, bytes + other.bytes)
}

/**
 * What a task tells the driver.
 *
 * @param message of the sender, for the commit
 * @param written by cluster
 * @param topics by cluster
 */
private[sink] final case class TaskReport(
    message: WriterCommitMessage,
    written: Map[String, Written],
    topics: Map[String, Set[String]]
) extends WriterCommitMessage

/** Counts what one task writes. Used by one thread. */
private[sink] final class WriteCounter {
  private val clusters = mutable.HashMap.empty[String, WriteCounter.OfCluster]

  /** A record of the row is sent. */
  def add(cluster: String, record: Record): Unit = {
    val count = clusters.getOrElseUpdate(cluster, new WriteCounter.OfCluster)
    count.records += 1
    count.bytes += WriteCounter.size(record)
    // Destinations are kept, so that it is mostly the same object as before.
    if (record.topic ne count.topic) {
      count.topic = record.topic
      count.topics += record.topic
    }
  }

  def report(message: WriterCommitMessage): TaskReport = {
    // All records of a cluster are withheld or none.
    val withheld = message match {
      case t: TaskTransactions => t.withheld.keySet
      case _ => Set.empty[String]
    }
    val sent = clusters.filterNot { case (id, _) => withheld(id) }.toMap
    TaskReport(
      message,
      sent.map { case (id, c) => id -> Written(c.records, c.bytes) },
      sent.map { case (id, c) => id -> c.topics.toSet }
    )
  }
}

private object WriteCounter {
  final class OfCluster {
    var records, bytes = 0L
    var topic: String = _
    val topics = mutable.HashSet.empty[String]
  }

  private def size(record: Record): Long = {
    var bytes = length(record.key) + length(record.value)
    val headers = record.headers.iterator
    while (headers.hasNext) {
      val header = headers.next()
      bytes += header.key.length + length(header.value)
    }
    bytes
  }

  private def length(bytes: Array[Byte]): Long = if (bytes == null) 0L else bytes.length.toLong
}

/**
 * What tasks have written, by cluster, where Spark passes no message of a task to the driver. It does not add up: the driver gets the
 * value of each task that has finished.
 *
 * @param onTask called on a thread of Spark, in the driver
 */
private[sink] final class WrittenRecords(@transient private val onTask: Map[String, Written] => Unit)
    extends AccumulatorV2[Map[String, Written], Map[String, Written]] {
  private var ofTask = Map.empty[String, Written]

  override def add(written: Map[String, Written]): Unit = ofTask = written
  override def merge(task: AccumulatorV2[Map[String, Written], Map[String, Written]]): Unit =
    if (!task.isZero) onTask(task.value)
  override def value: Map[String, Written] = ofTask
  override def isZero: Boolean = ofTask.isEmpty
  override def reset(): Unit = ofTask = Map.empty
  override def copy(): WrittenRecords = {
    val copied = new WrittenRecords(onTask)
    copied.ofTask = ofTask
    copied
  }
}

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

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
 * What each task tells the driver when it has finished: Spark passes no message of a task of a streaming query to the driver before all
 * tasks have finished, and none in real-time mode, but merges accumulators when each of them does. It does not add up.
 *
 * @param onTask called on a thread of Spark, in the driver
 */
private[sink] final class FromTasks[A](@transient private val onTask: A => Unit)
    extends AccumulatorV2[A, Option[A]] {
  private var ofTask = Option.empty[A]

  override def add(a: A): Unit = ofTask = Some(a)
  override def merge(task: AccumulatorV2[A, Option[A]]): Unit = task.value.foreach(onTask)
  override def value: Option[A] = ofTask
  override def isZero: Boolean = ofTask.isEmpty
  override def reset(): Unit = ofTask = None
  override def copy(): FromTasks[A] = {
    val copied = new FromTasks(onTask)
    copied.ofTask = ofTask
    copied
  }
}

/** The transactions that the finished tasks of a batch have left open, by cluster. */
private[sink] final class OpenTransactions {
  import OpenTransactions._

  // Spark adds on a thread of its own, and any thread reads gauges.
  @volatile private var clusters = Map.empty[String, OfCluster]

  def of(id: String): Option[OfCluster] = clusters.get(id)

  /** @param task when the transactions of a task were opened, in milliseconds since the epoch, by the clock of its executor */
  def add(task: Map[String, Long]): Unit = task.foreach { case (id, beganMs) =>
    clusters = clusters.updatedWith(id)(known =>
      Some(known.fold(OfCluster(1, beganMs))(of =>
        OfCluster(of.transactions + 1, math.min(of.beganMs, beganMs))
      ))
    )
  }
}

private[sink] object OpenTransactions {

  /** @param beganMs when the oldest one was opened */
  final case class OfCluster(transactions: Int, beganMs: Long)

  /** What a task has left open. */
  def of(task: TaskTransactions): Map[String, Long] = task.prepared.map(t =>
    t.cluster -> task.ages.openMs.get(t.cluster).fold(task.ages.atMs)(task.ages.atMs - _)
  ).toMap
}

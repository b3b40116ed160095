package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.github.dynamickafka.offset.{ClusterView, CompositeOffsetJson, OffsetRange, Positions}
import io.github.dynamickafka.source.spark.SparkKafkaSource

/**
 * One cluster of the topology: its admin client and, where Spark's own reader reads it, its wrapped Spark Kafka stream.
 *
 * Made for one [[ClusterConfig]] and never changed: Spark's executors cache consumers by (group id, topic
 * partition) and demand equal parameters for both, so a changed cluster gets a new stream with a new group id.
 * Safe to be asked from any thread; planned and closed by the query's.
 */
private[source] final class ClusterStream(
    val id: String,
    val config: ClusterConfig,
    source: SparkKafkaSource,
    path: String
) {

  // Made by the first question and off the query's thread: it resolves addresses, and throws where it cannot.
  private var admin: Option[ClusterAdmin] = None
  private var stream: Option[MicroBatchStream] = None
  private var kafkaId: Option[CompletableFuture[String]] = None
  @volatile private var lane: Option[GroupCommitQueue] = None

  def ask(question: ClusterQuestion): CompletableFuture[ClusterView.Reachable] = withAdmin(_.ask(question))

  def topics: CompletableFuture[Set[String]] = withAdmin(_.topics)

  /** Kafka's own id of the cluster. Asked for once; a failure is not kept. */
  def kafkaClusterId: CompletableFuture[String] = synchronized {
    kafkaId.filterNot(_.isCompletedExceptionally).getOrElse {
      val answer = probe()
      kafkaId = Some(answer)
      answer
    }
  }

  /** Kafka's own id of the cluster, if it has been told. */
  def knownKafkaClusterId: Option[String] = synchronized(kafkaId).flatMap { answer =>
    if (answer.isDone && !answer.isCompletedExceptionally) Option(answer.join()) else None
  }

  /** Answers when the cluster does. */
  def probe(): CompletableFuture[String] = withAdmin(_.kafkaClusterId)

  /** Partitions of these ranges; no request is made, since every partition has a start and an end. */
  def plan(ranges: Seq[OffsetRange]): Seq[InputPartition] = {
    val start = Positions.from(ranges.map(r => (r.topic, r.partition, r.from)))
    val end = Positions.from(ranges.map(r => (r.topic, r.partition, r.until)))
    wrapped.planInputPartitions(offset(start), offset(end)).toSeq
  }

  def readerFactory: PartitionReaderFactory = wrapped.createReaderFactory()

  def commit(group: String, positions: Positions): CompletableFuture[Unit] =
    withAdmin(_.commit(group, positions))

  /** Where the offsets of finished batches are handed over; made by the query's thread, once. */
  def commits(make: => GroupCommitQueue): GroupCommitQueue = lane.getOrElse {
    val made = make
    lane = Some(made)
    made
  }

  /** Whether the end of a commit would be waited for. */
  def isCommitting: Boolean = lane.exists(_.isBusy)

  /** Waits for a commit that is under way, at the longest for its own limit. */
  def close(): Unit = {
    lane.foreach(_.finish().join())
    synchronized(admin).foreach(_.close())
    stream.foreach(_.stop())
  }

  private def offset(positions: Positions) =
    wrapped.deserializeOffset(CompositeOffsetJson.writePositions(positions))

  private def wrapped: MicroBatchStream = stream.getOrElse {
    // The subscription is of no use to a stream that is only asked for the partitions of given ranges.
    val made = source.stream(config.spark + ("subscribe" -> id), s"$path/$id")
    stream = Some(made)
    made
  }

  private def withAdmin[A](f: ClusterAdmin => CompletableFuture[A]): CompletableFuture[A] =
    try {
      val client = synchronized {
        if (admin.isEmpty) admin = Some(new ClusterAdmin(id, config))
        admin
      }
      f(client.get)
    } catch { case NonFatal(e) => CompletableFuture.failedFuture(e) }
}

package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}

import io.github.dynamickafka.offset.{ClusterView, CompositeOffsetJson, OffsetRange, Positions}
import io.github.dynamickafka.source.spark.SparkKafkaSource

/**
 * One cluster of the topology: its admin client and, if Spark's Kafka reader reads it, the wrapped stream of Spark.
 *
 * Created for one [[ClusterConfig]] and never modified: the executors of Spark cache consumers by (group id, topic
 * partition) and require equal parameters for both, so a changed cluster gets a new stream with a new group id.
 * Requests are thread-safe; only the thread of the query plans and closes.
 */
private[source] final class ClusterStream(
    val id: String,
    val config: ClusterConfig,
    source: SparkKafkaSource,
    path: String
) {

  // Created by the first request, on another thread than the query's, because it resolves addresses, which may block or
  // fail.
  private var admin: Option[ClusterAdmin] = None
  private var stream: Option[MicroBatchStream] = None
  private var kafkaId: Option[CompletableFuture[String]] = None
  @volatile private var lane: Option[GroupCommitQueue] = None

  def ask(question: ClusterQuestion): CompletableFuture[ClusterView.Reachable] = withAdmin(_.ask(question))

  def topics: CompletableFuture[Set[String]] = withAdmin(_.topics)

  /** The `cluster.id` of Kafka. Requested once; a failure is not cached. */
  def kafkaClusterId: CompletableFuture[String] =
    synchronized(kafkaId).filterNot(_.isCompletedExceptionally).getOrElse(kafkaClusterIdNow)

  /** The `cluster.id` of Kafka, requested again. */
  def kafkaClusterIdNow: CompletableFuture[String] = synchronized {
    val answer = probe()
    kafkaId = Some(answer)
    answer
  }

  /** The topic ids of Kafka of these topics, without topics that do not exist. */
  def topicIds(topics: Set[String]): CompletableFuture[Map[String, String]] = withAdmin(_.topicIds(topics))

  /** Completes when the cluster responds. */
  def probe(): CompletableFuture[String] = withAdmin(_.kafkaClusterId)

  /** Plans these ranges with Spark's source. Makes no requests, because every range has a start and an end offset. */
  def plan(ranges: Seq[OffsetRange]): Seq[InputPartition] = {
    val start = Positions.from(ranges.map(r => (r.topic, r.partition, r.from)))
    val end = Positions.from(ranges.map(r => (r.topic, r.partition, r.until)))
    wrapped.planInputPartitions(offset(start), offset(end)).toSeq
  }

  def readerFactory: PartitionReaderFactory = wrapped.createReaderFactory()

  def commit(group: String, positions: Positions): CompletableFuture[Unit] =
    withAdmin(_.commit(group, positions))

  /** The queue for the offsets of completed batches; created once, by the thread of the query. */
  def commits(make: => GroupCommitQueue): GroupCommitQueue = lane.getOrElse {
    val made = make
    lane = Some(made)
    made
  }

  /** Whether [[close]] would wait for a commit. */
  def isCommitting: Boolean = lane.exists(_.isBusy)

  /** Waits for a pending commit, at most for its time limit. */
  def close(): Unit = {
    lane.foreach(_.finish().join())
    synchronized(admin).foreach(_.close())
    stream.foreach(_.stop())
  }

  private def offset(positions: Positions) =
    wrapped.deserializeOffset(CompositeOffsetJson.writePositions(positions))

  private def wrapped: MicroBatchStream = stream.getOrElse {
    // The subscription is required but has no effect, because the stream only plans given ranges.
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

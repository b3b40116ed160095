package io.github.dynamickafka.sink

import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, SortOrder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

import io.github.dynamickafka.metadata.{HasDatasets, TopicDataset}

/**
 * Created for a batch job, and for each batch of a streaming query. All output modes append the rows of the query, as
 * in Spark's Kafka sink.
 */
private[sink] final class DynamicKafkaWriteBuilder(sink: QuerySink)
    extends WriteBuilder
    with SupportsTruncate
    with SupportsStreamingUpdateAsAppend {

  override def truncate(): WriteBuilder = this

  override def build(): Write = sink.distribution.fold(new SinkWrite(sink))(new DistributedWrite(sink, _))
}

private[sink] class SinkWrite(sink: QuerySink) extends Write with HasDatasets {
  @volatile private var written: () => Seq[TopicDataset] = () => Nil

  override def description(): String = sink.toString
  override def toBatch: BatchWrite = new JobWrite(sink, datasets => written = datasets)
  override def toStreaming: StreamingWrite = new QueryWrite(sink)

  /** The topics that a batch job has written, once it is committed. */
  override def datasets: Seq[TopicDataset] = written()
}

/**
 * A task gets the rows of one cluster, or of a few. Not strictly: adaptive execution may split the rows of a large cluster, each part
 * with its own transaction.
 *
 * @param column the column with the cluster, whose rows Spark can distribute, unlike those that a hash routes
 */
private[sink] final class DistributedWrite(sink: QuerySink, column: String)
    extends SinkWrite(sink)
    with RequiresDistributionAndOrdering {
  override def requiredDistribution(): Distribution =
    Distributions.clustered(Array[Expression](Expressions.column(column)))
  override def distributionStrictlyRequired(): Boolean = false
  override def requiredOrdering(): Array[SortOrder] = Array.empty
}

/** The messages of successful tasks; those of other tasks are null. */
private[sink] object Messages {
  def of(messages: Array[WriterCommitMessage]): Seq[TaskReport] =
    messages.toSeq.collect { case t: TaskReport => t }
}

/** One batch of a query. */
private[sink] final class QueryWrite(sink: QuerySink) extends StreamingWrite with HasDatasets {
  @volatile private var written: () => Seq[TopicDataset] = () => Nil

  override def datasets: Seq[TopicDataset] = written()

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    factory()

  private def factory(): WriterFactory = {
    val made = sink.streaming().factory()
    if (DynamicKafkaQueries.isRealTime(SparkSession.active)) made.forRealTime else made
  }

  /** For a writer whose tasks send no message to [[commit]]. */
  def ofForeach(): (WriterFactory, FromTasks[Map[String, Written]]) = (factory(), sink.streaming().written)

  /** Only with exactly-once must the records of other task attempts stay invisible. */
  override def useCommitCoordinator(): Boolean = sink.isExactlyOnce

  override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit = {
    val reports = Messages.of(messages)
    sink.streaming().commit(epochId, reports)
    written = sink.streaming().datasets(reports)
  }

  override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
    sink.streaming().abort(epochId, Messages.of(messages))
}

/** @param wrote gets the topics that are written, for lineage */
private[sink] final class JobWrite(sink: QuerySink, wrote: (() => Seq[TopicDataset]) => Unit)
    extends BatchWrite {
  private lazy val run = sink.job()

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory =
    try run.factory()
    catch {
      case e: Throwable =>
        run.close()
        throw e
    }

  override def useCommitCoordinator(): Boolean = sink.isExactlyOnce

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    val reports = Messages.of(messages)
    // If this throws, Spark calls abort.
    run.commit(0L, reports)
    wrote(run.datasets(reports))
    run.close()
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    try run.abort(0L, Messages.of(messages))
    finally run.close()
}

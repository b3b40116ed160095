package io.github.dynamickafka.sink

import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend

/**
 * For a batch job, and anew for each batch of a streaming query. All output modes of streaming queries append: what comes
 * out of the query is what is written, as in Spark's own Kafka sink.
 */
private[sink] final class DynamicKafkaWriteBuilder(sink: QuerySink)
    extends WriteBuilder
    with SupportsTruncate
    with SupportsStreamingUpdateAsAppend {

  override def truncate(): WriteBuilder = this

  override def build(): Write = new Write {
    override def description(): String = sink.toString
    override def toBatch: BatchWrite = new JobWrite(sink)
    override def toStreaming: StreamingWrite = new QueryWrite(sink)
  }
}

/** Messages of tasks that have not succeeded are null. */
private[sink] object Messages {
  def of(messages: Array[WriterCommitMessage]): Seq[transaction.TaskTransactions] =
    messages.toSeq.collect { case t: transaction.TaskTransactions => t }
}

private[sink] final class QueryWrite(sink: QuerySink) extends StreamingWrite {

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    sink.streaming().factory()

  /** Which attempt of a task counts matters only where the others' records are not to be seen. */
  override def useCommitCoordinator(): Boolean = sink.isExactlyOnce

  override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
    if (sink.isExactlyOnce) sink.streaming().commit(epochId, Messages.of(messages))

  override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
    if (sink.isExactlyOnce) sink.streaming().abort(epochId, Messages.of(messages))
}

private[sink] final class JobWrite(sink: QuerySink) extends BatchWrite {
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
    // Where it throws, Spark calls abort.
    if (sink.isExactlyOnce) run.commit(0L, Messages.of(messages))
    run.close()
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    try run.abort(0L, Messages.of(messages))
    finally run.close()
}

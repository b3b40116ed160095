package io.github.dynamickafka.sink.journal

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

/** The batch of a streaming query in whose `foreachBatch` a job runs. */
private[sink] final case class StreamingBatch(query: String, batch: Long) {

  /** What identifies the rows of the job. */
  def origin(session: SparkSession, hadoop: Configuration): JobOrigin = JobOrigin(
    Some(query),
    DynamicKafkaQueries.checkpoint(session, query)
      .flatMap(new PlannedBatches(_, hadoop).input(batch)).getOrElse(BatchInput.Empty)
  )
}

private[sink] object StreamingBatch {

  /** What Spark sets on the thread of a streaming query, which calls the function of `foreachBatch`. */
  private val Query = "sql.streaming.queryId"
  private val Batch = "streaming.sql.batchId"

  /** None: the thread does not run a batch of a streaming query. */
  def current(session: SparkSession): Option[StreamingBatch] = {
    def property(name: String) = Option(session.sparkContext.getLocalProperty(name))
    for (query <- property(Query); batch <- property(Batch).flatMap(_.toLongOption))
      yield StreamingBatch(query, batch)
  }
}

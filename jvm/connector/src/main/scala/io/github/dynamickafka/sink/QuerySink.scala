package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.{DeliveryGuarantee, SinkOptionSpecs, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.sink.row.InputColumns
import io.github.dynamickafka.time.Clock

/**
 * The sink of one query or job, which lives as long as Spark's table for it: Spark asks for a new `Write` for each batch.
 *
 * @param queryId of the streaming query, which stays the same over restarts; of a job, one of its own
 */
private[sink] final class QuerySink(options: SinkOptions, columns: InputColumns, queryId: String) {
  import QuerySink._

  private var run: Option[SinkRun] = None

  def isExactlyOnce: Boolean = options.guarantee == DeliveryGuarantee.ExactlyOnce

  /** The run of the streaming query, from its first batch to its end. */
  def streaming(): SinkRun = synchronized {
    run.getOrElse {
      refuseContinuous()
      val journal = Option.when(isExactlyOnce)(new Journal(checkpoint, hadoop))
      val started =
        new SinkRun(options, columns, queryId, journal, ofStreams = true, Nil, hadoop, Clock.System)
      QueryEnd.whenOver(SparkSession.active.sparkContext, queryId)(started.close())
      run = Some(started)
      started
    }
  }

  def metrics: Map[String, String] = synchronized(run).fold(Map.empty[String, String])(_.metrics)

  /** A run of its own for a job. */
  def job(): SinkRun = {
    val place = options.transactions.checkpointLocation
    if (isExactlyOnce && place.isEmpty)
      log.warn(
        "Without '{}' there is no journal: if the driver dies while it commits this job's transactions, a part of " +
          "them stays",
        SinkOptionSpecs.CheckpointLocation.name
      )
    // One answer of the metadata service, and no polling.
    val once = options.copy(discovery = options.discovery.copy(intervalMs = -1L))
    val kept = place.filter(_ => isExactlyOnce)
    new SinkRun(
      once,
      columns,
      queryId,
      kept.map(Journal.ofJob(_, queryId, hadoop)),
      ofStreams = false,
      kept.toSeq.flatMap(Journal.earlier(_, hadoop)),
      hadoop,
      Clock.System
    )
  }

  private def checkpoint: String = options.transactions.checkpointLocation.getOrElse(
    throw Errors.exactlyOnceRefused(
      s"its journal has to be in the query's checkpoint, and Spark tells a sink of that only if it is set as an option " +
        s"of the query. Set '${SinkOptionSpecs.CheckpointLocation.name}'."
    )
  )

  /** There, an epoch is not a batch that is planned again when it fails. */
  private def refuseContinuous(): Unit =
    if (isExactlyOnce && SparkSession.active.sparkContext.getLocalProperty(EpochCoordinator) != null)
      throw Errors.exactlyOnceRefused("continuous processing has no batches that could be decided about.")

  private def hadoop: Configuration = SparkSession.active.sparkContext.hadoopConfiguration

  override def toString: String = s"dynamic-kafka $options"
}

private[sink] object QuerySink {
  private val log = LoggerFactory.getLogger(classOf[QuerySink])

  /** What Spark's `ContinuousExecution` sets for its jobs. */
  private val EpochCoordinator = "__epoch_coordinator_id"
}

package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.{DeliveryGuarantee, SinkOptionSpecs, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.gauge.GaugeNames
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.sink.commit.CommitProbe
import io.github.dynamickafka.sink.journal.{
  BatchInput,
  BatchJobs,
  FreeSlots,
  JobOrigin,
  Journal,
  StreamingBatch
}
import io.github.dynamickafka.sink.row.InputColumns
import io.github.dynamickafka.storage.SessionConfiguration
import io.github.dynamickafka.time.Clock

/**
 * The sink of one query or job, with the lifetime of Spark's table, because Spark requests a new `Write` for each
 * batch.
 *
 * @param answer the stream, if the metadata service has been asked for it
 * @param probe called at the steps of commits
 * @param queryId the id of the streaming query, which is stable over restarts, or a unique id of the job
 */
private[sink] final class QuerySink(
    options: SinkOptions,
    columns: InputColumns,
    queryId: String,
    answer: () => Option[KafkaStream],
    probe: CommitProbe = CommitProbe.installed
) {
  import QuerySink._

  private var run: Option[SinkRun] = None

  def isExactlyOnce: Boolean = options.guarantee == DeliveryGuarantee.ExactlyOnce

  /** The column by which Spark distributes the rows to tasks, if it does. */
  def distribution: Option[String] = columns.clusterOfEach.filter(_ => options.distribution && isExactlyOnce)

  /** The run of the streaming query, from its first batch to its termination. */
  def streaming(): SinkRun = synchronized {
    run.getOrElse {
      refuseContinuous()
      for (id <- options.transactions.jobId)
        throw Errors.invalidOption(
          SinkOptionSpecs.JobId.name,
          id,
          "it is an option of batch jobs. A streaming query is identified by its checkpoint."
        )
      val journal = Option.when(isExactlyOnce)(Journal.ofQuery(checkpoint, hadoop))
      val started =
        new SinkRun(
          gauged(options),
          columns,
          queryId,
          journal,
          journal.map(_ => FreeSlots.ofQuery(checkpoint, hadoop)),
          None,
          Nil,
          hadoop,
          probe,
          Clock.System,
          spark
        )
      QueryEnd.whenOver(spark, queryId)(started.close())
      run = Some(started)
      started
    }
  }

  /** Called by the thread of the query, whose name its gauges have. */
  private def gauged(of: SinkOptions): SinkOptions =
    of.copy(clusters = of.clusters.named(GaugeNames.ofSink(Thread.currentThread.getName)))

  def metrics: Map[String, String] = synchronized(run).fold(Map.empty[String, String])(_.metrics)

  /** The run of a job. */
  def job(): SinkRun = {
    val place = options.transactions.checkpointLocation
    val named = options.transactions.jobId
    val batch = StreamingBatch.current(SparkSession.active)
    if (isExactlyOnce && place.isEmpty)
      throw Errors.exactlyOnceRefused(
        s"without a journal, a driver that fails while it commits a job leaves a part of it. Set " +
          s"'${SinkOptionSpecs.CheckpointLocation.name}' to a folder for the journals of such jobs."
      )
    if (isExactlyOnce && named.isEmpty) warnOfRepetition(batch)
    // No polling: a job reads the metadata once.
    val once = options.copy(discovery = options.discovery.copy(intervalMs = -1L))
    val kept = place.filter(_ => isExactlyOnce)
    for (at <- kept; id <- named; of <- batch) new BatchJobs(at, of.query, hadoop).start(of.batch, id)
    new SinkRun(
      gauged(once),
      columns,
      named.getOrElse(queryId),
      kept.map(at => named.fold(Journal.ofJob(at, queryId, hadoop))(Journal.ofNamedJob(at, _, hadoop))),
      None,
      Some(batch.filter(_ => named.isDefined && isExactlyOnce).fold(JobOrigin(None, BatchInput.Empty))(
        _.origin(SparkSession.active, hadoop)
      )),
      kept.toSeq.flatMap(Journal.earlier(_, hadoop)),
      hadoop,
      probe,
      Clock.System,
      spark,
      answer()
    )
  }

  /** A job is usually run once, but Spark repeats a batch after a failure. */
  private def warnOfRepetition(batch: Option[StreamingBatch]): Unit = {
    val option = SinkOptionSpecs.JobId.name
    batch match {
      case None => log.info(s"The job has no '$option': if it is run again, its rows are written again")
      case Some(current) => log.warn(
          s"A job in 'foreachBatch' has no '$option': if Spark repeats the batch after a failure, its rows are written again. " +
            s"The query and the batch make an id, here '${current.query}-${current.batch}', if there is one such job in each batch"
        )
    }
  }

  private def spark: SparkContext = SparkSession.active.sparkContext

  private def checkpoint: String = options.transactions.checkpointLocation.getOrElse(
    throw Errors.exactlyOnceRefused(
      s"the journal must be in the checkpoint of the query, and Spark passes its location to a sink only if it is set as an " +
        s"option of the query. Set '${SinkOptionSpecs.CheckpointLocation.name}'."
    )
  )

  /** In continuous processing, a failed epoch is not planned again with the same records. */
  private def refuseContinuous(): Unit =
    if (isExactlyOnce && SparkSession.active.sparkContext.getLocalProperty(EpochCoordinator) != null)
      throw Errors.exactlyOnceRefused(
        "continuous processing has no batches that could be committed atomically."
      )

  private def hadoop: Configuration = SessionConfiguration.of(SparkSession.active)

  override def toString: String = s"dynamic-kafka $options"
}

private[sink] object QuerySink {
  private val log = LoggerFactory.getLogger(classOf[QuerySink])

  /** What Spark's `ContinuousExecution` sets for its jobs. */
  private val EpochCoordinator = "__epoch_coordinator_id"
}

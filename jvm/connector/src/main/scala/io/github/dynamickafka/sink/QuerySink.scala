package io.github.dynamickafka.sink

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

import io.github.dynamickafka.config.{DeliveryGuarantee, SinkOptionSpecs, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.gauge.GaugeNames
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.sink.commit.{CommitProbe, Journal}
import io.github.dynamickafka.storage.SessionConfiguration

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
  private var run: Option[SinkRun] = None

  def isExactlyOnce: Boolean = options.guarantee == DeliveryGuarantee.ExactlyOnce

  /** The column by which Spark distributes the rows to tasks, if it does. */
  def distribution: Option[String] = columns.clusterOfEach.filter(_ => options.distribution && isExactlyOnce)

  /** The run of the streaming query, from its first batch to its termination. */
  def streaming(): SinkRun = synchronized {
    run.getOrElse {
      refuseUnplanned()
      val journal = Option.when(isExactlyOnce)(Journal.ofQuery(checkpoint, hadoop))
      val started = new SinkRun(gauged(options), columns, queryId, journal, None, probe)
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
    val place = Option.when(isExactlyOnce)(journals)
    // No polling: a job reads the metadata once.
    val once = options.copy(discovery = options.discovery.copy(intervalMs = -1L))
    new SinkRun(
      gauged(once),
      columns,
      queryId,
      place.map(Journal.ofJob(_, queryId, hadoop)),
      Some(place.toSeq.flatMap(Journal.earlier(_, hadoop))),
      probe,
      answer()
    )
  }

  /** The folder for the journals of jobs. */
  private def journals: String = {
    for (query <- DynamicKafkaQueries.current(SparkSession.active))
      throw Errors.exactlyOnceRefused(
        s"the job runs in 'foreachBatch' of query '$query'. Spark repeats a batch after a failure, and the job would write its " +
          "rows again. Write from the query itself, without 'foreachBatch': rows with a column 'stream' go to several streams."
      )
    options.transactions.checkpointLocation.getOrElse(
      throw Errors.exactlyOnceRefused(
        s"without a journal, a driver that fails while it commits a job leaves a part of it. Set " +
          s"'${SinkOptionSpecs.CheckpointLocation.name}' to a folder for the journals of such jobs."
      )
    )
  }

  private def spark: SparkContext = SparkSession.active.sparkContext

  private def checkpoint: String = options.transactions.checkpointLocation.getOrElse(
    throw Errors.exactlyOnceRefused(
      s"the journal must be in the checkpoint of the query, and Spark passes its location to a sink only if it is set as an " +
        s"option of the query. Set '${SinkOptionSpecs.CheckpointLocation.name}'."
    )
  )

  /** What fails is planned again with the same records only if Spark logs a batch before it runs the batch. */
  private def refuseUnplanned(): Unit = if (isExactlyOnce) {
    // Spark's `ContinuousExecution` sets it for its jobs.
    if (spark.getLocalProperty("__epoch_coordinator_id") != null)
      throw Errors.exactlyOnceRefused(
        "continuous processing has no batches that could be committed atomically."
      )
    if (DynamicKafkaQueries.isRealTime(SparkSession.active))
      throw Errors.exactlyOnceRefused(
        "real-time mode logs a batch when it has ended, so that a batch that fails is not repeated with the same records. Use " +
          "'at-least-once'."
      )
  }

  private def hadoop: Configuration = SessionConfiguration.of(SparkSession.active)

  override def toString: String = s"dynamic-kafka $options"
}

/** Detects the termination of a query with a listener, because Spark does not notify a sink. */
private[sink] object QueryEnd {

  /** Spark uses the run id of a query as its job group. */
  private val RunId = "spark.jobGroup.id"

  /** Must be called on the thread of the query. */
  def whenOver(spark: SparkContext, queryId: String)(close: => Unit): Unit = {
    val runId = spark.getLocalProperty(RunId)
    spark.addSparkListener(new SparkListener {
      override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
        // The event of an earlier run of the query may arrive late.
        case over: QueryTerminatedEvent if over.id.toString == queryId && over.runId.toString == runId =>
          spark.removeSparkListener(this)
          // Closing may wait for a file system or a cluster, and all listeners of Spark share this thread. Not a daemon: what the
          // run has to say is written before the JVM ends.
          new Thread(() => close, "dynamic-kafka-sink-close").start()
        case _ =>
      }
    })
  }
}

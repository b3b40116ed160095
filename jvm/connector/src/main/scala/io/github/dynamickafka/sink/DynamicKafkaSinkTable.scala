package io.github.dynamickafka.sink

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.connector.catalog.{SupportsWrite, TableCapability}
import org.apache.spark.sql.connector.distributions.{Distribution, Distributions}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, SortOrder}
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.streaming.StreamingQueryListener.QueryTerminatedEvent
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DynamicKafkaQueries, SparkSession}

import io.github.dynamickafka.config.{DeliveryGuarantee, SinkOptionSpecs, SinkOptions, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatTable
import io.github.dynamickafka.format.{MetadataColumn, NewestSchemas, SideFormat}
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.StreamSubjects
import io.github.dynamickafka.metadata.{HasDatasets, KafkaStream, TopicDataset}
import io.github.dynamickafka.option.SessionDefaults
import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.storage.SessionConfiguration

/**
 * The table for writing to streams. Spark creates one for each query and job.
 *
 * @param options gives the options of a query those of the table
 * @param catalogTable the name of the table in a catalog, or of the stream with `format=metadata`, whose columns are all that rows
 *                     may have; None: other columns may be ignored
 * @param answer the stream, if the metadata service has been asked for it; for jobs
 */
private[dynamickafka] final class DynamicKafkaSinkTable(
    tableSchema: StructType,
    options: CaseInsensitiveStringMap => CaseInsensitiveStringMap,
    catalogTable: Option[String] = None,
    answer: () => Option[KafkaStream] = () => None
) extends SupportsWrite
    with ReportsSinkMetrics {
  import DynamicKafkaSinkTable._

  private var sinks = Map.empty[String, QuerySink]

  override def name(): String = "dynamic-kafka"

  override def toString: String = name()

  override def schema(): StructType = tableSchema

  override def capabilities(): ju.Set[TableCapability] = ju.EnumSet.of(
    TableCapability.BATCH_WRITE,
    TableCapability.STREAMING_WRITE,
    TableCapability.ACCEPT_ANY_SCHEMA
  )

  override def metrics(): ju.Map[String, String] = synchronized {
    sinks.values.flatMap(_.metrics).toMap.asJava
  }

  /** Spark calls this for each batch of a query. */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = synchronized {
    val sink = sinks.getOrElse(info.queryId, newSink(info))
    sinks += info.queryId -> sink
    sink.distribution.fold(new SinkWrite(sink))(new DistributedSinkWrite(sink, _))
  }

  private def newSink(info: LogicalWriteInfo): QuerySink = {
    val own = SessionDefaults.without(options(info.options), SinkOptionSpecs.table, SourceOptionSpecs.table)
    val ofStatement =
      catalogTable.fold(Set.empty[String])(_ => info.options.asCaseSensitiveMap.keySet.asScala.toSet)
    val parsed = SinkOptions.parse(own, catalogTable.isDefined, ofStatement)
    lazy val complete = TargetSchemas.withSchema(parsed)
    val rows =
      if (catalogTable.isEmpty || !isNameless(info.schema)) info.schema
      else named(info, complete.records.format)
    check(parsed, rows)
    for (table <- catalogTable; name <- InputColumns.ignored(rows, complete.records.format).headOption)
      throw Errors.invalidColumn(
        name,
        s"the records of '$table' have no such column; remove or rename it."
      )
    new QuerySink(complete, inputColumns(rows, complete.records.format), info.queryId, answer)
  }

  /** Spark calls the columns of an INSERT without names so, since the table takes any columns. */
  private def isNameless(written: StructType): Boolean =
    written.nonEmpty && written.fieldNames.zipWithIndex.forall { case (name, i) => name == s"col${i + 1}" } &&
      !tableSchema.fieldNames.contains("col1")

  /**
   * The rows of an INSERT without names: by position, as many as the schema has columns, or the table. Spark does not say whether it
   * is an INSERT; a streaming query is none, and its columns are named by whoever wrote it.
   */
  private def named(info: LogicalWriteInfo, format: FormatTable): StructType = {
    val written = info.schema
    def isStreaming =
      DynamicKafkaQueries.current(SparkSession.active).exists(_.toString == info.queryId)
    val fields = format.schema.fold {
      tableSchema.fieldNames.filter(MetadataColumn.find(_).forall(c => c.code >= MetadataColumn.KeyCode))
    } { schema =>
      val declared = schema.columns.fieldNames.toSet ++ format.wholeKey
      tableSchema.fieldNames.filter(declared)
    }
    val byPosition =
      if (format.schema.isEmpty || isStreaming) None
      else Seq(fields, tableSchema.fieldNames).find(_.length == written.length)
    byPosition match {
      case Some(names) =>
        StructType(names.zip(written).map { case (name, value) => StructField(name, value.dataType) })
      case None =>
        throw Errors.invalidColumn(
          "col1",
          s"this INSERT does not name its columns. Name them: INSERT INTO <table> (${fields.mkString(", ")}) VALUES (...)."
        )
    }
  }
}

private[dynamickafka] object DynamicKafkaSinkTable {

  /** For a streaming query, only the options of the table contain the session defaults; for a job, both do. */
  def over(table: CaseInsensitiveStringMap)(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
    new CaseInsensitiveStringMap((table.asCaseSensitiveMap.asScala.filterNot { case (name, _) =>
      ofQuery.containsKey(name)
    } ++ ofQuery.asCaseSensitiveMap.asScala).asJava)

  /** Checks the columns, and that the metadata service can be created, before a query starts. */
  def check(options: SinkOptions, schema: StructType): Unit = {
    val found = inputColumns(schema, options.records.format)
    if (options.routing.streamId.isEmpty && !found.hasStream)
      throw Errors.missingOption(
        "streamId",
        "set it to the stream to write to, or add a column 'stream' to the DataFrame."
      )
    MetadataServices.create(options.service, SparkSession.active.sparkContext.hadoopConfiguration).close()
  }

  private def inputColumns(schema: StructType, format: FormatTable): InputColumns =
    InputColumns.of(
      schema,
      SparkSession.active.conf.get("spark.sql.caseSensitive").toBoolean,
      format
    )
}

/**
 * A task gets the rows of one cluster, or of a few. Not strictly: adaptive execution may split the rows of a large cluster, each part
 * with its own transaction. A class of its own, because Spark analyzes the plan of such a write once more, in each batch.
 */
private[sink] final class DistributedSinkWrite(sink: QuerySink, column: String)
    extends SinkWrite(sink)
    with RequiresDistributionAndOrdering {
  override def requiredDistribution(): Distribution =
    Distributions.clustered(Array[Expression](Expressions.column(column)))
  override def distributionStrictlyRequired(): Boolean = false
  override def requiredOrdering(): Array[SortOrder] = Array.empty
}

/**
 * Created for a batch job, and for each batch of a streaming query. All output modes append the rows of the query, as
 * in Spark's Kafka sink.
 */
private[sink] class SinkWrite(sink: QuerySink)
    extends WriteBuilder
    with SupportsTruncate
    with SupportsStreamingUpdateAsAppend
    with Write
    with BatchWrite
    with StreamingWrite
    with HasDatasets {
  private lazy val job = sink.job()
  @volatile private var written: () => Seq[TopicDataset] = () => Nil

  override def truncate(): WriteBuilder = this
  override def build(): Write = this
  override def description(): String = sink.toString
  override def toBatch: BatchWrite = this
  override def toStreaming: StreamingWrite = this

  /** The topics that are written, once the batch or the job is committed. */
  override def datasets: Seq[TopicDataset] = written()

  override def createBatchWriterFactory(info: PhysicalWriteInfo): DataWriterFactory =
    try job.factory()
    catch {
      case e: Throwable =>
        job.close()
        throw e
    }

  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    factory()

  private def factory(): WriterFactory = {
    val made = sink.streaming().factory()
    if (DynamicKafkaQueries.isRealTime(SparkSession.active)) made.forRealTime else made
  }

  /** The factory and the counter of a writer whose tasks send no message to [[commit]]. */
  def ofForeach(): (WriterFactory, FromTasks[Map[String, Written]]) = (factory(), sink.streaming().written)

  /** Only with exactly-once must the records of other task attempts stay invisible. */
  override def useCommitCoordinator(): Boolean = sink.isExactlyOnce

  override def commit(messages: Array[WriterCommitMessage]): Unit = {
    // If this throws, Spark calls abort.
    commit(job, 0L, messages)
    job.close()
  }

  override def commit(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
    commit(sink.streaming(), epochId, messages)

  private def commit(run: SinkRun, batch: Long, messages: Array[WriterCommitMessage]): Unit = {
    val tasks = reports(messages)
    run.commit(batch, tasks)
    written = run.datasets(tasks)
  }

  override def abort(messages: Array[WriterCommitMessage]): Unit =
    try job.abort(0L, reports(messages))
    finally job.close()

  override def abort(epochId: Long, messages: Array[WriterCommitMessage]): Unit =
    sink.streaming().abort(epochId, reports(messages))

  /** The messages of successful tasks; those of other tasks are null. */
  private def reports(messages: Array[WriterCommitMessage]): Seq[TaskReport] =
    messages.toSeq.collect { case t: TaskReport => t }
}

/**
 * The sink of one query or job, with the lifetime of Spark's table, because Spark requests a new `Write` for each
 * batch.
 *
 * @param answer the stream, if the metadata service has been asked for it
 * @param queryId the id of the streaming query, which is stable over restarts, or a unique id of the job
 */
private[sink] final class QuerySink(
    options: SinkOptions,
    columns: InputColumns,
    queryId: String,
    answer: () => Option[KafkaStream]
) {
  private var run: Option[SinkRun] = None

  def isExactlyOnce: Boolean = options.delivery.guarantee == DeliveryGuarantee.ExactlyOnce

  /** The column by which Spark distributes the rows to tasks: that with the cluster, if each row has one, unlike those of a hash. */
  def distribution: Option[String] =
    columns.clusterOfEach.filter(_ => options.delivery.distribution && isExactlyOnce)

  /** The run of the streaming query, from its first batch to its termination. */
  def streaming(): SinkRun = synchronized {
    run.getOrElse {
      refuseUnplanned()
      val journal = Option.when(isExactlyOnce)(Journal.ofQuery(checkpoint, hadoop))
      val started = new SinkRun(gauged(options), columns, queryId, journal, None)
      whenOver(started.close())
      run = Some(started)
      started
    }
  }

  /** Called by the thread of the query, whose name its gauges have. */
  private def gauged(of: SinkOptions): SinkOptions =
    of.copy(clusters = of.clusters.named(SinkRun.name(of).gauges))

  def metrics: Map[String, String] = synchronized(run).fold(Map.empty[String, String])(_.metrics)

  def job(): SinkRun = {
    val place = Option.when(isExactlyOnce)(journals)
    // No polling: a job reads the metadata once.
    val once = options.copy(discovery = options.discovery.once)
    new SinkRun(
      gauged(once),
      columns,
      queryId,
      place.map(Journal.ofJob(_, queryId, hadoop)),
      Some(place.toSeq.flatMap(Journal.earlier(_, hadoop))),
      answer()
    )
  }

  private def journals: String = {
    for (query <- DynamicKafkaQueries.current(SparkSession.active))
      throw Errors.exactlyOnceRefused(
        s"the job runs in 'foreachBatch' of query '$query'. Spark repeats a batch after a failure, and the job would write its " +
          "rows again. Write from the query itself, without 'foreachBatch': rows with a column 'stream' go to several streams."
      )
    options.delivery.transactions.checkpointLocation.getOrElse(
      throw Errors.exactlyOnceRefused(
        s"without a journal, a driver that fails while it commits a job leaves a part of it. Set " +
          s"'${SinkOptionSpecs.CheckpointLocation.name}' to a folder for the journals of such jobs."
      )
    )
  }

  private def spark: SparkContext = SparkSession.active.sparkContext

  private def checkpoint: String = options.delivery.transactions.checkpointLocation.getOrElse(
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

  /**
   * Detects the termination of the query with a listener, because Spark does not notify a sink. Must be called on the thread of the
   * query.
   */
  private def whenOver(close: => Unit): Unit = {
    // Spark uses the run id of a query as its job group.
    val runId = spark.getLocalProperty("spark.jobGroup.id")
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

/** `schema=registry`: the columns are cast to those of the newest schema of the subject, when a query or job starts. */
private[sink] object TargetSchemas {

  /** Asks the metadata service and the registry of the first cluster, in the order of the metadata. */
  def withSchema(options: SinkOptions): SinkOptions =
    if (!options.records.format.schemaFromRegistry) options
    else {
      val metadata = options.ofStream("schema is meant, because 'schema' is 'registry'")
      val format = options.records.format
      val schema = NewestSchemas.common(
        SideFormat(format.value.format),
        StreamSubjects.of(options.records.registries.ofValues(format, _), metadata).take(1)
      )
      options.copy(records = options.records.copy(format = format.withSchema(schema)))
    }
}

package io.github.dynamickafka.sink

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.connector.catalog.SupportsWrite
import org.apache.spark.sql.connector.write.{DataWriter, LogicalWriteInfo}
import org.apache.spark.sql.streaming.{DataStreamWriter, OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{
  DataFrame,
  Dataset,
  DynamicKafkaForeach,
  DynamicKafkaQueries,
  ForeachWriter,
  Row,
  SparkSession
}

/**
 * Spark's writer of a streaming DataFrame, with another sink in real-time mode: Spark's list for this mode has no tables of others, and
 * has [[ForeachWriter]]s. Everything else is passed on.
 */
private[dynamickafka] final class StreamWriter(frame: DataFrame) extends DataStreamWriter[Row] {
  private val Format = "dynamic-kafka"
  private val spark = frame.writeStream

  /** What was set, for a writer of its own for each start in real-time mode: one with a `foreach` has no format any more. */
  private var settings = Vector.empty[DataStreamWriter[Row] => DataStreamWriter[Row]]
  private var options = Map.empty[String, String]
  private var isOurs = false
  private var isRealTime = false

  override def outputMode(mode: OutputMode): this.type = set(_.outputMode(mode))
  override def outputMode(mode: String): this.type = set(_.outputMode(mode))

  override def trigger(trigger: Trigger): this.type = {
    isRealTime = DynamicKafkaQueries.isRealTime(trigger)
    set(_.trigger(trigger))
  }

  override def queryName(name: String): this.type = set(_.queryName(name))

  /** The method exists since Spark 4.2, so it has no `override`. */
  def name(sinkName: String): this.type = set { writer =>
    val _ = writer.getClass.getMethod("name", classOf[String]).invoke(writer, sinkName)
    writer
  }

  override def format(source: String): this.type = {
    isOurs = source.equalsIgnoreCase(Format)
    set(_.format(source))
  }

  override def partitionBy(columns: String*): this.type = set(_.partitionBy(columns: _*))
  override def clusterBy(columns: String*): this.type = set(_.clusterBy(columns: _*))

  override def option(key: String, value: String): this.type = {
    options += key -> value
    set(_.option(key, value))
  }

  override def options(all: scala.collection.Map[String, String]): this.type = {
    all.foreach { case (key, value) => option(key, value) }
    this
  }

  override def options(all: ju.Map[String, String]): this.type = options(all.asScala)

  override def foreach(writer: ForeachWriter[Row]): this.type = {
    isOurs = false
    set(_.foreach(writer))
  }

  override def foreachBatch(function: (Dataset[Row], Long) => Unit): this.type = {
    isOurs = false
    set(_.foreachBatch(function))
  }

  override def start(path: String): StreamingQuery = spark.start(path)

  override def start(): StreamingQuery =
    if (isOurs && isRealTime) {
      val writer = new RealTimeWriter(frame.schema, table(), new CaseInsensitiveStringMap(options.asJava))
      val stream = settings.foldLeft(frame.writeStream)((stream, setting) => setting(stream))
      DynamicKafkaForeach.foreach(stream, frame, writer, () => writer.begin()).start()
    } else spark.start()

  override def toTable(table: String): StreamingQuery = spark.toTable(table)

  private def table(): SupportsWrite =
    DynamicKafkaForeach.table(Format, frame, options.asJava).asInstanceOf[SupportsWrite]

  private def set(setting: DataStreamWriter[Row] => DataStreamWriter[Row]): this.type = {
    require(setting(spark) eq spark)
    settings :+= setting
    this
  }
}

/**
 * The sink of a query in real-time mode. The driver makes the factory of each batch before Spark serializes the writer for its tasks.
 * A batch is reported when all of its records are acknowledged.
 */
private final class RealTimeWriter(
    columns: StructType,
    @transient private val table: SupportsWrite,
    @transient private val ofQuery: CaseInsensitiveStringMap
) extends ForeachWriter[Row] {
  @volatile private var batch: Option[(WriterFactory, FromTasks[Map[String, Written]])] = None
  @transient private lazy val convert = CatalystTypeConverters.createToCatalystConverter(columns)
  @transient private var writer: Option[DataWriter[InternalRow]] = None

  /** Called in the driver, on the thread of the query. */
  def begin(): Unit = for (query <- DynamicKafkaQueries.current(SparkSession.active)) {
    val write = table.newWriteBuilder(new LogicalWriteInfo {
      override def queryId(): String = query.toString
      override def schema(): StructType = columns
      override def options(): CaseInsensitiveStringMap = ofQuery
    })
    batch = Some(write.asInstanceOf[SinkWrite].ofForeach())
  }

  override def open(partition: Long, epoch: Long): Boolean = {
    writer = batch.map(_._1.createWriter(partition.toInt, TaskContext.get().taskAttemptId(), epoch))
    true
  }

  override def process(row: Row): Unit = writer.foreach(_.write(convert(row).asInstanceOf[InternalRow]))

  override def close(error: Throwable): Unit = for (open <- writer; (_, written) <- batch)
    try
      if (error != null) open.abort()
      else
        open.commit() match {
          case report: TaskReport => written.add(report.written)
          case _ => ()
        }
    finally open.close()
}

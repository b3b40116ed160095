package io.github.dynamickafka.sink.realtime

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{DataStreamWriter, OutputMode, StreamingQuery, Trigger}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.sql.{DataFrame, Dataset, ForeachWriter, Row}

import io.github.dynamickafka.config.{DeliveryGuarantee, SinkOptionSpecs, SourceOptionSpecs}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.SessionDefaults
import io.github.dynamickafka.sink.DynamicKafkaSinkTable

/**
 * Spark's writer of a streaming DataFrame, with another sink in real-time mode: Spark's list for this mode has no tables of others, and
 * has [[ForeachWriter]]s. Everything else is passed on.
 */
private[dynamickafka] final class StreamWriter(frame: DataFrame) extends DataStreamWriter[Row] {
  import StreamWriter._

  private val spark = frame.writeStream
  private var options = Map.empty[String, String]
  private var isOurs = false
  private var isRealTime = false

  override def outputMode(mode: OutputMode): this.type = passed(spark.outputMode(mode))
  override def outputMode(mode: String): this.type = passed(spark.outputMode(mode))

  override def trigger(trigger: Trigger): this.type = {
    // By its name: Spark 4.0 does not have the class.
    isRealTime = trigger.getClass.getSimpleName == "RealTimeTrigger"
    passed(spark.trigger(trigger))
  }

  override def queryName(name: String): this.type = passed(spark.queryName(name))

  /** Without `override`: since Spark 4.2. */
  def name(sinkName: String): this.type = {
    val _ = spark.getClass.getMethod("name", classOf[String]).invoke(spark, sinkName)
    this
  }

  override def format(source: String): this.type = {
    isOurs = source == Format
    passed(spark.format(source))
  }

  override def partitionBy(columns: String*): this.type = passed(spark.partitionBy(columns: _*))
  override def clusterBy(columns: String*): this.type = passed(spark.clusterBy(columns: _*))

  override def option(key: String, value: String): this.type = {
    options += key -> value
    passed(spark.option(key, value))
  }

  override def options(all: scala.collection.Map[String, String]): this.type = {
    all.foreach { case (key, value) => option(key, value) }
    this
  }

  override def options(all: ju.Map[String, String]): this.type = options(all.asScala)

  override def foreach(writer: ForeachWriter[Row]): this.type = {
    isOurs = false
    passed(spark.foreach(writer))
  }

  override def foreachBatch(function: (Dataset[Row], Long) => Unit): this.type = {
    isOurs = false
    passed(spark.foreachBatch(function))
  }

  override def start(path: String): StreamingQuery = spark.start(path)

  override def start(): StreamingQuery = {
    if (isOurs && isRealTime) {
      val _ = spark.foreach(writer())
    }
    spark.start()
  }

  override def toTable(table: String): StreamingQuery = spark.toTable(table)

  private def writer(): ForeachWriter[Row] = {
    val own = SessionDefaults.without(
      new CaseInsensitiveStringMap(options.asJava),
      SinkOptionSpecs.table,
      SourceOptionSpecs.table
    )
    val parsed = DynamicKafkaSinkTable.check(own, frame.schema)
    if (parsed.guarantee == DeliveryGuarantee.ExactlyOnce)
      throw Errors.invalidOption(
        SinkOptionSpecs.Guarantee.name,
        "exactly-once",
        "it cannot be combined with real-time mode, which logs a batch when it has ended: use 'at-least-once'."
      )
    new KafkaForeachWriter(frame.schema, id => DynamicKafkaSinkTable.sink(own, frame.schema, id))
  }

  private def passed(same: DataStreamWriter[Row]): this.type = {
    require(same eq spark)
    this
  }
}

private[dynamickafka] object StreamWriter {
  private val Format = "dynamic-kafka"
}

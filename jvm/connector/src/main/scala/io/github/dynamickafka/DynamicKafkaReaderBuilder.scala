package io.github.dynamickafka

import java.util.regex.Pattern
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.config.SourceOptionSpecs

/** Builds a DataFrame over streams: name the metadata service and the streams, then `load()`. Not thread-safe. */
final class DynamicKafkaReaderBuilder private[dynamickafka] (spark: SparkSession)
    extends DynamicKafkaBuilder[DynamicKafkaReaderBuilder](SourceOptionSpecs.table) {
  import SourceOptionSpecs._

  def setStreamIds(ids: String*): DynamicKafkaReaderBuilder = change(_.setStreamIds(ids))
  def setStreamIds(ids: Set[String]): DynamicKafkaReaderBuilder = setStreamIds(ids.toSeq.sorted: _*)
  def setStreamIds(ids: ju.Collection[String]): DynamicKafkaReaderBuilder =
    setStreamIds(ids.asScala.toSeq: _*)

  /** Streams whose whole id matches. */
  def setStreamPattern(regex: String): DynamicKafkaReaderBuilder = change(_.setStreamPattern(regex))

  /** @param regex without flags: they have no place in an option. Write them into the expression, as in `(?i)orders` */
  def setStreamPattern(regex: Pattern): DynamicKafkaReaderBuilder = change(_.setStreamPattern(regex))

  def setStartingOffsets(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder =
    change(_.replace(starting, offsets.startingOptions))

  /** In the forms of the option `startingOffsets`. */
  def setStartingOffsets(offsets: String): DynamicKafkaReaderBuilder =
    change(_.replace(starting, Seq(StartingOffsets.name -> offsets)))

  def setEndingOffsets(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder =
    change(_.replace(ending, offsets.endingOptions))

  /** In the forms of the option `endingOffsets`. */
  def setEndingOffsets(offsets: String): DynamicKafkaReaderBuilder =
    change(_.replace(ending, Seq(EndingOffsets.name -> offsets)))

  /** The name that Flink has for `setEndingOffsets`. */
  def setBounded(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder = setEndingOffsets(offsets)
  def setBounded(offsets: String): DynamicKafkaReaderBuilder = setEndingOffsets(offsets)

  /** A streaming DataFrame. */
  def load(): DataFrame = spark.readStream.format(DynamicKafka.Format).options(options()).load()

  /** A batch DataFrame: what is there now, or up to the ending offsets. */
  def loadBatch(): DataFrame = spark.read.format(DynamicKafka.Format).options(options()).load()

  private def starting = Seq(StartingOffsets, StartingTimestamp, StartingOffsetsByTimestamp)
  private def ending = Seq(EndingOffsets, EndingTimestamp, EndingOffsetsByTimestamp)
}

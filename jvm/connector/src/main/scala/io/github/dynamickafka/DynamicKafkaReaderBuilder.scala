package io.github.dynamickafka

import java.util.regex.Pattern
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.config.SourceOptionSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatOptionSpecs

/**
 * Builds a DataFrame of the records of streams: set the metadata service and the streams, then call `load()` or
 * `loadBatch()`. The rows have the columns of Spark's Kafka source, then `cluster` and `stream`, unless a format is set. Not
 * thread-safe.
 *
 * Settings that Flink's `DynamicKafkaSourceBuilder` (FLIP-246) also has use the same method names.
 */
final class DynamicKafkaReaderBuilder private[dynamickafka] (spark: SparkSession)
    extends DynamicKafkaBuilder[DynamicKafkaReaderBuilder](SourceOptionSpecs.table) {
  import FormatOptionSpecs.{MetadataColumns, OnParseErrors}
  import SourceOptionSpecs._

  /**
   * Sets the ids of the streams to read. Not allowed together with `setStreamPattern`.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if an id is empty or
   *         contains ';' or ',', or if a pattern is set
   */
  def setStreamIds(ids: String*): DynamicKafkaReaderBuilder = {
    ids.find(id => id.trim.isEmpty || id.exists(";,".contains(_))).foreach { id =>
      throw Errors.invalidOption(
        StreamIds.name,
        id,
        "it is not a valid stream id: it is empty, or contains ';' or ','."
      )
    }
    setAlone(StreamIds, StreamPattern, ids.mkString(";"))
  }
  def setStreamIds(ids: Set[String]): DynamicKafkaReaderBuilder = setStreamIds(ids.toSeq.sorted: _*)
  def setStreamIds(ids: ju.Collection[String]): DynamicKafkaReaderBuilder =
    setStreamIds(ids.asScala.toSeq: _*)

  /** Reads the streams whose whole id matches a Java regular expression. Not allowed together with `setStreamIds`. */
  def setStreamPattern(regex: String): DynamicKafkaReaderBuilder =
    setAlone(StreamPattern, StreamIds, regex)

  /** @param regex a pattern without flags. Embed flags in the expression instead, as in `(?i)orders` */
  def setStreamPattern(regex: Pattern): DynamicKafkaReaderBuilder = {
    if (regex.flags != 0)
      throw Errors.invalidOption(
        StreamPattern.name,
        regex.pattern,
        "an option cannot contain the flags of a pattern: embed them in the expression, as in '(?i)orders'."
      )
    setStreamPattern(regex.pattern)
  }

  /**
   * Sets the start position of a new query. A query with a checkpoint resumes from its checkpoint. Default: earliest.
   */
  def setStartingOffsets(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder =
    replace(Starting, offsets.startingOptions)

  /** Sets the start position in a text form of the option `startingOffsets`. */
  def setStartingOffsets(offsets: String): DynamicKafkaReaderBuilder =
    replace(Starting, Seq(StartingOffsets.name -> offsets))

  /** Sets the stopping offsets. Default: none for a streaming DataFrame, the latest offsets for a batch DataFrame. */
  def setEndingOffsets(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder =
    replace(Ending, offsets.endingOptions)

  /** Sets the stopping offsets in a text form of the option `endingOffsets`. */
  def setEndingOffsets(offsets: String): DynamicKafkaReaderBuilder =
    replace(Ending, Seq(EndingOffsets.name -> offsets))

  /** Same as `setEndingOffsets`, with the name that Flink uses. */
  def setBounded(offsets: OffsetsInitializer): DynamicKafkaReaderBuilder = setEndingOffsets(offsets)
  def setBounded(offsets: String): DynamicKafkaReaderBuilder = setEndingOffsets(offsets)

  /** Sets the columns after the decoded ones, in this order. Without arguments there are none. */
  def setMetadataColumns(names: String*): DynamicKafkaReaderBuilder =
    setOption(MetadataColumns.name, names.mkString(";"))

  /** Sets what happens when a key or value cannot be decoded: `fail` (default), `null`, `drop` or `keep`. */
  def setParseErrors(policy: String): DynamicKafkaReaderBuilder = setOption(OnParseErrors.name, policy)

  /**
   * Returns a streaming DataFrame.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException if an option is unknown, missing or
   *         invalid
   */
  def load(): DataFrame = spark.readStream.format(DynamicKafka.Format).options(options()).load()

  /**
   * Returns a batch DataFrame, up to the latest offsets at the time of execution or up to the stopping offsets.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException if an option is unknown, missing or
   *         invalid
   */
  def loadBatch(): DataFrame = spark.read.format(DynamicKafka.Format).options(options()).load()
}

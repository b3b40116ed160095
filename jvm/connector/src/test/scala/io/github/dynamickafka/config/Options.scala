package io.github.dynamickafka.config

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.table.ParsedFormats

/** Options for tests: the required options of a query, plus those of the test. */
object Options {
  val minimal: Map[String, String] = Map("metadataService" -> "file", "streamIds" -> "orders")

  def parse(options: (String, String)*): SourceOptions = parseOnly((minimal ++ options).toSeq: _*)

  def parseOnly(options: (String, String)*): SourceOptions =
    SourceOptions.parse(new CaseInsensitiveStringMap(options.toMap.asJava))

  /** The options of a query that writes. */
  def parseSink(options: (String, String)*): SinkOptions = SinkOptions.parse(
    new CaseInsensitiveStringMap((Map("metadataService" -> "file", "streamId" -> "orders") ++ options).asJava)
  )

  /** A reference that Kafka's config providers resolve. A literal would look like a missing interpolator. */
  def reference(to: String): String = "$" + s"{$to}"

  /** The error that the body throws. */
  def refused(attempt: => Any): DynamicKafkaIllegalArgumentException = ParsedFormats.refused(attempt)
}

package io.github.dynamickafka.format

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.Assertions.intercept

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.encode.{WriteOptionSpecs, WriteOptionsParser}
import io.github.dynamickafka.option.{OptionSpec, OptionTable, RawOptions, UnsupportedOptions}

/** Parses options of formats, without those of source and sink. */
object ParsedFormats {
  private val noneUnsupported = new UnsupportedOptions(Map.empty, Map.empty)

  private[dynamickafka] val reading: OptionTable =
    table(FormatOptionSpecs.ofFormats, Format.all, WriteOptionSpecs.writesOnly)

  private val writing =
    table(WriteOptionSpecs.all, WriteOptionSpecs.formats, WriteOptionSpecs.readsOnly)

  private def table(
      specs: Seq[OptionSpec[_]],
      formats: Seq[Format],
      elsewhere: io.github.dynamickafka.option.FormatKey => Boolean
  ) = new OptionTable(specs, noneUnsupported, formats.map(_.name), elsewhere)

  private[dynamickafka] def read(options: (String, String)*): FormatOptions =
    FormatOptionsParser.parse(raw(options, reading))

  /** The options of a query that writes. */
  private[dynamickafka] def write(options: (String, String)*): FormatOptions =
    WriteOptionsParser.parse(raw(options, writing))

  private def raw(options: Seq[(String, String)], table: OptionTable) =
    RawOptions(new CaseInsensitiveStringMap(options.toMap.asJava), table)

  /** The error that the body throws. */
  def refused(attempt: => Any): DynamicKafkaIllegalArgumentException =
    intercept[DynamicKafkaIllegalArgumentException] {
      val _ = attempt
    }
}

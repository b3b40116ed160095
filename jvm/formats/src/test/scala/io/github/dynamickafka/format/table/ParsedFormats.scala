package io.github.dynamickafka.format.table

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.Assertions.intercept

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.Format
import io.github.dynamickafka.option.{FormatKey, OptionSpec, OptionTable, RawOptions, UnsupportedOptions}

/** Parses options of formats, without those of source and sink. */
private[dynamickafka] final class ParsedFormats(formats: Formats) {
  private val noneUnsupported = new UnsupportedOptions(Map.empty, Map.empty)

  val reading: OptionTable = table(FormatOptionSpecs.all, formats.all, WriteOptionSpecs.writesOnly)
  private val writing = table(WriteOptionSpecs.all, formats.written, WriteOptionSpecs.readsOnly)

  private def table(specs: Seq[OptionSpec[_]], of: Seq[Format], elsewhere: FormatKey => Boolean) =
    new OptionTable(specs, noneUnsupported, of.map(_.name), elsewhere)

  def read(options: (String, String)*): FormatTable =
    FormatOptionsParser.reading(raw(options, reading), formats = formats)

  /** The options of a query that writes. */
  def write(options: (String, String)*): FormatTable =
    FormatOptionsParser.writing(raw(options, writing), formats = formats)

  private def raw(options: Seq[(String, String)], table: OptionTable) =
    RawOptions(new CaseInsensitiveStringMap(options.toMap.asJava), table)
}

object ParsedFormats {
  private val registered = new ParsedFormats(Formats.registered)

  private[dynamickafka] def reading: OptionTable = registered.reading
  private[dynamickafka] def read(options: (String, String)*): FormatTable = registered.read(options: _*)
  private[dynamickafka] def write(options: (String, String)*): FormatTable = registered.write(options: _*)

  /** The error that the body throws. */
  def refused(attempt: => Any): DynamicKafkaIllegalArgumentException =
    intercept[DynamicKafkaIllegalArgumentException] {
      val _ = attempt
    }
}

package io.github.dynamickafka.format

import java.nio.file.{Files, Path}

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}
import io.github.dynamickafka.format.table.{Formats, WriteOptionSpecs}
import io.github.dynamickafka.option.{FormatKey, OptionTable}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** The lists of Flink's options in docs/formats.md are complete, and say of each option what the code does. */
class FlinkOptionsSuite extends AnyFunSuite {

  /** Of the page about Flink's SQL connector for Kafka. */
  private val OfPage = Set(
    "connector",
    "topic",
    "topic-pattern",
    "properties.bootstrap.servers",
    "properties.group.id",
    "properties.*",
    "format",
    "value.format",
    "key.format",
    "key.fields",
    "key.fields-prefix",
    "value.fields-include",
    "scan.startup.mode",
    "scan.startup.specific-offsets",
    "scan.startup.timestamp-millis",
    "scan.bounded.mode",
    "scan.bounded.specific-offsets",
    "scan.bounded.timestamp-millis",
    "scan.topic-partition-discovery.interval",
    "sink.partitioner",
    "sink.semantic",
    "sink.delivery-guarantee",
    "sink.transactional-id-prefix",
    "sink.parallelism"
  )

  /** Of the pages about its formats, by format. `parquet` and `orc` are for files, `avro.codec` too. */
  private val OfFormats: Map[String, Seq[String]] = {
    val nulls = Seq("map-null-key.mode", "map-null-key.literal")
    val changes =
      Seq("ignore-parse-errors", "timestamp-format.standard", "encode.decimal-as-plain-number") ++ nulls
    val registry = Seq("url", "subject", "schema", "properties") ++
      Seq("basic-auth.credentials-source", "basic-auth.user-info") ++
      Seq("bearer-auth.credentials-source", "bearer-auth.token") ++
      Seq("keystore", "truststore").flatMap(s => Seq(s"ssl.$s.location", s"ssl.$s.password"))
    Map(
      "json" -> (changes ++ Seq(
        "fail-on-missing-field",
        "encode.ignore-null-fields",
        "decode.json-parser.enabled"
      )),
      "csv" -> Seq(
        "field-delimiter",
        "disable-quote-character",
        "quote-character",
        "allow-comments",
        "ignore-parse-errors",
        "array-element-delimiter",
        "escape-character",
        "null-literal",
        "write-bigdecimal-in-scientific-notation"
      ),
      "avro" -> Seq("encoding", "timestamp_mapping.legacy"),
      "avro-confluent" -> registry,
      "debezium-avro-confluent" -> registry,
      "debezium-json" -> ("schema-include" +: changes),
      "canal-json" -> (Seq("database.include", "table.include") ++ changes),
      "maxwell-json" -> changes,
      "ogg-json" -> (Seq("ignore-parse-errors", "timestamp-format.standard") ++ nulls),
      "protobuf" -> Seq(
        "message-class-name",
        "ignore-parse-errors",
        "read-default-values",
        "write-null-string-literal"
      ),
      "raw" -> Seq("charset", "endianness")
    )
  }

  /** Option, verdict, reason; an item of a list has the options with the same verdict and reason. */
  private val rows: Seq[(String, String, String)] = {
    val page = Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs", "formats.md"))
    val section = page.split("\n## ").find(_.startsWith("Flink's options\n")).get
    for {
      part <- section.split("\n### ").toSeq.tail
      Array(title, list) = part.split("\n", 2)
      item <- list.split("\n- ").toSeq.tail.map(_.replaceAll("\\s+", " ").trim)
      Array(options, why) = item.split(": ", 2)
      option <- options.split(", ")
    } yield (option.replace("`", ""), title, why)
  }

  private val tables = Seq(SourceOptionSpecs.table, SinkOptionSpecs.table)

  private def isKnown(option: String): Boolean = tables.exists { table: OptionTable =>
    table.find(option).isDefined || FormatKey.of(option, table.formats).exists { key =>
      Formats.registered.find(key.format).exists { format =>
        format.settings.exists(_.named(key.option)) ||
        (format.hasRegistry && RegistryOptionSpecs.withoutPrefix(key.option).isDefined)
      } || WriteOptionSpecs.writesOnly(key)
    }
  }

  test("every option of the page and of the pages about formats is in a list, once") {
    val all = OfPage ++ OfFormats.flatMap { case (format, options) => options.map(o => s"$format.$o") }
    assert(all.diff(rows.map(_._1).toSet).isEmpty)
    assert(rows.map(_._1).distinct == rows.map(_._1) && rows.size >= all.size)
  }

  test("what has another name is accepted under Flink's name where the page says so") {
    val accepted = rows.collect { case (option, _, why) if why.contains("also under Flink's name") => option }
    assert(accepted.size > 15 && accepted.forall(isKnown), accepted.filterNot(isKnown))
  }

  test("an option that is the same exists, and one that is not offered does not") {
    rows.foreach {
      case (option, "The same", _) => assert(isKnown(option), option)
      case (option, "Not offered", why) => assert(!isKnown(option) && why.nonEmpty, option)
      case (option, "Different", why) => assert(why.nonEmpty, option)
      case other => fail(other.toString)
    }
  }

  test("what is named in place of a different option exists") {
    for ((option, "Different", why) <- rows; name <- "`([A-Za-z.]+)`".r.findAllMatchIn(why).map(_.group(1)))
      assert(isKnown(name) || Set("kafka.group.id", "kafka.").contains(name), s"$option: $name")
  }
}

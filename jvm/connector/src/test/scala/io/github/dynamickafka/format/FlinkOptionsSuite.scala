package io.github.dynamickafka.format

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.option.{FormatKey, OptionTable}
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}

/** The table of Flink's options in docs/formats.md is complete, and says of each option what the code does. */
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

  /** Option, verdict, reason. */
  private val rows: Seq[(String, String, String)] = {
    val file = Path.of(System.getProperty("dynamickafka.root"), "docs", "formats.md")
    val section = Files.readAllLines(file).asScala.toSeq.dropWhile(_ != "## Flink's options").drop(1)
      .takeWhile(!_.startsWith("## "))
    section.filter(_.startsWith("| `")).map(_.split('|').map(_.trim)).collect {
      case Array(_, option, verdict, why) =>
        (option.replace("`", ""), verdict, why)
    }
  }

  private val tables = Seq(SourceOptionSpecs.table, SinkOptionSpecs.table)

  private def isKnown(option: String): Boolean = tables.exists { table: OptionTable =>
    table.find(option).isDefined || FormatKey.of(option, table.formats).exists { key =>
      Format.all.find(_.name == key.format).exists(FormatSetting.of(_).exists(_.named(key.option))) ||
      encode.WriteOptionSpecs.writesOnly(key)
    }
  }

  test("every option of the page is in the table, once") {
    assert(OfPage.diff(rows.map(_._1).toSet).isEmpty)
    assert(rows.map(_._1).distinct == rows.map(_._1) && rows.size > OfPage.size)
  }

  test("an option that is the same exists, and one that is not offered does not") {
    rows.foreach {
      case (option, "same", _) => assert(isKnown(option), option)
      case (option, "not offered", why) => assert(!isKnown(option) && why.nonEmpty, option)
      case (option, "different", why) => assert(why.nonEmpty, option)
      case other => fail(other.toString)
    }
  }

  test("what is named in place of a different option exists") {
    for ((option, "different", why) <- rows; name <- "`([A-Za-z.]+)`".r.findAllMatchIn(why).map(_.group(1)))
      assert(isKnown(name) || Set("kafka.group.id", "kafka.").contains(name), s"$option: $name")
  }
}

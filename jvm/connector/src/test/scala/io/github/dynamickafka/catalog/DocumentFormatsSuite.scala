package io.github.dynamickafka.catalog

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}

class DocumentFormatsSuite extends AnyFunSuite {
  private val reading = new DocumentFormats(SourceOptionSpecs.table, SinkOptionSpecs.table)
  private val writing = new DocumentFormats(SinkOptionSpecs.table, SourceOptionSpecs.table)
  private val settings =
    Map(
      "format" -> "csv",
      "schema" -> "a INT",
      "csv.sep" -> ";",
      "json.timeZone" -> "UTC",
      "failOnDataLoss" -> "false"
    )

  test("a format in the metadata sets aside the schema and the options of other formats in the settings") {
    assert(reading.over(settings, Map("format" -> "json"), "orders") ==
      Map("format" -> "json", "json.timeZone" -> "UTC", "failOnDataLoss" -> "false"))
    assert(reading.over(
      settings,
      Map("format" -> "json", "schema" -> "b INT"),
      "orders"
    )("schema") == "b INT")
  }

  test("without a format, the metadata replaces single settings, in any spelling") {
    assert(reading.over(settings, Map("schema" -> "b INT"), "orders") == settings + ("schema" -> "b INT"))
    assert(reading.over(
      Map("key-format" -> "raw"),
      Map("keyFormat" -> "string"),
      "orders"
    ) == Map("keyFormat" -> "string"))
    assert(reading.over(settings, Map.empty, "orders") == settings)
  }

  test("options of one side only, registries and other options") {
    val document =
      Map("format" -> "json", "json.ignoreParseErrors" -> "true", "json.ignoreNullFields" -> "false")
    assert(reading.over(Map.empty, document, "orders").keySet == Set("format", "json.ignoreParseErrors"))
    assert(writing.over(Map.empty, document, "orders").keySet == Set("format", "json.ignoreNullFields"))
    assert(refused(reading.over(Map.empty, Map("startingOffsets" -> "latest"), "orders")).getMessage
      .contains("'startingOffsets' is not an option of a format"))
  }
}

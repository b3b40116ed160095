package io.github.dynamickafka.catalog

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs}

class DocumentFormatsSuite extends AnyFunSuite {
  private val settings =
    Map(
      "format" -> "csv",
      "schema" -> "a INT",
      "csv.sep" -> ";",
      "json.timeZone" -> "UTC",
      "failOnDataLoss" -> "false"
    )

  test("a format in the metadata sets aside the schema and the options of other formats in the settings") {
    assert(DocumentFormats.over(SourceOptionSpecs.table, settings, Map("format" -> "json"), "orders") ==
      Map("format" -> "json", "json.timeZone" -> "UTC", "failOnDataLoss" -> "false"))
    assert(DocumentFormats.over(
      SourceOptionSpecs.table,
      settings,
      Map("format" -> "json", "schema" -> "b INT"),
      "orders"
    )("schema") == "b INT")
  }

  test("without a format, the metadata replaces single settings, in any spelling") {
    assert(DocumentFormats.over(
      SourceOptionSpecs.table,
      settings,
      Map("schema" -> "b INT"),
      "orders"
    ) == settings + ("schema" -> "b INT"))
    assert(DocumentFormats.over(
      SourceOptionSpecs.table,
      Map("key-format" -> "raw"),
      Map("keyFormat" -> "string"),
      "orders"
    ) == Map("keyFormat" -> "string"))
    assert(DocumentFormats.over(SourceOptionSpecs.table, settings, Map.empty, "orders") == settings)
  }

  test("options of one side only, registries and other options") {
    val document =
      Map("format" -> "json", "json.ignoreParseErrors" -> "true", "json.ignoreNullFields" -> "false")
    assert(DocumentFormats.over(SourceOptionSpecs.table, Map.empty, document, "orders").keySet == Set(
      "format",
      "json.ignoreParseErrors"
    ))
    assert(DocumentFormats.over(SinkOptionSpecs.table, Map.empty, document, "orders").keySet == Set(
      "format",
      "json.ignoreNullFields"
    ))
    assert(refused(DocumentFormats.over(
      SourceOptionSpecs.table,
      Map.empty,
      Map("startingOffsets" -> "latest"),
      "orders"
    )).getMessage
      .contains("'startingOffsets' is not an option of a format"))
  }
}

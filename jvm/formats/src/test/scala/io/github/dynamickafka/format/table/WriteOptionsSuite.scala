package io.github.dynamickafka.format.table

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.Raw
import io.github.dynamickafka.format.json.Json
import io.github.dynamickafka.option.FormatKey
import io.github.dynamickafka.testkit.TimeLimit

class WriteOptionsSuite extends AnyFunSuite with TimeLimit {

  private def of(options: (String, String)*): FormatTable = ParsedFormats.write(options: _*)

  private def assertRefused(condition: String, text: String)(options: (String, String)*): Unit = {
    val error = ParsedFormats.refused(of(options: _*))
    assert(error.getCondition == s"DYNAMIC_KAFKA.$condition", error.getMessage)
    assert(error.getMessage.contains(text), error.getMessage)
  }

  test("Flink's names, both sides or one") {
    val written = of(
      "value.format" -> "json",
      "key.format" -> "json",
      "key.fields" -> "id,name",
      "value.fields-include" -> "EXCEPT_KEY",
      "json.ignoreNullFields" -> "false",
      "key.json.encode.ignore-null-fields" -> "true"
    )
    assert(written.value.format == Json && written.keyFields == Seq("id", "name") && written.exceptKey)
    assert(written.value.options("ignoreNullFields") == "false")
    assert(written.key.get.side.options("ignoreNullFields") == "true")
    assert(of().value.format == Raw && of().key.isEmpty)
  }

  test("options that only concern reading, that are not offered, or not in use") {
    assertRefused("INVALID_OPTION", "no effect when records are written")(
      "format" -> "json",
      "json.ignoreParseErrors" -> "true"
    )
    assertRefused("INVALID_OPTION", "maps are never null")(
      "format" -> "json",
      "json.map-null-key.mode" -> "DROP"
    )
    assertRefused("INVALID_OPTION", "without quotes")(
      "format" -> "csv",
      "csv.disable-quote-character" -> "true"
    )
    assertRefused("INVALID_OPTION", "is not in use")("format" -> "csv", "json.pretty" -> "true")
    assertRefused("UNKNOWN_OPTION", "json.timeZone")("format" -> "json", "json.timeZon" -> "UTC")
    assertRefused("INVALID_OPTION", "is not set")("format" -> "json", "keyFields" -> "id")
    assertRefused("MISSING_OPTION", "keyFields")("format" -> "json", "keyFormat" -> "json")
    assertRefused("INVALID_OPTION", "EXCEPT_KEY")(
      "format" -> "json",
      "keyFormat" -> "json",
      "keyFields" -> "k_id",
      "keyFieldsPrefix" -> "k_"
    )
    assertRefused("INVALID_SCHEMA", "'schema'")("format" -> "json", "schema" -> "id NOTHING")
    assertRefused("INVALID_OPTION", "has fixed columns")("schema" -> "id INT")
  }

  private val confluent = Seq("format" -> "avro-confluent", "registry.url" -> "http://r:1")

  test("registries: Flink's names, of one side, of one cluster; autoRegister only for writing") {
    val flink = of(
      "format" -> "avro-confluent",
      "avro-confluent.url" -> "http://r:1",
      "avro-confluent.auto-register" -> "false"
    )
    assert(flink == of(confluent :+ ("registry.autoRegister" -> "false"): _*))
    val settings = of(confluent :+ ("cluster.blue.registry.autoRegister" -> "false"): _*).value.registries
    assert(settings.of("green").autoRegister && !settings.of("blue").autoRegister)
    val json = of(
      "format" -> "json-confluent",
      "registry.url" -> "http://r:1",
      "json-confluent.ignoreNullFields" -> "false"
    )
    assert(json.value.options == of("format" -> "json", "json.ignoreNullFields" -> "false").value.options)
    val error = ParsedFormats.refused(ParsedFormats.read(
      confluent ++ Seq("schema" -> "id INT", "avro-confluent.autoRegister" -> "false"): _*
    ))
    assert(error.getMessage.contains("autoRegister"), error.getMessage)
    assert(WriteOptionSpecs.writesOnly(FormatKey(None, "avro-confluent", "auto-register")))
    assert(!WriteOptionSpecs.writesOnly(FormatKey(None, "avro-confluent", "url")))
  }

  test("registries: what is missing, without effect, or the same for keys and values") {
    assertRefused("MISSING_OPTION", "registry.url")("format" -> "avro-confluent")
    assertRefused("MISSING_OPTION", "registry.url")("format" -> "json-confluent")
    assertRefused("INVALID_OPTION", "no effect")("format" -> "json", "registry.autoRegister" -> "false")
    assertRefused("INVALID_OPTION", "no effect")("format" -> "json", "cluster.b.registry.url" -> "http://r")
    assertRefused("INVALID_OPTION", "has no registry")("format" -> "avro", "schema" -> "registry")
    val keys = confluent ++ Seq("keyFormat" -> "avro-confluent", "keyFields" -> "id")
    assertRefused("INVALID_OPTION", "'key.avro-confluent.subject'")(keys :+ ("registry.subject" -> "s"): _*)
    val own = of(keys ++ Seq("registry.subject" -> "s", "key.avro-confluent.subject" -> "k"): _*)
    assert(own.value.registries.of("b").subject.contains("s"))
    assert(own.key.get.side.registries.of("b").subject.contains("k"))
    assert(of(confluent :+ ("schema" -> "registry"): _*).schemaFromRegistry)
  }

  test("of the settings of a catalog, each side gets those that concern it") {
    def key(option: String) = FormatKey(None, "json", option)
    assert(WriteOptionSpecs.readsOnly(key("ignore-parse-errors")))
    assert(WriteOptionSpecs.writesOnly(key("ignoreNullFields")))
    Seq("timestampFormat", "unknown", "mode").foreach(option =>
      assert(!WriteOptionSpecs.readsOnly(key(option)) && !WriteOptionSpecs.writesOnly(key(option)), option)
    )
    // Refused where it would be ignored: a reader could not tell what was written.
    assert(!WriteOptionSpecs.readsOnly(FormatKey(None, "csv", "disableQuoteCharacter")))
  }
}

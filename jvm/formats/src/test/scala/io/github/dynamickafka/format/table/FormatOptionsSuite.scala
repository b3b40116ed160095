package io.github.dynamickafka.format.table

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.table.ParsedFormats.{read, refused}
import io.github.dynamickafka.format.{MetadataColumn, MetadataItem, ParseErrors, Text}
import io.github.dynamickafka.testkit.TimeLimit

class FormatOptionsSuite extends AnyFunSuite with TimeLimit {

  private def of(options: (String, String)*): FormatTable = read(options: _*)

  /** The condition, and a part of the message. */
  private def assertRefused(condition: String, text: String)(options: (String, String)*): Unit = {
    val error = refused(of(options: _*))
    assert(error.getCondition == s"DYNAMIC_KAFKA.$condition")
    assert(error.getMessage.contains(text))
  }

  test("without options the columns are those of Spark's Kafka source") {
    assert(of().isPlain)
    assert(of("format" -> "raw").isPlain)
    assert(!of("format" -> "string").isPlain)
    assert(!of("metadataColumns" -> "offset").isPlain)
  }

  test("Flink's names of the options, and valueFormat") {
    val json = Seq("schema" -> "id INT, at STRING")
    val expected =
      of(json ++ Seq(
        "format" -> "json",
        "keyFormat" -> "json",
        "keyFields" -> "id",
        "valueFieldsInclude" -> "EXCEPT_KEY"
      ): _*)
    val flink = of(json ++ Seq(
      "value.format" -> "json",
      "key.format" -> "json",
      "key.fields" -> "id",
      "value.fields-include" -> "EXCEPT_KEY"
    ): _*)
    assert(flink == expected)
    assert(of("valueFormat" -> "string").value.format == Text)
    assert(of("valueFormat" -> "string", "format" -> "string").value.format == Text)
  }

  test("format and valueFormat that differ, and unknown formats") {
    assertRefused("INVALID_OPTION", "the same option is also set")("format" -> "json", "valueFormat" -> "csv")
    assertRefused(
      "INVALID_OPTION",
      "'raw', 'string', 'json', 'csv', 'avro', 'avro-confluent', 'json-confluent', 'debezium-json'"
    )("format" -> "thrift")
  }

  test("options of formats, for both sides or one, in any spelling") {
    val both = of(
      "format" -> "json",
      "keyFormat" -> "json",
      "keyFields" -> "id",
      "schema" -> "id INT, v INT",
      "json.allowComments" -> "true",
      "value.json.allow-comments" -> "false",
      "key.json.timestampFormat" -> "yyyy"
    )
    assert(both.value.options == Map("allowComments" -> "false"))
    assert(both.key.get.side.options == Map("allowComments" -> "true", "timestampFormat" -> "yyyy"))
    val csv =
      of("format" -> "csv", "schema" -> "id INT", "csv.fieldDelimiter" -> ";", "csv.null-literal" -> "-")
    assert(csv.value.options == Map("sep" -> ";", "nullValue" -> "-"))
    assert(
      of("format" -> "csv", "csv.delimiter" -> "|", "schema" -> "id INT").value.options == Map("sep" -> "|")
    )
  }

  test(
    "protobuf requires a message and a descriptor file, which the registry of protobuf-confluent replaces"
  ) {
    val named = Seq("format" -> "protobuf", "protobuf.messageName" -> "shop.Order")
    assertRefused("MISSING_OPTION", "protobuf.messageName")("format" -> "protobuf")
    assertRefused("MISSING_OPTION", "protobuf.descriptorFile")(named: _*)
    val found =
      of(named ++ Seq("protobuf.descriptorFile" -> "/x", "protobuf.read-default-values" -> "true"): _*)
    assert(found.value.options ==
      Map("messageName" -> "shop.Order", "descriptorFile" -> "/x", "emit.default.values" -> "true"))
    assertRefused(
      "INVALID_OPTION",
      "it names a Java class"
    )(named :+ ("protobuf.message-class-name" -> "x.Y"): _*)
    val confluent =
      Seq("format" -> "protobuf-confluent", "registry.url" -> "http://localhost:1", "schema" -> "registry")
    assert(of(confluent: _*).schemaFromRegistry)
    assertRefused("INVALID_OPTION", "the registry has the descriptors")(
      confluent :+ ("protobuf-confluent.descriptorFile" -> "/x"): _*
    )
  }

  test("options of formats that are unknown, refused or without effect") {
    assertRefused("UNKNOWN_OPTION", "Did you mean 'json.timestampFormat'?")(
      "format" -> "json",
      "json.timestampFromat" -> "x"
    )
    assertRefused("UNKNOWN_OPTION", "Did you mean 'value.csv.sep'?")(
      "format" -> "csv",
      "value.csv.sepp" -> "x"
    )
    assertRefused("INVALID_OPTION", "use 'parseErrors'")("format" -> "json", "json.mode" -> "FAILFAST")
    assertRefused("INVALID_OPTION", "no effect when records are read")(
      "format" -> "json",
      "json.multiLine" -> "true"
    )
    assertRefused("INVALID_OPTION", "the format 'csv' is not in use")("format" -> "json", "csv.sep" -> ";")
    assertRefused("INVALID_OPTION", "the format 'json' is not in use")("json.allowComments" -> "true")
    assertRefused("INVALID_OPTION", "'keyFormat' is 'string'")(
      "format" -> "json",
      "keyFormat" -> "string",
      "key.json.allowComments" -> "true"
    )
    assertRefused("INVALID_OPTION", "neither 'true' nor 'false'")(
      "format" -> "json",
      "json.allowComments" -> "yes"
    )
    assertRefused("UNKNOWN_OPTION", "")("xml.mode" -> "x")
  }

  test("a format that does not exist: all formats, and the most similar one") {
    assertRefused("INVALID_OPTION", "'protobuf-confluent', 'metadata'. Did you mean 'json'?")(
      "format" -> "jsn"
    )
    assertRefused("INVALID_OPTION", "'metadata'. Did you mean 'metadata'?")("format" -> "metdata")
    assertRefused("INVALID_OPTION", "'protobuf-confluent'. Did you mean 'avro'?")(
      "keyFormat" -> "avr",
      "keyFields" -> "a",
      "schema" -> "a INT"
    )
  }

  test("timestampFormat.standard is a format of timestamps with and without zone") {
    def standard(name: String) =
      of(
        "format" -> "json",
        "schema" -> "t TIMESTAMP",
        "json.timestamp-format.standard" -> name
      ).value.options
    assert(standard("SQL")("timestampFormat") == "yyyy-MM-dd HH:mm:ss[.SSSSSSSSS][XXX]")
    assert(standard("ISO-8601")("timestampNTZFormat") == "yyyy-MM-dd'T'HH:mm:ss[.SSSSSSSSS]")
    assertRefused("INVALID_OPTION", "it is not one of 'SQL', 'ISO-8601'")(
      "format" -> "json",
      "json.timestampFormat.standard" -> "x"
    )
  }

  test("keys: fields, prefix and what values include") {
    val base = Seq("format" -> "json", "schema" -> "k_id INT, v INT")
    assertRefused("MISSING_OPTION", "keyFields")(base :+ ("keyFormat" -> "json"): _*)
    assertRefused("INVALID_OPTION", "'keyFormat' is not set")(base :+ ("keyFields" -> "k_id"): _*)
    assertRefused(
      "INVALID_OPTION",
      "one column"
    )(base ++ Seq("keyFormat" -> "raw", "keyFields" -> "k_id,v"): _*)
    assert(of(base ++ Seq("keyFormat" -> "raw", "keyFields" -> "k_id"): _*).wholeKey.contains("k_id"))
    val keyed = base ++ Seq("keyFormat" -> "json", "keyFields" -> "k_id")
    assertRefused(
      "INVALID_OPTION",
      "requires 'valueFieldsInclude=EXCEPT_KEY'"
    )(keyed :+ ("keyFieldsPrefix" -> "k_"): _*)
    assertRefused("INVALID_OPTION", "does not begin with it")(
      keyed ++ Seq("keyFieldsPrefix" -> "x_", "valueFieldsInclude" -> "EXCEPT_KEY"): _*
    )
    assertRefused(
      "INVALID_OPTION",
      "no effect without 'keyFields'"
    )(base :+ ("valueFieldsInclude" -> "ALL"): _*)
    val prefixed = of(keyed ++ Seq("key.fields-prefix" -> "k_", "valueFieldsInclude" -> "EXCEPT_KEY"): _*)
    assert(prefixed.key.get.prefix == "k_" && prefixed.exceptKey)
  }

  test("parseErrors of keys and values") {
    import ParseErrors._
    val json =
      Seq("format" -> "json", "keyFormat" -> "json", "keyFields" -> "id", "schema" -> "id INT, v INT")
    def policies(more: (String, String)*) = {
      val parsed = of(json ++ more: _*)
      (parsed.value.parseErrors, parsed.key.get.side.parseErrors)
    }
    assert(policies() == ((Fail, Fail)))
    assert(policies("parseErrors" -> "drop") == ((Drop, Drop)))
    assert(policies("parseErrors" -> "drop", "keyParseErrors" -> "null") == ((Drop, Nulls)))
    assert(policies("valueParseErrors" -> "keep") == ((Keep, Fail)))
    assert(policies("value.json.ignore-parse-errors" -> "true") == ((Ignore, Fail)))
    assertRefused("INVALID_OPTION", "only one of them is allowed")(
      json ++ Seq("json.ignoreParseErrors" -> "true", "parseErrors" -> "fail"): _*
    )
    assertRefused("INVALID_OPTION", "only one of them is allowed")(
      json ++ Seq("json.ignoreParseErrors" -> "true", "json.failOnMissingField" -> "true"): _*
    )
    assertRefused("INVALID_OPTION", "it has no effect")("parseErrors" -> "drop")
    assertRefused("INVALID_OPTION", "it has no effect")(
      "format" -> "json",
      "schema" -> "id INT",
      "keyParseErrors" -> "drop"
    )
  }

  test("dead letters need a topic, which alone has no effect") {
    val json = Seq("format" -> "json", "schema" -> "id INT")
    assertRefused("MISSING_OPTION", "deadLetterTopic")(json :+ ("parseErrors" -> "dead-letter"): _*)
    val both = of(json ++ Seq("valueParseErrors" -> "dead-letter", "deadLetterTopic" -> "bad"): _*)
    assert(both.deadLetters.contains(DeadLetterOptions("bad", None)) && both.value.parseErrors.drops)
    assert(of("deadLetterTopic" -> "bad").deadLetters.isEmpty)
  }

  test("metadataColumns: names in any case, in the order given, each once") {
    import MetadataColumn._
    assert(of("metadataColumns" -> "Offset; cluster,leaderEpoch").metadata.columns.contains(
      Seq(Offset, Cluster, LeaderEpoch).map(MetadataItem.OfRecord(_))
    ))
    assert(of("metadataColumns" -> "").metadata.columns.contains(Nil))
    assertRefused(
      "INVALID_OPTION",
      "there is no column 'ofset'; there are 'topic'"
    )("metadataColumns" -> "ofset")
    assertRefused("INVALID_OPTION", "twice")("metadataColumns" -> "offset,OFFSET")
    assertRefused("INVALID_OPTION", "the format 'raw' has no metadata 'value.source.table'.")(
      "metadataColumns" -> "value.source.table"
    )
  }

  test("metadataColumns: renamed, and metadata of the format") {
    val debezium = Seq("format" -> "debezium-json", "schema" -> "id INT")
    assert(
      of(
        debezium :+ ("metadataColumns" -> "offset AS position;value.source.table; VALUE.Ingestion-Timestamp as at"): _*
      )
        .metadata.columns.get.map(_.name) == Seq("position", "source_table", "at")
    )
    assertRefused("INVALID_OPTION", "no metadata 'value.sourcetable.x'; it has 'value.schema'")(
      debezium :+ ("metadataColumns" -> "value.sourcetable.x"): _*
    )
    assertRefused(
      "INVALID_OPTION",
      "'p' twice"
    )(debezium :+ ("metadataColumns" -> "offset AS p, topic AS p"): _*)
  }

  test("changes: their options, and not as keys") {
    val debezium = Seq("format" -> "debezium-json", "schema" -> "id INT")
    assert(of(debezium :+ ("debezium-json.schema-include" -> "true"): _*).value.options == Map(
      "schemaInclude" -> "true"
    ))
    assert(
      of(debezium :+ ("changeData" -> "envelope"): _*).changeEnvelope && !of(debezium: _*).changeEnvelope
    )
    assertRefused("INVALID_OPTION", "'debezium-json', 'debezium-avro-confluent', 'canal-json'")(
      "format" -> "json",
      "schema" -> "id INT",
      "changeData" -> "rows"
    )
    assertRefused("INVALID_OPTION", "keys have no changes")(
      "keyFormat" -> "debezium-json",
      "keyFields" -> "id",
      "schema" -> "id INT"
    )
    assertRefused("INVALID_OPTION", "value.canal-json.table.include")(
      "format" -> "canal-json",
      "schema" -> "id INT",
      "value.canal-json.table.include" -> "("
    )
    assertRefused("UNKNOWN_OPTION", "")(debezium :+ ("debezium-json.failOnMissingField" -> "true"): _*)
  }

  test("schema: DDL, JSON and Avro") {
    def columns(text: String) = of("format" -> "json", "schema" -> text).schema.get
    val expected = columns("id INT, tags ARRAY<STRING>").columns
    assert(columns(expected.json).columns == expected)
    assert(columns(expected.simpleString).columns == expected)
    val avro =
      """{"type":"record","name":"r","fields":[{"name":"id","type":"int"},
        |{"name":"tags","type":{"type":"array","items":"string"}}]}""".stripMargin
    assert(columns(avro).columns == expected)
    assert(columns(avro).avro.contains(avro))
    assert(expected.forall(_.nullable))
  }

  test("schemas that cannot be used") {
    def assertInvalid(text: String, reason: String) =
      assertRefused("INVALID_SCHEMA", reason)("format" -> "json", "schema" -> text)
    assertInvalid("id WHAT", "cannot be parsed")
    assertInvalid("id bigint, item sting", "STING")
    assertInvalid("struct<id: bigint, item: sting>", "STING")
    assertInvalid("{\"type\": \"recor", "cannot be parsed")
    assertInvalid("{\"type\": \"record\", \"name\": \"r\"}", "cannot be parsed")
    assertInvalid("id CHAR(3)", "use STRING")
    assertInvalid("int", "not a record")
    assertRefused("INVALID_OPTION", "has no registry")("format" -> "avro", "schema" -> "registry")
    assertRefused("INVALID_OPTION", "fixed columns")("schema" -> "id INT")
    assertRefused("INVALID_OPTION", "fixed columns")("format" -> "string", "schema" -> "id INT")
  }

  test("a cluster has no format and no columns of its own: two streams have") {
    for (option <- Seq("format", "valueFormat", "schema", "keyFormat", "keyFields", "parseErrors"))
      assertRefused(
        "INVALID_OPTION",
        "is two streams, each with a query of its own"
      )(s"cluster.blue.$option" -> "json")
  }

  test("options of Avro that give a schema other columns") {
    def columns(text: String, options: (String, String)*) =
      of(Seq("format" -> "avro", "schema" -> text) ++ options: _*).schema.get.columns.toDDL
    val union = """{"type":"record","name":"R","fields":[{"name":"u","type":["int","string"]}]}"""
    assert(columns(union) == "u STRUCT<member0: INT, member1: STRING>")
    val stable = "avro.enableStableIdentifiersForUnionType" -> "true"
    assert(columns(union, stable) == "u STRUCT<member_int: INT, member_string: STRING>")
    assert(columns(union, stable, "avro.stableIdentifierPrefixForUnionType" -> "m_") ==
      "u STRUCT<m_int: INT, m_string: STRING>")
    val recursive =
      """{"type":"record","name":"N","fields":[{"name":"id","type":"int"},{"name":"next","type":["null","N"]}]}"""
    assertRefused("INVALID_SCHEMA", "recursive reference")("format" -> "avro", "schema" -> recursive)
    assert(columns(recursive, "avro.recursiveFieldMaxDepth" -> "2") == "id INT,next STRUCT<id: INT>")
  }
}

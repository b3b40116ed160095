package io.github.dynamickafka.format.table

import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.format.table.ParsedFormats.{read, refused}
import io.github.dynamickafka.format.{ColumnOrigin, Layout}
import io.github.dynamickafka.testkit.TimeLimit

class LayoutsSuite extends AnyFunSuite with TimeLimit {

  private def layout(options: (String, String)*): Layout =
    read(options: _*).layout(None, includeHeaders = false)

  private def asGiven(ddl: String)(options: (String, String)*): Layout =
    read(options: _*).layout(Some(StructType.fromDDL(ddl)), includeHeaders = false)

  private def names(layout: Layout) = layout.columns.map(_.field.name)

  private val json = Seq("format" -> "json", "schema" -> "id INT, v STRING")

  test("decoded columns, then the default metadata columns") {
    assert(
      layout(json: _*).schema.toDDL ==
        "id INT,v STRING,topic STRING NOT NULL,partition INT NOT NULL,offset BIGINT NOT NULL," +
        "timestamp TIMESTAMP NOT NULL,cluster STRING NOT NULL,stream STRING NOT NULL"
    )
    assert(names(layout("format" -> "string")).take(2) == Seq("value", "topic"))
    assert(names(layout("format" -> "string", "keyFormat" -> "string")).take(3) == Seq(
      "key",
      "value",
      "topic"
    ))
    val withHeaders = read(json: _*).layout(None, includeHeaders = true)
    assert(names(withHeaders).last == "headers")
  }

  test("metadataColumns and metadataPrefix") {
    val chosen = layout(json ++ Seq("metadataColumns" -> "offset,key,headers", "metadataPrefix" -> "m_"): _*)
    assert(names(chosen) == Seq("id", "v", "m_offset", "m_key", "m_headers"))
    assert(names(layout(json :+ ("metadataColumns" -> ""): _*)) == Seq("id", "v"))
  }

  test("keep adds its columns after the decoded ones") {
    val kept = layout(json ++ Seq("parseErrors" -> "keep", "metadataColumns" -> "offset"): _*)
    assert(names(kept) == Seq("id", "v", "_corrupt_record", "_decode_error", "offset"))
  }

  test("a collision is refused with the column and the option") {
    val error = refused(layout("format" -> "json", "schema" -> "id INT, Offset INT"))
    assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA")
    assert(error.getMessage.contains("'offset'") && error.getMessage.contains("metadataPrefix"))
    val twice = refused(layout("format" -> "json", "schema" -> "id INT, ID INT"))
    assert(twice.getMessage.contains("'ID' twice"))
    assert(refused(layout("format" -> "string", "metadataColumns" -> "value")).getMessage.contains("'value'"))
  }

  test("formats with fields need a schema") {
    assert(refused(layout("format" -> "json")).getCondition == "DYNAMIC_KAFKA.MISSING_OPTION")
  }

  test("the fields of a key have the order of keyFields, whatever that of the schema is") {
    val keyed = layout(
      "format" -> "json",
      "schema" -> "a INT, b STRING, v STRING",
      "keyFormat" -> "csv",
      "keyFields" -> "b;a",
      "valueFieldsInclude" -> "EXCEPT_KEY"
    )
    assert(keyed.key.get.schema.fieldNames.toSeq == Seq("b", "a"))
    assert(names(keyed).take(3) == Seq("a", "b", "v"))
    assert(keyed.columns.map(_.origin).take(2) == Seq(ColumnOrigin.OfKey(1), ColumnOrigin.OfKey(0)))
  }

  test("keys and values: EXCEPT_KEY divides the columns, ALL reads them from the values") {
    val keyed = Seq(
      "format" -> "json",
      "schema" -> "k_id INT, v STRING",
      "keyFormat" -> "csv",
      "keyFields" -> "k_id"
    )
    val divided = layout(keyed ++ Seq("valueFieldsInclude" -> "EXCEPT_KEY", "keyFieldsPrefix" -> "k_"): _*)
    assert(divided.key.get.schema.fieldNames.toSeq == Seq("id"))
    assert(divided.value.schema.fieldNames.toSeq == Seq("v"))
    assert(names(divided).take(2) == Seq("k_id", "v"))
    assert(divided.columns.map(_.origin).take(2) == Seq(ColumnOrigin.OfKey(0), ColumnOrigin.OfValue(0)))
    val all = layout(keyed: _*)
    assert(all.key.isEmpty && all.value.schema.fieldNames.toSeq == Seq("k_id", "v"))
    val misspelt = refused(layout(keyed.init :+ ("keyFields" -> "nope"): _*))
    assert(misspelt.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
    assert(misspelt.getMessage.contains("no column 'nope'"))
  }

  test("a schema given to Spark has all columns: names of metadata are metadata, the others are decoded") {
    val own = asGiven("offset BIGINT, id INT, cluster STRING")("format" -> "json")
    assert(names(own) == Seq("offset", "id", "cluster"))
    assert(own.value.schema.fieldNames.toSeq == Seq("id"))
    val prefixed = asGiven("offset INT, m_offset BIGINT")("format" -> "json", "metadataPrefix" -> "m_")
    assert(prefixed.value.schema.fieldNames.toSeq == Seq("offset"))
    assert(names(asGiven("value STRING, topic STRING")("format" -> "string")) == Seq("value", "topic"))
    val kept = asGiven("id INT, _corrupt_record BINARY")("format" -> "json", "parseErrors" -> "keep")
    assert(kept.columns.last.origin == ColumnOrigin.CorruptRecord)
  }

  test("a schema given to Spark that does not fit") {
    assert(refused(
      asGiven("offset INT, id INT")("format" -> "json")
    ).getMessage.contains("has type BIGINT, not INT"))
    assert(
      refused(asGiven("value BINARY")("format" -> "string")).getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA"
    )
    assert(refused(asGiven("x INT")("format" -> "string")).getMessage.contains("no column 'x'"))
    assert(refused(asGiven("id INT")(json: _*)).getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
  }

  test("only selected fields are decoded, unless the rows depend on the others") {
    def wanted(policy: String, columns: String*) =
      layout(json :+ ("parseErrors" -> policy): _*).pruned(columns).value.wanted
    assert(wanted("fail", "v", "offset") == Seq(1))
    assert(wanted("null", "offset") == Nil)
    assert(wanted("drop", "offset") == Seq(0, 1))
    // What is left of a bad record is the same, whatever is selected.
    assert(wanted("null", "v") == Seq(0, 1))
    assert(wanted("keep", "v") == Seq(0, 1))
    assert(wanted("keep", "offset") == Nil)
    assert(wanted("keep", "_decode_error") == Seq(0, 1))
    assert(names(layout(json: _*).pruned(Seq("offset", "v"))) == Seq("offset", "v"))
  }

  private val debezium = Seq("format" -> "debezium-json", "schema" -> "id INT, v STRING")

  test("changes: the kind comes after the payload, metadata of the format among the metadata") {
    val all = debezium ++ Seq(
      "parseErrors" -> "keep",
      "metadataColumns" -> "offset,value.source.table,topic",
      "metadataPrefix" -> "m_"
    )
    assert(
      names(layout(all: _*)) == Seq(
        "id",
        "v",
        "_change_type",
        "_corrupt_record",
        "_decode_error",
        "m_offset"
      ) ++
        Seq("m_source_table", "m_topic")
    )
    assert(names(layout(debezium ++ Seq("changeData" -> "envelope", "metadataColumns" -> "offset"): _*)) ==
      Seq("op", "before", "after", "source", "ts_ms", "offset"))
    assert(
      refused(layout(
        "format" -> "ogg-json",
        "schema" -> "_change_type INT"
      )).getMessage.contains("'_change_type'")
    )
  }

  private val orders = Seq(
    "format" -> "avro",
    "schema" -> """{"type":"record","name":"Order","namespace":"shop","doc":"An order","fields":[
                  |{"name":"id","type":"int"},{"name":"a","type":"int"},
                  |{"name":"b","type":"int","default":7,"aliases":["c"]}]}""".stripMargin
  )

  test("an Avro schema is that of the values, without the fields of the key") {
    val divided = layout(orders ++ Seq(
      "keyFormat" -> "json",
      "keyFields" -> "id",
      "valueFieldsInclude" -> "EXCEPT_KEY"
    ): _*)
    val own = new org.apache.avro.Schema.Parser().parse(divided.value.avro.get)
    assert(own.getFullName == "shop.Order" && own.getDoc == "An order")
    assert(own.getFields.toString.contains("a") && own.getField("id") == null)
    assert(own.getField("b").defaultVal == 7 && own.getField("b").aliases.contains("c"))
    assert(divided.key.get.schema.fieldNames.toSeq == Seq("id") && divided.key.get.avro.isEmpty)
  }

  test("keyFormat=raw or string with one of keyFields: the whole key is the column of this name") {
    def origins(of: Layout) = of.columns.map(c => c.field.toDDL -> c.origin)
    val text =
      layout("format" -> "string", "keyFormat" -> "string", "keyFields" -> "user", "metadataColumns" -> "")
    assert(origins(text) == Seq(
      "user STRING" -> ColumnOrigin.OfKey(0),
      "value STRING" -> ColumnOrigin.OfValue(0)
    ))
    val keyed = Seq(
      "format" -> "json",
      "schema" -> "v INT, user STRING",
      "keyFormat" -> "raw",
      "keyFields" -> "user",
      "metadataColumns" -> ""
    )
    val except = layout(keyed :+ ("valueFieldsInclude" -> "EXCEPT_KEY"): _*)
    assert(origins(except) == Seq("v INT" -> ColumnOrigin.OfValue(0), "user STRING" -> ColumnOrigin.OfKey(0)))
    val key = except.key.get
    assert(except.value.schema.fieldNames.toSeq == Seq("v"))
    assert(Decoded.by(Decoders.of(key), key)("k".getBytes) == Decoded(Seq("'k'"), bad = false))
    val all = layout(keyed: _*)
    assert(all.key.isEmpty && all.value.schema.fieldNames.toSeq == Seq("v", "user"))
    val beside = layout(keyed.updated(1, "schema" -> "v INT"): _*)
    assert(origins(beside) == Seq("user BINARY" -> ColumnOrigin.OfKey(0), "v INT" -> ColumnOrigin.OfValue(0)))
    val number = keyed.updated(1, "schema" -> "v INT, user INT") :+ ("valueFieldsInclude" -> "EXCEPT_KEY")
    assert(refused(layout(number: _*)).getMessage.contains("'user' is the whole key"))
  }
}

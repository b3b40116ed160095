package io.github.dynamickafka.format.table

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.StructType
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.{DynamicKafkaIllegalArgumentException, DynamicKafkaRuntimeException}
import io.github.dynamickafka.testkit.TimeLimit

/** Which columns become keys and values, and as what. */
class EncodingsSuite extends AnyFunSuite with TimeLimit {

  private val utc = "json.timeZone" -> "UTC"

  /** The key and the value of a row, as text. */
  private def written(ddl: String, options: (String, String)*)(values: Any*): (String, String) = {
    val schema = StructType.fromDDL(ddl)
    val encoding = of(ddl, options: _*)
    val row = CatalystTypeConverters.createToCatalystConverter(schema)(Row.fromSeq(values))
      .asInstanceOf[InternalRow]
    (
      encoding.key.map(new RowEncoder(_, "key")(row)).map(text).orNull,
      text(new RowEncoder(encoding.value, "value")(row))
    )
  }

  private def text(bytes: Array[Byte]) = if (bytes == null) null else new String(bytes, UTF_8)

  private val routing = Set("topic", "partition", "timestamp", "headers", "cluster", "stream")

  private def of(ddl: String, options: (String, String)*): Encoding = {
    val format = ParsedFormats.write(options: _*)
    val schema = StructType.fromDDL(ddl)
    val routes = schema.fieldNames.zipWithIndex.collect {
      case (name, i)
          if name.startsWith(format.metadata.prefix) && routing(name.drop(format.metadata.prefix.length)) => i
    }
    format.encoding(schema, routes.toSet, caseSensitive = false)
  }

  private def refused(ddl: String, options: (String, String)*): DynamicKafkaIllegalArgumentException =
    intercept[DynamicKafkaIllegalArgumentException](of(ddl, options: _*))

  private def assertRefused(
      condition: String,
      part: String
  )(ddl: String, options: (String, String)*): Unit = {
    val error = refused(ddl, options: _*)
    assert(error.getCondition == s"DYNAMIC_KAFKA.$condition", error.getMessage)
    assert(error.getMessage.contains(part), error.getMessage)
  }

  private val json = "format" -> "json"
  private val at = java.sql.Timestamp.from(java.time.Instant.parse("2026-11-23T01:02:03.123456Z"))

  test("json: columns that do not route, without null fields, timestamps with six digits") {
    val ddl = "id INT, name STRING, at TIMESTAMP, topic STRING, cluster STRING"
    val found = written(ddl, json, utc)(1, null, at, "t", "blue")
    assert(found._1 == null && found._2 == """{"id":1,"at":"2026-11-23T01:02:03.123456Z"}""")
    assert(written(ddl, json, utc)(null, null, null, "t", "blue")._2 == "{}")
  }

  test("json: null fields, Flink's SQL timestamps, local timestamps") {
    val local = java.time.LocalDateTime.parse("2026-11-23T01:02:03")
    val ddl = "id INT, at TIMESTAMP, l TIMESTAMP_NTZ"
    assert(
      written(ddl, json, utc, "json.encode.ignore-null-fields" -> "false")(null, at, local)._2 ==
        """{"id":null,"at":"2026-11-23T01:02:03.123456Z","l":"2026-11-23T01:02:03.000000"}"""
    )
    assert(
      written(ddl, json, utc, "json.timestamp-format.standard" -> "SQL")(1, at, local)._2 ==
        """{"id":1,"at":"2026-11-23 01:02:03.123456Z","l":"2026-11-23 01:02:03.000000"}"""
    )
  }

  test("csv: spaces at the ends are kept") {
    assert(written("id INT, s STRING, t STRING", "format" -> "csv")(1, " a ", null)._2 == "1, a ,")
    assert(written("id INT, s STRING", "format" -> "csv", "csv.field-delimiter" -> ";")(
      1,
      "a;b"
    )._2 == "1;\"a;b\"")
  }

  test("raw and string: the columns key and value") {
    assert(written("value STRING, key STRING", "format" -> "string", "keyFormat" -> "string")(
      "v",
      "k"
    ) == "k" -> "v")
    assert(
      written(
        "value BINARY, key BINARY",
        "keyFormat" -> "raw"
      )("v".getBytes, "k".getBytes) == ("k", "v")
    )
    assert(written("value STRING", "format" -> "string")(null)._2 == null)
    assertRefused("INVALID_COLUMN", "must be STRING.")("value BINARY", "format" -> "string")
    assertRefused("INVALID_COLUMN", "set 'keyFormat'")("value STRING, key STRING", "format" -> "string")
    assertRefused("INVALID_COLUMN", "column 'x'")("value STRING, x INT", "format" -> "string")
    assertRefused("INVALID_COLUMN", "required but missing")(
      "key STRING",
      "format" -> "string",
      "keyFormat" -> "raw"
    )
  }

  test("key fields are in both, or with EXCEPT_KEY only in the key, without their prefix") {
    val keys = Seq(json, "keyFormat" -> "json", "keyFields" -> "id")
    assert(written("id INT, v STRING", keys: _*)(1, "a") == """{"id":1}""" -> """{"id":1,"v":"a"}""")
    val except = Seq(
      json,
      "keyFormat" -> "csv",
      "keyFields" -> "k_id;k_r",
      "keyFieldsPrefix" -> "k_",
      "valueFieldsInclude" -> "EXCEPT_KEY"
    )
    // The key has the order of keyFields, whatever that of the columns is: a delete finds what an insert wrote.
    assert(written("v STRING, k_r STRING, k_id INT", except: _*)("a", "eu", 1) == "1,eu" -> """{"v":"a"}""")
    assert(written("k_id INT, v STRING, k_r STRING", except: _*)(1, "a", "eu") == "1,eu" -> """{"v":"a"}""")
    assertRefused("INVALID_COLUMN", "column 'value': no column is left")("k_r STRING, k_id INT", except: _*)
    assertRefused("INVALID_COLUMN", "'keyFields' contains it")("v STRING", keys: _*)
    assertRefused("INVALID_OPTION", "the schema has no column 'id'")(
      "v STRING",
      keys :+ ("schema" -> "v STRING"): _*
    )
    assert(
      written(
        "id INT, value STRING",
        "keyFormat" -> "json",
        "keyFields" -> "id",
        "valueFieldsInclude" -> "EXCEPT_KEY"
      )(1, "v") == """{"id":1}""" -> "v"
    )
    assertRefused("INVALID_COLUMN", "'EXCEPT_KEY'")(
      "id INT, value STRING",
      "keyFormat" -> "json",
      "keyFields" -> "id"
    )
  }

  test("with a schema: by name, in its order, cast as an INSERT does, null for a missing column") {
    val schema =
      "schema" -> "id BIGINT, name STRING, price DECIMAL(6,2), st STRUCT<a: BIGINT, b: STRING>, gone STRING"
    val value = written(
      "st STRUCT<b: STRING, a: INT>, NAME INT, id TINYINT, price DECIMAL(4,1)",
      json,
      schema,
      "json.ignoreNullFields" -> "false"
    )(Row("x", 5), 7, 3.toByte, new java.math.BigDecimal("1.5"))._2
    assert(
      value == """{"id":3,"name":"7","price":1.50,"st":{"a":5,"b":"x"},"gone":null}"""
    )
  }

  test("with a schema: what does not fit is refused before anything is written, or fails without the value") {
    val schema = Seq(json, "schema" -> "id INT, at DATE")
    assertRefused("INVALID_COLUMN", "column 'id'")("id STRING", schema: _*)
    assertRefused("INVALID_COLUMN", "column 'x': it is neither in 'schema'")("id INT, x INT", schema: _*)
    val error = intercept[DynamicKafkaRuntimeException](written("id BIGINT", schema: _*)(98765432100L))
    assert(error.getCondition == "DYNAMIC_KAFKA.ENCODE_FAILED" && error.getMessage.contains("`id`"))
    assert(!error.getMessage.contains("98765432100"))
    val avro =
      """{"type":"record","name":"R","fields":[{"name":"id","type":"int"}]}"""
    val missing = intercept[DynamicKafkaRuntimeException](
      written("id INT", "format" -> "avro", "schema" -> avro)(null)
    )
    assert(missing.getMessage.contains("The value of a row cannot be written as avro"))
  }

  test("metadata of records that were read is refused, unless a prefix says which columns are metadata") {
    Seq("offset BIGINT", "timestampType INT", "leaderEpoch INT", "OFFSET BIGINT").foreach(column =>
      assertRefused("INVALID_COLUMN", "set 'metadataPrefix'")(s"id INT, $column", json)
    )
    val prefix = "metadataPrefix" -> "m_"
    assert(written("offset BIGINT, topic STRING, m_topic STRING", json, prefix)(
      5L,
      "a",
      "t"
    )._2 == """{"offset":5,"topic":"a"}""")
    assertRefused("INVALID_COLUMN", "column 'm_offset'")("id INT, m_offset BIGINT", json, prefix)
  }

  test("types that a format does not have are refused, with the column") {
    assertRefused("INVALID_COLUMN", "column 'a'")("id INT, a BINARY", "format" -> "csv")
    assertRefused("INVALID_COLUMN", "column 'm'")("id INT, m MAP<INT, STRING>", "format" -> "avro")
    assertRefused("INVALID_SCHEMA", "avro")(
      "id INT",
      "format" -> "avro",
      "schema" -> "id INT, m MAP<INT, STRING>"
    )
    assertRefused("INVALID_COLUMN", "more than one")("id INT, ID INT", json)
  }

  test("an Avro schema is that of the values, without the fields of the key: its bytes can be read with it") {
    val schema = """{"type":"record","name":"Order","fields":[{"name":"id","type":"int"},
                   |{"name":"a","type":"int"},{"name":"b","type":["int","null"],"default":7}]}""".stripMargin
    val options =
      Seq("format" -> "avro", "schema" -> schema, "keyFields" -> "id", "valueFieldsInclude" -> "EXCEPT_KEY")
    Seq("json", "avro", "string").foreach { keys =>
      val isText = keys == "string"
      val id = if (isText) "id STRING" else "id INT"
      val declared = if (isText) schema.replaceFirst("int", "string") else schema
      val of = options.updated(1, "schema" -> declared)
      Seq(0, 5).foreach { n =>
        val bytes =
          written(s"$id, a INT, b INT", of :+ ("keyFormat" -> keys): _*)(if (isText) "k" else 1, n, n)._2
        // Zigzag, and the branch of the union.
        assert(bytes.getBytes(UTF_8).toSeq == Seq[Byte]((2 * n).toByte, 0, (2 * n).toByte), keys)
      }
    }
  }

  test("keyFormat=raw or string with one of keyFields: the column of this name is the key") {
    val keyed = Seq(json, "keyFormat" -> "string", "keyFields" -> "user")
    assert(written("user STRING, v INT", keyed: _*)("u", 1) == "u" -> """{"user":"u","v":1}""")
    assert(written("user STRING, v INT", keyed :+ ("valueFieldsInclude" -> "EXCEPT_KEY"): _*)("u", 1) ==
      "u" -> """{"v":1}""")
    assert(written(
      "user STRING, v INT",
      keyed :+ ("schema" -> "v BIGINT"): _*
    )("u", 1) == "u" -> """{"v":1}""")
    assert(written(
      "value STRING, user BINARY",
      "format" -> "string",
      "keyFormat" -> "raw",
      "keyFields" -> "user"
    )(
      "v",
      "u".getBytes
    ) == "u" -> "v")
    assertRefused("INVALID_COLUMN", "'keyFields' contains it")("v INT", keyed: _*)
    assertRefused("INVALID_COLUMN", "must be STRING")("user INT, v INT", keyed: _*)
  }
}

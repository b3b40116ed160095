package io.github.dynamickafka.format.change

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types.{BinaryType, ByteType, ShortType, StringType, StructField, StructType}
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.Decoder
import io.github.dynamickafka.format.table.{Decoded, Encoding, ParsedFormats, RandomRows, RowEncoder}
import io.github.dynamickafka.testkit.TimeLimit

/** Changes as records of Debezium and Canal. */
class ChangeWritesSuite extends AnyFunSuite with TimeLimit {

  private def of(schema: StructType, options: (String, String)*): Encoding = {
    val routes = schema.fieldNames.zipWithIndex.collect { case ("cluster", i) => i }
    ParsedFormats.write(options: _*).encoding(schema, routes.toSet, caseSensitive = false)
  }

  private def catalyst(schema: StructType, values: Any*): InternalRow =
    CatalystTypeConverters.createToCatalystConverter(schema)(Row.fromSeq(values)).asInstanceOf[InternalRow]

  private def written(ddl: String, options: (String, String)*)(values: Any*): String = {
    val schema = StructType.fromDDL(ddl)
    new String(new RowEncoder(of(schema, options: _*).value, "value")(catalyst(schema, values: _*)), UTF_8)
  }

  private def refusal(condition: String)(run: => Any): String = {
    val error = ParsedFormats.refused(run)
    assert(error.getCondition == s"DYNAMIC_KAFKA.$condition", error.getMessage)
    error.getMessage
  }

  private val debezium = "format" -> "debezium-json"
  private val canal = "format" -> "canal-json"
  private val columns = "id INT, name STRING, _change_type STRING, cluster STRING"

  test(
    "debezium-json: what an update replaces is deleted, what replaces it is created; one object per kind"
  ) {
    def of(kind: String) = written(columns, debezium)(1, "a", kind, "blue")
    val created = """{"before":null,"after":{"id":1,"name":"a"},"op":"c"}"""
    val deleted = """{"before":{"id":1,"name":"a"},"after":null,"op":"d"}"""
    assert(of("insert") == created && of("update_postimage") == created)
    assert(of("delete") == deleted && of("update_preimage") == deleted)
  }

  test("canal-json: a row in an array") {
    def of(kind: String) = written(columns, canal)(1, "a", kind, "blue")
    val inserted = """{"data":[{"id":1,"name":"a"}],"type":"INSERT"}"""
    val deleted = """{"data":[{"id":1,"name":"a"}],"type":"DELETE"}"""
    assert(of("insert") == inserted && of("update_postimage") == inserted)
    assert(of("delete") == deleted && of("update_preimage") == deleted)
  }

  test("without the column _change_type all rows are inserted") {
    assert(written("id INT", debezium)(1) == """{"before":null,"after":{"id":1},"op":"c"}""")
    assert(written("id INT", canal)(1) == """{"data":[{"id":1}],"type":"INSERT"}""")
  }

  test("the options of json, for the fields of the row; the envelope is always complete") {
    val at = java.time.LocalDateTime.parse("2026-11-23T01:02:03")
    val ddl = "id INT, at TIMESTAMP_NTZ, name STRING"
    assert(
      written(ddl, debezium, "debezium-json.timestamp-format.standard" -> "SQL")(1, at, null) ==
        """{"before":null,"after":{"id":1,"at":"2026-11-23 01:02:03.000000"},"op":"c"}"""
    )
    assert(
      written(ddl, canal, "canal-json.encode.ignore-null-fields" -> "false")(1, at, null) ==
        """{"data":[{"id":1,"at":"2026-11-23T01:02:03.000000","name":null}],"type":"INSERT"}"""
    )
    assert(written(
      "id INT",
      debezium,
      "debezium-json.schema-include" -> "false"
    )(null).contains("\"after\":{}"))
  }

  test("another value of _change_type, or none, fails and is not in the error") {
    Seq("secret", "INSERT", null).foreach { kind =>
      val error = intercept[DynamicKafkaRuntimeException](written(columns, debezium)(1, "a", kind, "blue"))
      assert(error.getCondition == "DYNAMIC_KAFKA.ENCODE_FAILED")
      Seq("'_change_type'", "'insert', 'update_postimage', 'update_preimage', 'delete'").foreach(part =>
        assert(error.getMessage.contains(part), error.getMessage)
      )
      assert(!error.getMessage.contains("secret") && error.getCause == null)
    }
  }

  test(
    "_change_type is a STRING, no field of the schema and none of the key; other formats have it as a field"
  ) {
    val schema = StructType.fromDDL("id INT, _change_type INT")
    assert(refusal("INVALID_COLUMN")(of(schema, debezium)).contains("must be STRING"))
    val declared = debezium +: Seq("schema" -> "id BIGINT, name STRING")
    val ddl = "id INT, _CHANGE_TYPE STRING"
    assert(written(ddl, declared: _*)(1, "delete") == """{"before":{"id":1},"after":null,"op":"d"}""")
    val own = Seq(debezium, "schema" -> "id BIGINT, _change_type STRING")
    assert(refusal("INVALID_SCHEMA")(of(StructType.fromDDL(ddl), own: _*)).contains("'_change_type'"))
    val key = Seq(debezium, "keyFormat" -> "json", "keyFields" -> "_change_type")
    assert(refusal("INVALID_COLUMN")(of(StructType.fromDDL(ddl), key: _*)).contains("no such column"))
    assert(written(
      "id INT, _change_type STRING",
      "format" -> "json"
    )(1, "x") == """{"id":1,"_change_type":"x"}""")
    assert(refusal("INVALID_COLUMN")(of(
      StructType.fromDDL("_change_type STRING"),
      debezium
    )).contains("no column is left"))
  }

  test("keys have the fields, also with EXCEPT_KEY") {
    val schema = StructType.fromDDL("id INT, v STRING, _change_type STRING")
    val encoding = of(
      schema,
      debezium,
      "keyFormat" -> "json",
      "keyFields" -> "id",
      "valueFieldsInclude" -> "EXCEPT_KEY"
    )
    val row = catalyst(schema, 1, "a", "delete")
    assert(new String(new RowEncoder(encoding.key.get, "key")(row)) == """{"id":1}""")
    assert(new String(new RowEncoder(
      encoding.value,
      "value"
    )(row)) == """{"before":{"v":"a"},"after":null,"op":"d"}""")
  }

  test("formats and options that are for reading only are refused") {
    Seq("maxwell-json", "ogg-json").foreach { format =>
      val text = refusal("INVALID_OPTION")(ParsedFormats.write("format" -> format))
      assert(text.contains("for reading only") && text.contains("'debezium-json' or 'canal-json'"), text)
    }
    assert(refusal("INVALID_OPTION")(ParsedFormats.write("format" -> "xml")).contains("not one of"))
    assert(refusal("INVALID_OPTION")(
      ParsedFormats.write("format" -> "json", "keyFormat" -> "canal-json", "keyFields" -> "id")
    ).contains("keys have no changes"))
    assert(refusal("INVALID_OPTION")(
      ParsedFormats.write(debezium, "debezium-json.schemaInclude" -> "true")
    ).contains("without their schema"))
    assert(refusal("INVALID_OPTION")(
      ParsedFormats.write(canal, "canal-json.table.include" -> "a.*")
    ).contains("without the fields 'database' and 'table'"))
    assert(refusal("INVALID_OPTION")(
      ParsedFormats.write(canal, "canal-json.ignoreParseErrors" -> "true")
    ).contains("no effect"))
  }

  private val Kinds = Seq("insert", "update_postimage", "update_preimage", "delete")
  private val types = RandomRows.simple ++ Seq(ByteType, ShortType, BinaryType)

  /** Writes random rows of random schemas as random changes, and reads them with the source's decoder. */
  private def roundTrip(format: String): Unit = {
    val seed = TestSeed()
    val rows = for {
      schema <- RandomRows.schemas(types, depth = 2)
      rows <- Gen.listOfN(15, RandomRows.rows(schema))
      kinds <- Gen.listOfN(15, Gen.oneOf(Kinds))
    } yield (schema, rows.zip(kinds))
    val all = Gen.listOfN(40, rows).pureApply(Gen.Parameters.default.withSize(12), Seed(seed))
    all.foreach { case (schema, changes) =>
      val input = StructType(StructField("_change_type", StringType) +: schema)
      val utc = s"$format.timeZone" -> "UTC"
      val encoder = new RowEncoder(of(input, "format" -> format, utc).value, "value")
      val side = Decoded.side(schema.json, "format" -> format, utc)
      val decoder = new ChangeDecoder(side)
      val first: Decoder = (bytes, into) => {
        val failure = decoder.decode(bytes, into)
        assert(decoder.next(into))
        failure
      }
      val decode = Decoded.by(first, side)
      val convert = CatalystTypeConverters.createToScalaConverter(schema)
      changes.foreach { case (row, kind) =>
        val bytes = encoder(InternalRow.fromSeq(UTF8String.fromString(kind) +: row.toSeq(schema)))
        val expected = Decoded.of(Row.fromSeq(convert(row).asInstanceOf[Row].toSeq :+ null), schema)
        assert(decode(bytes) == expected, s"seed $seed, ${schema.toDDL}: ${new String(bytes, UTF_8)}")
        val read = if (Kinds.indexOf(kind) < 2) "insert" else "delete"
        assert(decoder.about.get(0).toString == read, kind)
      }
    }
  }

  test("debezium-json: random changes are read as they were written")(roundTrip("debezium-json"))

  test("canal-json: random changes are read as they were written")(roundTrip("canal-json"))
}

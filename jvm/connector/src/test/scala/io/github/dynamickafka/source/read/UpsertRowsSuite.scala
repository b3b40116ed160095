package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.spark.sql.catalyst.CatalystTypeConverters
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.testkit.TimeLimit

/** Records of a table with a key as rows: `changeData=upsert`. */
class UpsertRowsSuite extends AnyFunSuite with TimeLimit {

  private def layout(options: (String, String)*): Layout =
    Options.parse(options: _*).records.format.layout(None, includeHeaders = false)

  private def bytes(text: String): Array[Byte] = if (text == null) null else text.getBytes(UTF_8)

  /** The rows, the same in a batch and in a streaming query. */
  private def rows(layout: Layout)(records: (String, String)*): Seq[Seq[Any]] = {
    def of(onAccess: Boolean) = {
      val counts = DecodeCounts(new LongAccumulator, new LongAccumulator, new LongAccumulator)
      val decoded = new TaskDecoder(Decoding(layout, counts, onAccess = onAccess)).rows("blue", "orders")
      val convert = CatalystTypeConverters.createToScalaConverter(layout.schema)
      val project = UnsafeProjection.create(layout.schema)
      records.flatMap { case (key, value) =>
        Option(decoded.of(new ConsumerRecord("t", 0, 1L, bytes(key), bytes(value)))).map { row =>
          convert(project(row).copy()).asInstanceOf[org.apache.spark.sql.Row].toSeq.map {
            case b: Array[Byte] => new String(b, UTF_8)
            case v => v
          }
        }
      }
    }
    val eager = of(onAccess = false)
    assert(of(onAccess = true) == eager)
    eager
  }

  private def row(values: Any*): Seq[Any] = values
  private val upsert = Seq("changeData" -> "upsert", "metadataColumns" -> "")
  private val json = upsert ++ Seq(
    "format" -> "json",
    "schema" -> "a INT, v STRING, b STRING, w INT",
    "keyFormat" -> "json",
    "keyFields" -> "a,b"
  )
  private val key = """{"a": 1, "b": "k"}"""

  test("values are the rows after an update, null values delete with the columns of the key") {
    for (include <- Seq("ALL", "EXCEPT_KEY")) {
      val of = layout(json :+ ("valueFieldsInclude" -> include): _*)
      assert(of.schema.fieldNames.toSeq == Seq("a", "v", "b", "w", "_change_type"))
      assert(rows(of)(
        key -> """{"a": 1, "b": "k", "v": "x", "w": 2}""",
        key -> """{"v": "y"}""",
        key -> null,
        """{"b": "z"}""" -> null
      ) == Seq(
        row(1, "x", "k", 2, "update_postimage"),
        row(1, "y", "k", null, "update_postimage"),
        row(1, null, "k", null, "delete"),
        row(null, null, "z", null, "delete")
      ))
    }
  }

  test("the key as a whole, and values as a whole") {
    val whole = Seq("keyFormat" -> "string", "keyFields" -> "k")
    val ofJson = layout(upsert ++ whole ++ Seq("format" -> "json", "schema" -> "v INT, k STRING"): _*)
    assert(rows(ofJson)("x" -> """{"v": 1}""", "x" -> null) ==
      Seq(row(1, "x", "update_postimage"), row(null, "x", "delete")))
    val ofText = layout(upsert ++ whole :+ ("format" -> "string"): _*)
    assert(rows(ofText)("x" -> "1", "x" -> null) ==
      Seq(row("x", "1", "update_postimage"), row("x", null, "delete")))
  }

  test("avro with the fields of the key in the values as well") {
    val of = layout(
      upsert ++ Seq(
        "format" -> "avro",
        "schema" -> "id INT, v STRING",
        "keyFormat" -> "json",
        "keyFields" -> "id"
      ): _*
    )
    // Each field is a union of null and the type.
    val value = new String(Array[Byte](2, 10, 2, 2, 'x'), UTF_8)
    assert(rows(of)("""{"id": 7}""" -> value, """{"id": 7}""" -> null) ==
      Seq(row(7, "x", "update_postimage"), row(7, null, "delete")))
  }

  test(
    "no key, or one with null fields only, is a bad record; other bad records are no change that can be applied"
  ) {
    val bad = Seq[(String, String)](
      (null, """{"v": "x"}"""),
      "{}" -> """{"v": "x"}""",
      "{}" -> null,
      "nothing" -> null,
      key -> "nothing"
    )
    bad.foreach { record =>
      val error = intercept[DynamicKafkaRuntimeException](rows(layout(json: _*))(record))
      assert(error.getCondition == "DYNAMIC_KAFKA.DECODE_FAILED")
    }
    assert(rows(layout(json :+ ("parseErrors" -> "drop"): _*))(bad: _*).isEmpty)
    assert(rows(layout(json :+ ("parseErrors" -> "null"): _*))(bad: _*).forall(_.last == null))
    assert(rows(layout(json :+ ("parseErrors" -> "null"): _*))(key -> """{"v": "x", "w": "no"}""") ==
      Seq(row(1, "x", "k", null, "update_postimage")))
    val errors = rows(layout(json :+ ("parseErrors" -> "keep"): _*))(bad: _*)
    assert(errors.size == 5 && errors.head.exists(v => v != null && v.toString.startsWith("key: it is null")))
  }

  test("rows depend on the key, whatever columns are selected") {
    val pruned = layout(json :+ ("parseErrors" -> "null"): _*).pruned(Seq("_change_type", "w"))
    assert(rows(pruned)(key -> """{"w": 5}""", key -> null, "{}" -> null, "{}" -> """{"w": 6}""") ==
      Seq(row("update_postimage", 5), row("delete", null), row(null, null), row(null, 6)))
    val _ = intercept[DynamicKafkaRuntimeException](rows(layout(json: _*).pruned(Nil))("{}" -> "{}"))
  }

  test("the options that an upsert needs") {
    def text(options: (String, String)*) = refused(Options.parse(options: _*)).getMessage
    val base = Seq("changeData" -> "upsert", "format" -> "json", "schema" -> "id INT")
    assert(text(base: _*).contains("'keyFormat'") && text(base: _*).contains("MISSING_OPTION"))
    val whole = text(base :+ ("keyFormat" -> "string"): _*)
    assert(whole.contains("'keyFields'") && whole.contains("MISSING_OPTION"))
    val changes = text("changeData" -> "upsert", "format" -> "debezium-json", "schema" -> "id INT")
    assert(changes.contains("INVALID_OPTION") && changes.contains("changes of its own"))
    assert(text("changeData" -> "rows", "format" -> "json", "schema" -> "id INT").contains("use 'upsert'"))
  }
}

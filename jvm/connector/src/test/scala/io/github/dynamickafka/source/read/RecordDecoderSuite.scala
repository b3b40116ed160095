package io.github.dynamickafka.source.read

import java.nio.charset.StandardCharsets.UTF_8

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.header.internals.{RecordHeader, RecordHeaders}
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.unsafe.types.UTF8String
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.format.Layout
import io.github.dynamickafka.testkit.TimeLimit

class RecordDecoderSuite extends AnyFunSuite with TimeLimit {

  private val counts = DecodeCounts(new LongAccumulator, new LongAccumulator, new LongAccumulator)

  private def layout(options: (String, String)*): Layout =
    Options.parse(options: _*).records.format.layout(None, includeHeaders = false)

  private def record(value: String, key: String = null) =
    new ConsumerRecord("orders-eu", 3, 42L, bytes(key), bytes(value))

  private def bytes(text: String): Array[Byte] = if (text == null) null else text.getBytes(UTF_8)

  /** The rows of these records, copied as Spark copies them. */
  private def rows(layout: Layout)(records: ConsumerRecord[Array[Byte], Array[Byte]]*): Seq[Seq[Any]] = {
    val eager = rows(Decoding(layout, counts))(records)
    val others = DecodeCounts(new LongAccumulator, new LongAccumulator, new LongAccumulator)
    assert(rows(Decoding(layout, others, onAccess = true))(records) == eager)
    eager
  }

  private def rows(decoding: Decoding)(records: Seq[ConsumerRecord[Array[Byte], Array[Byte]]])
      : Seq[Seq[Any]] = {
    val layout = decoding.layout
    val of = new TaskDecoder(decoding).rows("blue", "orders")
    val convert = CatalystTypeConverters.createToScalaConverter(layout.schema)
    val project = UnsafeProjection.create(layout.schema)
    // One row at a time, because it is the same object.
    records.flatMap(record =>
      Option(of.of(record)).map { row =>
        val unsafe = convert(project(row).copy()).asInstanceOf[org.apache.spark.sql.Row].toSeq
        // The generic access gives the same.
        val generic =
          convert(InternalRow.fromSeq(row.toSeq(layout.schema))).asInstanceOf[org.apache.spark.sql.Row].toSeq
        assert(shown(unsafe) == shown(generic))
        shown(unsafe)
      }
    )
  }

  private def shown(values: Seq[Any]): Seq[Any] = values.map {
    case b: Array[Byte] => new String(b, UTF_8)
    case v => v
  }

  private def row(values: Any*): Seq[Any] = values

  private val json = Seq("format" -> "json", "schema" -> "id INT, v STRING", "metadataColumns" -> "")

  test("metadata columns, in the order given") {
    val all = layout(
      "format" -> "string",
      "metadataPrefix" -> "m_",
      "metadataColumns" -> "stream,cluster,topic,partition,offset,timestampType,leaderEpoch,headers,key,value"
    )
    assert(
      rows(all)(record("x", "k")).head ==
        row("x", "orders", "blue", "orders-eu", 3, 42L, -1, null, null, "k", "x")
    )
    val one = record("x")
    one.headers.add(new RecordHeader("h", bytes("v")))
    val headers = rows(layout("format" -> "string", "metadataColumns" -> "headers"))(one).head(1)
    assert(headers.asInstanceOf[scala.collection.Seq[_]].size == 1)
  }

  test("a null value is a row with null columns, and no bad record") {
    assert(rows(layout(json :+ ("parseErrors" -> "drop"): _*))(record(null)) == Seq(row(null, null)))
  }

  test("fail: DECODE_FAILED names the record and the field, and contains nothing of it") {
    val error = intercept[DynamicKafkaRuntimeException](
      rows(layout(json: _*))(record("{\"id\": \"secret-text\"}"))
    )
    assert(error.getCondition == "DYNAMIC_KAFKA.DECODE_FAILED")
    Seq("orders", "blue", "orders-eu", "partition 3", "offset 42", "json", "'id'", "INT", "value").foreach(
      part =>
        assert(error.getMessage.contains(part), part)
    )
    val all = Iterator.iterate[Throwable](error)(_.getCause).takeWhile(_ != null).map(_.toString).mkString
    assert(!all.contains("secret-text"))
  }

  test("null: a field that does not fit is null, the others stay; what cannot be parsed has null columns") {
    assert(
      rows(layout(json :+ ("parseErrors" -> "null"): _*))(
        record("{\"id\": \"x\", \"v\": \"y\"}"),
        record("nothing"),
        record("{\"id\": 1}")
      ) == Seq(row(null, "y"), row(null, null), row(1, null))
    )
  }

  test("in a streaming query only the columns that it accesses are decoded") {
    val unread = new TaskDecoder(Decoding(layout(json: _*), counts, onAccess = true)).rows("blue", "orders")
    assert(unread.of(record("nothing")).numFields == 2)
    val failing =
      new TaskDecoder(Decoding(layout(json: _*), counts, onAccess = true)).rows("blue", "orders")
        .of(record("{\"id\": \"secret-text\", \"v\": \"y\"}"))
    assert(failing.getUTF8String(1).toString == "y")
    val error = intercept[DynamicKafkaRuntimeException](failing.isNullAt(0))
    assert(error.getCondition == "DYNAMIC_KAFKA.DECODE_FAILED" && error.getMessage.contains("'id'"))
  }

  test("a time that is too large for Spark is an error of the record, or makes it a bad one") {
    def at(millis: Long) = new ConsumerRecord(
      "orders-eu",
      3,
      42L,
      millis,
      TimestampType.CREATE_TIME,
      0,
      0,
      null: Array[Byte],
      bytes("{\"id\": 1}"),
      new RecordHeaders,
      java.util.Optional.empty[Integer]
    )
    val timed = Seq("format" -> "json", "schema" -> "id INT", "metadataColumns" -> "timestamp")
    val most = Long.MaxValue / 1000
    Seq(most + 1, Long.MaxValue, Long.MinValue, -most - 1).foreach { millis =>
      Seq("fail", "null", "keep").foreach { policy =>
        val error =
          intercept[DynamicKafkaRuntimeException](
            rows(layout(timed :+ ("parseErrors" -> policy): _*))(at(millis))
          )
        assert(error.getCondition == "DYNAMIC_KAFKA.DECODE_FAILED" && error.getMessage.contains("offset 42"))
      }
      val raw = new RecordRow(
        false,
        UTF8String.fromString("orders-eu"),
        UTF8String.fromString("blue"),
        UTF8String.fromString("orders")
      )
      val error = intercept[DynamicKafkaRuntimeException](raw.of(at(millis)).getLong(5))
      assert(error.getMessage.contains("cluster 'blue'") && error.getMessage.contains("offset 42"))
      Seq("parseErrors" -> "drop", "json.ignore-parse-errors" -> "true").foreach(policy =>
        assert(rows(layout(timed :+ policy: _*))(at(millis), at(most)).size == 1)
      )
    }
    assert(rows(layout(timed: _*))(at(-1), at(0), at(most)).size == 3)
  }

  test("drop: counted, and the records around it are rows") {
    val before = (counts.errors.sum, counts.dropped.sum)
    assert(
      rows(layout(json :+ ("parseErrors" -> "drop"): _*))(
        record("{\"id\": 1}"),
        record("nothing"),
        record("{\"id\": 2}")
      ).map(_.head) == Seq(1, 2)
    )
    assert((counts.errors.sum - before._1, counts.dropped.sum - before._2) == ((1L, 1L)))
  }

  test("keep: the bytes and the reason of bad records, null for good ones") {
    assert(
      rows(layout(json :+ ("parseErrors" -> "keep"): _*))(
        record("{\"id\": \"x\", \"v\": \"y\"}"),
        record("{\"id\": 1, \"v\": \"y\"}")
      ) == Seq(
        row(null, "y", "{\"id\": \"x\", \"v\": \"y\"}", "value, field 'id': the value is not of type INT"),
        row(1, "y", null, null)
      )
    )
  }

  test("ignoreParseErrors: as in Flink, the field is null, and what cannot be parsed is dropped") {
    assert(
      rows(layout(json :+ ("json.ignore-parse-errors" -> "true"): _*))(
        record("{\"id\": \"x\", \"v\": \"y\"}"),
        record("nothing")
      ) == Seq(row(null, "y"))
    )
  }

  test("key columns: with a prefix, as text, with a policy of their own") {
    val keyed = layout(
      "format" -> "json",
      "schema" -> "v STRING, k_id INT",
      "keyFormat" -> "json",
      "keyFields" -> "k_id",
      "keyFieldsPrefix" -> "k_",
      "valueFieldsInclude" -> "EXCEPT_KEY",
      "keyParseErrors" -> "null",
      "metadataColumns" -> ""
    )
    assert(
      rows(keyed)(
        record("{\"v\": \"a\"}", "{\"id\": 7}"),
        record("{\"v\": \"b\"}", "x"),
        record("{\"v\": \"c\"}")
      ) ==
        Seq(row("a", 7), row("b", null), row("c", null))
    )
    val text = layout(json :+ ("keyFormat" -> "string"): _*)
    assert(rows(text)(record("{\"id\": 1}", "k")) == Seq(row("k", 1, null)))
  }

  test("a column that is not selected is not looked at; without decoded columns, no value is") {
    val all = layout("format" -> "json", "schema" -> "id INT, v STRING")
    assert(rows(all.pruned(Seq("v")))(record("{\"id\": \"x\", \"v\": \"y\"}")) == Seq(row("y")))
    assert(rows(all.pruned(Seq("offset")))(record("nothing")) == Seq(row(42L)))
    assert(rows(all.pruned(Nil))(record("nothing")) == Seq(Nil))
    intercept[DynamicKafkaRuntimeException](rows(all.pruned(Seq("v")))(record("nothing")))
  }
}

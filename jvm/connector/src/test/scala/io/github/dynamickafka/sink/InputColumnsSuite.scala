package io.github.dynamickafka.sink

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.GenericArrayData
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.extension.{CustomFormat, RecordReader, RecordWriter, SourceRecord, TargetRecord}
import io.github.dynamickafka.format.table.ParsedFormats
import io.github.dynamickafka.testkit.TimeLimit

class InputColumnsSuite extends AnyFunSuite with TimeLimit {

  private def refused(ddl: String, caseSensitive: Boolean = false): String =
    intercept[DynamicKafkaIllegalArgumentException](
      InputColumns.of(StructType.fromDDL(ddl), caseSensitive)
    ).getMessage

  private def accepted(ddl: String, caseSensitive: Boolean = false) =
    InputColumns.of(StructType.fromDDL(ddl), caseSensitive)

  test("all columns, with STRING and BINARY; other columns are ignored") {
    assert(accepted(
      "key STRING, value BINARY, headers ARRAY<STRUCT<key: STRING, value: BINARY>>, partition INT, " +
        "timestamp TIMESTAMP, topic STRING, stream STRING, cluster STRING, offset BIGINT, timestampType INT"
    ).hasStream)
    assert(!accepted("value STRING").hasStream)
  }

  test("value is required, as STRING or BINARY") {
    assert(refused("key STRING, x INT").contains("The columns are 'key', 'x'"))
    assert(refused("value INT").contains("column 'value': its type is INT, but must be STRING or BINARY"))
  }

  test("every other column has one type") {
    Seq(
      "key INT",
      "headers STRING",
      "headers ARRAY<STRING>",
      "timestamp BIGINT",
      "partition BIGINT",
      "topic INT",
      "stream BINARY",
      "cluster INT"
    ).foreach { bad =>
      assert(refused(s"value STRING, $bad").contains(s"column '${bad.takeWhile(_ != ' ')}'"), bad)
    }
  }

  private def header(key: String) = InternalRow(UTF8String.fromString(key), Array[Byte](1))

  /** A row with a timestamp in microseconds and a header of each key. */
  private def read(micros: Any, keys: String*): OutputRow =
    accepted("value STRING, timestamp TIMESTAMP, headers ARRAY<STRUCT<key: STRING, value: BINARY>>").reader()(
      InternalRow(UTF8String.fromString("v"), micros, new GenericArrayData(keys.map(header)))
    )

  test("a timestamp of -1, Kafka's for no timestamp, is left to the producer, as null is") {
    Seq[Any](null, -1000L, -1L).foreach { micros =>
      val row = read(micros)
      assert(row.timestampMs == null && row.invalid.isEmpty, s"$micros")
    }
    assert(read(0L).timestampMs == 0L && read(1999L).timestampMs == 1L)
  }

  test("a timestamp before 1970 and a header without a key make a row invalid, and are left out") {
    val early = read(-2000L, "a")
    assert(early.timestampMs == null && early.invalid.exists(_.contains("-2 ms")) && early.headers.size == 1)
    val keyless = read(5000L, "a", null)
    assert(keyless.headers.map(_.key) == Seq("a") && keyless.timestampMs == 5L)
    assert(keyless.invalid.exists(_.contains("no key")))
  }

  test("rows that name the same have the same target, whatever becomes of the bytes of a row") {
    val read = accepted("value STRING, topic STRING, stream STRING").reader()
    val project = UnsafeProjection.create(Array[DataType](StringType, StringType, StringType))
    def to(value: String, topic: String, stream: String) =
      read(project(InternalRow.fromSeq(Seq(value, topic, stream).map(UTF8String.fromString)))).to
    val first = to("v", "t", "s")
    assert(first == RowTarget(Some("s"), None, Some("t")) && (to("another value", "t", "s") eq first))
    assert(to("v", "u", null) == RowTarget(None, None, Some("u")))
    val again = to("another value", "t", "s")
    assert(again == first && (again.topic eq first.topic) && (again.stream eq first.stream))
  }

  test("headers that key and value add are in this order, so that the value's is the last one") {
    def format(of: Class[_]) = s"class:${of.getName}"
    val columns = InputColumns.of(
      StructType.fromDDL("id STRING, name STRING"),
      caseSensitive = false,
      ParsedFormats.write(
        "format" -> format(classOf[InputColumnsSuite.OfValue]),
        "keyFormat" -> format(classOf[InputColumnsSuite.OfKey]),
        "keyFields" -> "id"
      )
    )
    val row = columns.reader()(InternalRow(UTF8String.fromString("1"), UTF8String.fromString("a")))
    assert(row.headers.map(header => new String(header.value)) == Seq("key", "value"))
  }

  test("column names are compared as the session does") {
    assert(refused("VALUE STRING", caseSensitive = true).contains("column 'value': the column is required"))
    accepted("VALUE STRING")
    assert(refused("value STRING, Value STRING").contains("more than one"))
    accepted("value STRING, Value INT", caseSensitive = true)
  }

  test("columns that route have a type, which a field of the same name may not have") {
    def columns(ddl: String, options: (String, String)*) = InputColumns.of(
      StructType.fromDDL(ddl),
      caseSensitive = false,
      ParsedFormats.write(options: _*)
    )
    val error =
      intercept[DynamicKafkaIllegalArgumentException](columns("id INT, timestamp STRING", "format" -> "json"))
    assert(error.getMessage.contains("must be TIMESTAMP") && error.getMessage.contains("'metadataPrefix'"))
    assert(columns(
      "id INT, timestamp STRING, m_stream STRING",
      "format" -> "json",
      "metadataPrefix" -> "m_"
    ).hasStream)
  }
}

object InputColumnsSuite {
  abstract class WithHeader(side: String) extends CustomFormat {
    override def reader(schema: StructType): RecordReader = (record: SourceRecord) =>
      Row(new String(record.bytes))

    override def writer(schema: StructType): RecordWriter = (row: Row, record: TargetRecord) => {
      record.addHeader("side", side.getBytes)
      row.mkString.getBytes
    }
  }

  final class OfKey extends WithHeader("key")

  final class OfValue extends WithHeader("value")
}

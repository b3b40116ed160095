package io.github.dynamickafka.sink.row

import java.sql.Timestamp
import java.time.Instant

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types._
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
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

  private def read(row: Any*): OutputRow = {
    val schema = StructType.fromDDL(
      "value STRING, timestamp TIMESTAMP, headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
    )
    val convert = CatalystTypeConverters.createToCatalystConverter(schema)
    InputColumns.of(schema, caseSensitive = false).read(convert(Row(row: _*)).asInstanceOf[InternalRow])
  }

  private def at(epochMs: Long) = Timestamp.from(Instant.ofEpochMilli(epochMs))

  test("the timestamp -1, of records without one, is the producer's time; an earlier one is invalid") {
    assert(read("v", at(-1), null).timestampMs == null && read("v", at(-1), null).invalid.isEmpty)
    assert(read("v", null, null).timestampMs == null && read("v", null, null).invalid.isEmpty)
    assert(read("v", at(0), null).timestampMs == 0L && read(
      "v",
      at(1700000000123L),
      null
    ).timestampMs == 1700000000123L)
    val old = read("v", at(-2), null)
    assert(old.timestampMs == null && old.invalid.exists(_.contains("timestamp, -2 ms")))
  }

  test("a header without a key is invalid; the other headers remain, for a dead letter") {
    val row = read("v", at(5), Seq(Row("a", Array[Byte](1)), Row(null, Array[Byte](2)), null, Row("b", null)))
    assert(row.headers.map(_.key) == Seq("a", "b") && row.headers(1).value == null)
    assert(row.invalid.exists(_.contains("header has no key")) && row.timestampMs == 5L)
    assert(read("v", at(5), Seq(Row("a", Array[Byte](1)))).invalid.isEmpty)
  }

  test("column names are compared as the session does") {
    assert(refused("VALUE STRING", caseSensitive = true).contains("column 'value': the column is required"))
    accepted("VALUE STRING")
    assert(refused("value STRING, Value STRING").contains("more than one"))
    accepted("value STRING, Value INT", caseSensitive = true)
  }
}

package io.github.dynamickafka.sink.row

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

  test("column names are compared as the session does") {
    assert(refused("VALUE STRING", caseSensitive = true).contains("column 'value': the column is required"))
    accepted("VALUE STRING")
    assert(refused("value STRING, Value STRING").contains("more than one"))
    accepted("value STRING, Value INT", caseSensitive = true)
  }
}

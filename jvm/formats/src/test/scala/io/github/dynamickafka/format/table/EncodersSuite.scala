package io.github.dynamickafka.format.table

import org.apache.spark.sql.avro.DynamicKafkaAvroFunctions
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  Expression,
  RuntimeReplaceable,
  StructsToCsv,
  StructsToJson
}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.{AvroSchemas, SideLayout}
import io.github.dynamickafka.testkit.TimeLimit

/** What one encoder makes of the rows of random schemas is what Spark's expressions make of each. */
class EncodersSuite extends AnyFunSuite with TimeLimit {

  private def same(format: String, types: Seq[DataType], depth: Int, options: (String, String)*)(
      expression: (BoundReference, StructType, Map[String, String]) => Expression
  ): Unit = {
    val all = Gen.listOfN(
      30,
      RandomRows.schemas(types, depth).flatMap(s => Gen.listOfN(10, RandomRows.rows(s)).map(s -> _))
    ).pureApply(Gen.Parameters.default.withSize(12), Seed(TestSeed()))
    all.foreach { case (schema, rows) =>
      val written = ParsedFormats.write((options :+ ("format" -> format)): _*).value
      val fields = schema.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }
      val side = written.copy(options = written.options + ("timeZone" -> "UTC"))
      val encoder =
        new RowEncoder(SideColumns.Fields(SideLayout(side, schema, schema.indices), fields), "value")
      rows.foreach { row =>
        val by = expression(BoundReference(0, schema, nullable = false), schema, side.options) match {
          case replaced: RuntimeReplaceable => replaced.replacement
          case other => other
        }
        val expected = by.eval(InternalRow(row)) match {
          case bytes: Array[Byte] => bytes
          case text: UTF8String => text.getBytes
          // Of a single column that is null.
          case _ => "\"\"".getBytes
        }
        assert(encoder(row).toSeq == expected.toSeq, s"seed ${TestSeed()}, ${schema.toDDL}")
      }
    }
  }

  private val small = Seq(ByteType, ShortType)

  test("json as to_json") {
    Seq("true", "false").foreach(ignores =>
      same("json", RandomRows.simple ++ small :+ BinaryType, 3, "json.ignoreNullFields" -> ignores)(
        (
            row,
            _,
            options
        ) => StructsToJson(options, row, Some("UTC"))
      )
    )
  }

  test("csv as to_csv") {
    Seq(Nil, Seq("csv.sep" -> ";", "csv.nullValue" -> "(null)", "csv.quoteAll" -> "true")).foreach(options =>
      same("csv", RandomRows.simple ++ small, 0, options: _*)((row, _, of) =>
        StructsToCsv(of, row, Some("UTC"))
      )
    )
  }

  test("avro as to_avro") {
    same("avro", RandomRows.simple :+ BinaryType, 3)((row, schema, _) =>
      DynamicKafkaAvroFunctions.toAvro(row, Some(AvroSchemas.of(schema).toString))
    )
  }
}

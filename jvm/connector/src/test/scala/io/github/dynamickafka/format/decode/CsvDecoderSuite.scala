package io.github.dynamickafka.format.decode

import java.nio.charset.StandardCharsets.UTF_8

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.functions.{col, from_csv, lit}
import org.apache.spark.sql.types.StringType
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.source.SourceTest
import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

class CsvDecoderSuite extends AnyFunSuite with TimeLimit {
  private val Columns = "i INT, s STRING, d DOUBLE, b BOOLEAN, day DATE, at TIMESTAMP, c DECIMAL(6,2)"

  private val cell = Gen.oneOf(
    Seq("1", "-7", "x", "\"a,b\"", "\"a\"\"b\"", "", "\"\"", "1.5", "NaN", "true", "2026-11-23") ++
      Seq("2026-11-23T01:02:03Z", "2026-11-23 01:02:03", "é", "12345.678", "-", " 1 ", "\"open", "#x")
  )

  private def lines(count: Int, separator: String): Seq[String] = {
    val line = Gen.choose(0, 9).flatMap(Gen.listOfN(_, cell)).map(_.mkString(separator))
    Gen.listOfN(count, line).pureApply(Gen.Parameters.default, org.scalacheck.rng.Seed(TestSeed()))
  }

  Seq(
    Map.empty[String, String],
    Map("sep" -> ";", "nullValue" -> "-", "ignoreLeadingWhiteSpace" -> "true", "comment" -> "#")
  ).foreach { options =>
    test(s"random lines as from_csv: ${options.keys.toSeq.sorted.mkString(" ")}", NotInFast) {
      val spark = SourceTest.spark
      import spark.implicits._
      val side =
        Decoded.side(Columns, options.map { case (k, v) => s"csv.$k" -> v }.toSeq :+ ("format" -> "csv"): _*)
      val corrupt = "corrupt_text"
      // Of a line without values Spark keeps no text as that of a bad record, although it is one.
      val records =
        lines(500, options.getOrElse("sep", ",")).filter(l => l.trim.nonEmpty && !l.startsWith("#"))
      val schema = lit(side.schema.add(corrupt, StringType).toDDL)
      val expected = records.zipWithIndex.toDF("value", "n")
        .select(
          from_csv(col("value"), schema, (options + ("columnNameOfCorruptRecord" -> corrupt)).asJava),
          col("n")
        )
        .collect().sortBy(_.getInt(1)).map(row => Decoded.of(row.getStruct(0), side.schema)).toSeq
      val decode = Decoded.by(new CsvDecoder(side), side)
      records.zip(expected).foreach { case (line, of) => assert(decode(line.getBytes(UTF_8)) == of, line) }
    }
  }

  test("a line without values is a bad record") {
    val side = Decoded.side(Columns, "format" -> "csv")
    assert(new CsvDecoder(side).decode(Array.emptyByteArray, new DecodedValues(side.types)).unparsable)
  }

  test("types that CSV cannot have are refused when the table is made") {
    val error = intercept[DynamicKafkaIllegalArgumentException](
      Decoders.check(Decoded.side("a STRUCT<x: ARRAY<MAP<STRING, INT>>>", "format" -> "csv"))
    )
    assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_SCHEMA")
  }
}

package io.github.dynamickafka.format

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.table.{AgainstSpark, BySpark, Decoded, Decoders}
import io.github.dynamickafka.testkit.TimeLimit

class CsvDecoderSuite extends AnyFunSuite with TimeLimit with AgainstSpark {
  private val Columns = "i INT, s STRING, d DOUBLE, b BOOLEAN, day DATE, at TIMESTAMP, c DECIMAL(6,2)"

  private val texts =
    Seq(
      "x",
      "\"a,b\"",
      "\"a\"\"b\"",
      "",
      "\"\"",
      "é",
      "-",
      " 1 ",
      "\"open",
      "#x",
      "a\nb",
      "\"a\nb\"",
      "a\r\nb"
    ) ++
      Seq("\"a\r\nb\"", "\r", "\n", "\uffff", "\"\uffff\"", "\ufeff", "\u0000")
  private val fitting: Seq[Seq[String]] = Seq(
    Seq("1", "-7", "2147483647", "", "\"5\""),
    texts,
    Seq("1.5", "NaN", "-Inf", "1e400", "0", ""),
    Seq("true", "false", "TRUE", ""),
    Seq("2026-11-23", "2026-1-2", ""),
    Seq("2026-11-23T01:02:03Z", "2026-11-23 01:02:03", "2026-11-23", ""),
    Seq("12.34", "1", "-0.005", "12345.678", "")
  )

  private def records(separator: String): Gen[Array[Byte]] = {
    val anything = Gen.oneOf(fitting.flatten)
    val complete = Gen.sequence[Seq[String], String](
      fitting.map(values => Gen.frequency(40 -> Gen.oneOf(values), 1 -> anything))
    )
    val line = Gen.frequency(6 -> complete, 1 -> Gen.choose(0, 9).flatMap(Gen.listOfN(_, anything)))
      .map(_.mkString(separator))
    val several = Gen.choose(2, 3).flatMap(Gen.listOfN(_, line)).flatMap(lines =>
      Gen.oneOf("\n", "\r\n", "\uffff").map(lines.mkString(_))
    )
    val bytes = Gen.frequency(8 -> line, 1 -> several).map(_.getBytes(UTF_8))
    Gen.frequency(8 -> bytes, 1 -> bytes.flatMap(AgainstSpark.damaged))
  }

  private def side(options: Map[String, String]) =
    Decoded.side(Columns, options.map { case (k, v) => s"csv.$k" -> v }.toSeq :+ ("format" -> "csv"): _*)

  Seq(
    Map.empty[String, String],
    Map("sep" -> ";", "nullValue" -> "-", "ignoreLeadingWhiteSpace" -> "true", "comment" -> "#"),
    Map("sep" -> "||", "escape" -> "\"", "emptyValue" -> "none"),
    Map("maxColumns" -> "8", "maxCharsPerColumn" -> "12", "unescapedQuoteHandling" -> "RAISE_ERROR")
  ).zipWithIndex.foreach { case (options, n) =>
    test(s"sequences of records as from_csv: ${options.keys.toSeq.sorted.mkString(" ")}") {
      val all = side(options)
      val sequence = some(records(options.getOrElse("sep", ",")), 150, n.toLong)
      Seq(all, all.copy(wanted = Seq(0, 2)), all.copy(wanted = Seq(6))).foreach { part =>
        val bad = assertSame(part, new CsvDecoder(part), sequence)(BySpark.csv(part, options))
        assert(bad > 5 && bad < 130)
      }
    }
  }

  test("the record after one with a line break has its own values") {
    val of = Decoded.side("id INT, s STRING", "format" -> "csv")
    val decode = Decoded.by(new CsvDecoder(of), of)
    Seq("1,a\n2,b", "1,a\nb", "1,\"a\nb\"", "1,a\uffff2,b", "\n", "1,a\r\n2", "\ufeff1,a").foreach { record =>
      decode(record.getBytes(UTF_8))
      assert(
        decode("123456,hello".getBytes) == Decoded(Seq("Integer(123456)", "'hello'"), bad = false),
        record
      )
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

package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.expressions.variant.ParseJson
import org.apache.spark.unsafe.types.{UTF8String, VariantVal}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.format.table.{AgainstSpark, BySpark, Decoded, Decoders}
import io.github.dynamickafka.format.{DecodedValues, SideLayout}
import io.github.dynamickafka.testkit.TimeLimit

/** VARIANT as a column, and as the only one, compared with Spark's functions on random and damaged records. */
class VariantDecoderSuite extends AnyFunSuite with TimeLimit with AgainstSpark {

  private val text: Gen[String] = Gen.oneOf(
    Gen.alphaNumStr,
    Gen.oneOf("", "é√😀", "a\\nb", "\\u00e9", "\\\"x\\\"")
  ).map(s => s"\"$s\"")
  private val number: Gen[String] = Gen.oneOf(
    Gen.choose(Long.MinValue, Long.MaxValue).map(_.toString),
    Gen.choose(-200, 200).map(_.toString),
    Gen.choose(-1e6, 1e6).map(_.toString),
    Gen.oneOf(
      "1e400",
      "0.1",
      "-0",
      "-0.0",
      "1E5",
      "123456789012345678901234567890",
      "0.12345678901234567890123456789012345678901"
    )
  )

  /** Includes what only some parsers accept. */
  private val odd: Gen[String] =
    Gen.oneOf(
      "NaN",
      "-Infinity",
      "'a'",
      "01",
      "+1",
      "1 2",
      "[1,]",
      "{a: 1}",
      "",
      " ",
      "nul",
      "/* c */ 1",
      "\u0000"
    )

  private def value(depth: Int): Gen[String] = {
    val leaf = Gen.frequency(6 -> text, 6 -> number, 3 -> Gen.oneOf("null", "true", "false"), 1 -> odd)
    if (depth == 0) leaf
    else Gen.frequency(
      2 -> leaf,
      2 -> Gen.choose(0, 4).flatMap(Gen.listOfN(_, value(depth - 1))).map(_.mkString("[", ", ", "]")),
      3 -> Gen.choose(0, 4).flatMap(Gen.listOfN(_, Gen.zip(Gen.oneOf("a", "b", "cc", "é"), value(depth - 1))))
        .map(_.map { case (k, v) => s"\"$k\": $v" }.mkString("{", ",", "}"))
    )
  }

  private def damagedSometimes(record: Gen[String]): Gen[Array[Byte]] = record.map(_.getBytes(UTF_8))
    .flatMap(bytes => Gen.frequency(3 -> Gen.const(bytes), 1 -> AgainstSpark.damaged(bytes)))

  private def whole(options: (String, String)*): SideLayout = Decoded.side(
    "v VARIANT",
    Seq("format" -> "json", "json.singleVariantColumn" -> "v") ++ options: _*
  )

  private def parseJson(bytes: Array[Byte]): Option[VariantVal] =
    Try(ParseJson(Literal(UTF8String.fromBytes(bytes))).replacement.eval().asInstanceOf[VariantVal]).toOption

  private def decode(side: SideLayout)(bytes: Array[Byte]): Option[VariantVal] = {
    val into = new DecodedValues(side.types)
    Option.when(Decoders.of(side).decode(bytes, into) == null)(into.get(0).asInstanceOf[VariantVal])
  }

  private def same(one: Option[VariantVal], other: Option[VariantVal]): Boolean = (one, other) match {
    case (Some(a), Some(b)) =>
      a.getValue.sameElements(b.getValue) && a.getMetadata.sameElements(b.getMetadata)
    case _ => one.isEmpty && other.isEmpty
  }

  test("the only column is what parse_json gives, byte by byte, and what it refuses is a bad record") {
    val records = some(damagedSometimes(value(3)), 800, TestSeed())
    val read = decode(whole())(_)
    val good = records.count { bytes =>
      val expected = parseJson(bytes)
      val found = read(bytes)
      assert(
        same(found, expected),
        s"'${new String(bytes, UTF_8)}': $found, not $expected, seed ${TestSeed()}"
      )
      expected.isDefined
    }
    assert(good > 200 && good < records.size)
  }

  test("columns, alone and inside others, are what from_json gives") {
    val side = Decoded.side(
      "id INT, v VARIANT, many ARRAY<VARIANT>, s STRUCT<w: VARIANT>, m MAP<STRING, VARIANT>, name STRING",
      "format" -> "json"
    )
    val field = Gen.oneOf(
      Gen.zip(Gen.oneOf("v", "id", "name"), value(2)),
      Gen.zip(Gen.const("many"), Gen.listOf(value(1)).map(_.mkString("[", ",", "]"))),
      Gen.zip(Gen.const("s"), value(1).map(v => s"{\"w\": $v}")),
      Gen.zip(Gen.const("m"), value(1).map(v => s"{\"k\": $v}"))
    )
    val record = Gen.choose(0, 5).flatMap(Gen.listOfN(_, field))
      .map(_.map { case (k, v) => s"\"$k\": $v" }.mkString("{", ",", "}"))
    val records = some(damagedSometimes(record), 1000, TestSeed())
    val bad = assertSame(side, new JsonDecoder(side), records)(BySpark.json(side, Map.empty))
    assert(bad > 100 && bad < records.size)
  }

  test("a column of valid JSON is what parse_json gives of its text, and null in JSON is a value") {
    val side = Decoded.side("id INT, v VARIANT", "format" -> "json")
    some(value(3), 1000, TestSeed()).filter(text =>
      parseJson(text.getBytes(UTF_8)).isDefined && !text.contains("1 2") && text.trim.nonEmpty
    )
      .foreach { text =>
        val into = new DecodedValues(side.types)
        assert(new JsonDecoder(side).decode(s"{\"id\": 1, \"v\": $text}".getBytes(UTF_8), into) == null, text)
        assert(same(Option(into.get(1).asInstanceOf[VariantVal]), parseJson(text.getBytes(UTF_8))), text)
      }
  }

  test("options of the parser apply if they are set") {
    def read(options: (String, String)*)(text: String) =
      decode(whole(options: _*))(text.getBytes(UTF_8)).map(_.toString)
    assert(read()("'a'").isEmpty && read("json.allowSingleQuotes" -> "true")("'a'").contains("\"a\""))
    assert(read()("NaN").isEmpty && read("json.allowComments" -> "true")("/* c */ 1").contains("1"))
    assert(read()("""{"a": 1, "a": 2}""").isEmpty, "as parse_json, unless the session allows duplicate names")
  }

  test("one column of this name and type, and formats that have no VARIANT, are refused by name") {
    def refused(ddl: String, options: (String, String)*): String =
      intercept[DynamicKafkaIllegalArgumentException](Decoders.check(Decoded.side(
        ddl,
        options: _*
      ))).getMessage
    val single = Seq("format" -> "json", "json.singleVariantColumn" -> "v")
    Seq("v STRING", "w VARIANT", "v VARIANT, id INT").foreach(ddl =>
      assert(refused(ddl, single: _*).contains("the only column has to be 'v', of type VARIANT"))
    )
    assert(refused(
      "v VARIANT",
      single :+ ("json.failOnMissingField" -> "true"): _*
    ).contains("can be missing"))
    Seq("csv", "avro", "debezium-json").foreach { format =>
      val text = refused("id INT, a ARRAY<VARIANT>", "format" -> format)
      assert(
        text.contains("the column 'a' has the type VARIANT") && text.contains("'json', 'json-confluent'"),
        text
      )
    }
  }
}

package io.github.dynamickafka.format.json

import java.nio.charset.StandardCharsets.UTF_8

import org.scalacheck.Gen

/** Random records that are JSON, or nearly so. */
object JsonRecords {

  val Schema: String =
    "s STRING, b BOOLEAN, t TINYINT, h SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, c DECIMAL(10,2), day DATE, " +
      "at TIMESTAMP, local TIMESTAMP_NTZ, bin BINARY, ints ARRAY<INT>, texts ARRAY<STRING>, m MAP<STRING, BIGINT>, " +
      "st STRUCT<a: INT, b: STRING, c: STRUCT<d: DOUBLE>>, sts ARRAY<STRUCT<x: INT>>, `é` STRING, `with space` INT"

  private val Names =
    Seq("s", "b", "t", "h", "i", "l", "f", "d", "c", "day", "at", "local", "bin", "ints", "texts", "m") ++
      Seq("st", "sts", "é", "with space")

  /** Values that fit the column of the same name. */
  private val fitting: Map[String, Seq[String]] = Map(
    "s" -> Seq(
      "\"x\"",
      "\"\"",
      "\"é€😀\"",
      "\"a\\nb\\u00e9\\\"\"",
      "\"long long long long long long text\"",
      "5",
      "{\"x\": [1, 2.50]}"
    ),
    "b" -> Seq("true", "false"),
    "t" -> Seq("0", "-128", "127", "128", "255"),
    "h" -> Seq("0", "-32768", "32767"),
    "i" -> Seq("0", "-1", "2147483647", "-2147483648"),
    "l" -> Seq("0", "9223372036854775807", "-9223372036854775808", "1234567890123"),
    "f" -> Seq(
      "0",
      "1.5",
      "-0.0",
      "1e10",
      "1e400",
      "3.4e39",
      "\"NaN\"",
      "\"-INF\"",
      "NaN",
      "-Infinity",
      "+Infinity"
    ),
    "d" -> Seq(
      "0",
      "1.5",
      "-0.0",
      "1e-400",
      "1e400",
      "0.1",
      "123456789.123456789",
      "\"Infinity\"",
      "Infinity",
      "NaN"
    ),
    "c" -> Seq("1", "1.005", "\"2.50\"", "12345678.99", "123456789.99", "1e2"),
    "day" -> Seq("\"2026-11-23\"", "\"2026-1-2\"", "\"2026-11-23T01:02:03Z\"", "\"123\"", "\"2026-13-01\""),
    "at" -> Seq(
      "\"2026-11-23T01:02:03Z\"",
      "\"2026-11-23 01:02:03.123456\"",
      "\"2026-11-23\"",
      "1700000000",
      "\"2026-11-23T01:02:03+05:30\""
    ),
    "local" -> Seq("\"2026-11-23T01:02:03\"", "\"2026-11-23 01:02:03.5\"", "\"2026-11-23T01:02:03Z\""),
    "bin" -> Seq("\"AQID\"", "\"\"", "\"!\"", "\"AQI=\""),
    "ints" -> Seq("[]", "[1,2]", "[1,null]", "[1,\"x\"]", "[99999999999]"),
    "texts" -> Seq("[\"a\",null]", "[1,{\"a\": 1}]", "[[\"x\"]]"),
    "m" -> Seq("{}", "{\"a\":1}", "{\"a\":1,\"b\":null}", "{\"a\":1,\"a\":2}", "{\"a\":\"x\"}"),
    "st" -> Seq(
      "{}",
      "{\"a\":1,\"b\":\"x\",\"c\":{\"d\":2.5}}",
      "{\"a\":\"x\",\"b\":\"y\"}",
      "{\"z\":[{}],\"b\":7}",
      "{\"c\":{\"d\":\"x\"}}"
    ),
    "sts" -> Seq("[{\"x\":1},{\"x\":2}]", "[{\"x\":\"y\"}]", "[1]", "[null,{}]"),
    "é" -> Seq("\"x\"", "null"),
    "with space" -> Seq("1", "\"1\"")
  )

  private val anything: Seq[String] = fitting.values.flatten.toSeq.sorted ++ Seq(
    "null",
    "2147483648",
    "9223372036854775808",
    "-32769",
    "123456789012345678901234567890",
    "'single'",
    "01",
    ".5",
    "1.",
    "-",
    "tru",
    "\"open",
    "\"\\uD800\"",
    "\"\\x\"",
    "/* c */ 1",
    "\"tab\there\"",
    "[",
    "{",
    "}",
    "1 2",
    "+1",
    "\"\\u12\""
  )

  private val space: Gen[String] = Gen.frequency(6 -> "", 1 -> " ", 1 -> "\n\t", 1 -> "\r\n")

  private val field: Gen[String] = for {
    name <-
      Gen.frequency(12 -> Gen.oneOf(Names), 2 -> Gen.oneOf("other", "S", "", "st.a", "x\\u0061", "\\u0073"))
    value <- Gen.frequency(
      9 -> fitting.get(name).fold(Gen.oneOf(anything))(Gen.oneOf(_)),
      1 -> Gen.const("null"),
      1 -> Gen.oneOf(anything)
    )
    before <- space
    after <- space
    quoted <- Gen.frequency(30 -> Gen.const(s"\"$name\""), 1 -> Gen.const(s"'$name'"), 1 -> Gen.const(name))
  } yield s"$before$quoted$after:$before$value$after"

  private val good: Gen[String] = for {
    count <- Gen.choose(0, 8)
    fields <- Gen.listOfN(count, field)
    before <- space
    after <- Gen.frequency(8 -> space, 1 -> Gen.oneOf(" x", "{}", ",", "]", "\u0000"))
  } yield s"$before{${fields.mkString(",")}}$after"

  private val odd: Gen[String] =
    Gen.oneOf(
      "",
      " ",
      "null",
      "1",
      "\"x\"",
      "[]",
      "[{\"i\":1}]",
      "{",
      "}",
      "{}",
      "{,}",
      "{\"i\":1,}",
      "\ufeff{\"i\":1}",
      "{\"i\" 1}"
    )

  private def broken(bytes: Array[Byte]): Gen[Array[Byte]] =
    if (bytes.isEmpty) Gen.const(bytes)
    else for {
      at <- Gen.choose(0, bytes.length - 1)
      by <- Gen.choose(Byte.MinValue, Byte.MaxValue)
      result <-
        Gen.oneOf(bytes.take(at), bytes.updated(at, by), bytes.take(at) ++ Array(by) ++ bytes.drop(at))
    } yield result

  private val oneSpace: Gen[String] = Gen.frequency(8 -> "", 3 -> " ", 1 -> space)

  /** Nearly always a value that is skipped without a parser, or nearly such a value. */
  private val simple: Gen[String] = Gen.frequency(
    20 -> Gen.choose(0, 40).flatMap(Gen.listOfN(_, Gen.oneOf("abcdefghij é€😀/'".toSeq)))
      .map(_.mkString("\"", "", "\"")),
    10 -> Gen.oneOf("0", "7", "-1", "1234567890123456789012", "12.50", "-0.0", "true", "false", "null"),
    1 -> Gen.oneOf(
      "00",
      "1.",
      "-",
      "1e5",
      "truex",
      "nul",
      "1.5.5",
      "\"a\\\"b\"",
      "\"a\u0001\"",
      "\"a",
      "[1]",
      "{}",
      "",
      "1 "
    ),
    1 -> Gen.oneOf(anything)
  )

  private def wide(names: Seq[String], value: String => Gen[String]): Gen[String] = for {
    fields <- Gen.sequence[Seq[String], String](names.map(name =>
      for {
        before <- oneSpace
        between <- oneSpace
        value <- value(name)
        closing <- Gen.frequency(40 -> "\"", 1 -> "'", 1 -> "")
      } yield s"$before\"$name$closing:$between$value"
    ))
    left <- Gen.frequency(4 -> names.size, 1 -> Gen.choose(1, names.size))
    // Another name in the place of the expected one.
    moved <- Gen.frequency(4 -> fields, 1 -> fields.reverse)
  } yield moved.take(left).mkString("{", ",", "}")

  /** Records with the same names in the same order, most of which no column of [[Schema]] has. */
  def wideOnes(count: Int, seed: Long): Seq[Array[Byte]] = {
    val names =
      (1 to 6).map(n => s"field_$n") ++ Seq("s", "it's", "ä", "i") ++ (7 to 12).map(n => s"field_$n")
    val one = wide(names, _ => simple).map(_.getBytes(UTF_8))
    Gen.listOfN(count, Gen.frequency(6 -> one, 1 -> one.flatMap(broken)))
      .pureApply(Gen.Parameters.default.withSize(20), org.scalacheck.rng.Seed(seed))
  }

  private val digits: Gen[String] =
    Gen.choose(1, 20).flatMap(Gen.listOfN(_, Gen.choose('0', '9'))).map(_.mkString)

  private val number: Gen[String] = for {
    sign <- Gen.frequency(3 -> "", 1 -> "-")
    whole <- Gen.frequency(
      3 -> digits.map(text => text.dropWhile(_ == '0')).map(text => if (text.isEmpty) "0" else text),
      1 -> digits,
      1 -> Gen.choose(-40000, 40000).map(_.abs.toString)
    )
    fraction <-
      Gen.frequency(2 -> Gen.const(""), 3 -> digits.map("." + _), 1 -> Gen.oneOf(".", "e3", ".5E-3"))
  } yield s"$sign$whole$fraction"

  private def padded(least: Int, most: Int): Gen[String] =
    Gen.frequency(30 -> Gen.choose(least, most).map(n => f"$n%02d"), 1 -> Gen.oneOf("1", "00", "99", "x1"))

  private val day: Gen[String] = for {
    year <- Gen.oneOf("2026", "2024", "2000", "1900", "1582", "1000", "0999", "9999", "10000", "-001")
    month <- padded(1, 12)
    date <- padded(1, 31)
  } yield s"$year-$month-$date"

  private val time: Gen[String] = for {
    between <- Gen.frequency(6 -> "T", 3 -> " ", 1 -> "t")
    (hour, minute, second) <- Gen.zip(padded(0, 23), padded(0, 59), padded(0, 59))
    fraction <- Gen.frequency(
      2 -> Gen.const(""),
      2 -> digits.map(text => "." + text.take(8)),
      1 -> Gen.oneOf(".", ",5")
    )
    zone <- Gen.frequency(8 -> "Z", 1 -> "", 1 -> "+01:00", 1 -> "z", 1 -> " Z", 1 -> "Zx")
  } yield s"$between$hour:$minute:$second$fraction$zone"

  /** A value that is read without a parser, or nearly such a value. */
  private def usual(name: String): Gen[String] = {
    val own = name match {
      case "day" => day.map(text => s"\"$text\"")
      case "at" => Gen.zip(day, time).map { case (d, t) => s"\"$d$t\"" }
      case "t" | "h" | "i" | "l" | "f" | "d" => number
      case "b" => Gen.oneOf("true", "false")
      case _ => simple
    }
    Gen.frequency(
      20 -> own,
      2 -> fitting.get(name).fold(own)(Gen.oneOf(_)),
      1 -> Gen.const("null"),
      1 -> simple
    )
  }

  /** The columns whose values can be read without a parser. */
  val plainColumns: Seq[String] = Seq("s", "b", "t", "h", "i", "l", "d", "day", "at", "é")

  /** Records with the same names in the same order, most of which a column has. */
  def steadyOnes(count: Int, seed: Long): Seq[Array[Byte]] = {
    val one = wide(plainColumns ++ Seq("f", "field_1", "local"), usual).map(_.getBytes(UTF_8))
    Gen.listOfN(count, Gen.frequency(12 -> one, 1 -> one.flatMap(broken), 1 -> records))
      .pureApply(Gen.Parameters.default.withSize(20), org.scalacheck.rng.Seed(seed))
  }

  /** In an encoding that Jackson would recognize, and `from_json` does not. */
  private val foreign: Gen[Array[Byte]] =
    good.flatMap(text => Gen.oneOf("UTF-16LE", "UTF-16BE", "UTF-32", "ISO-8859-1").map(text.getBytes(_)))

  private val overlong: Gen[Array[Byte]] =
    Gen.oneOf(
      Array[Byte](0xc1.toByte, 0xb3.toByte),
      Array[Byte](0xed.toByte, 0xa0.toByte, 0x80.toByte),
      Array[Byte](0xff.toByte)
    )
      .map(bytes =>
        "{\"s\":\"".getBytes(UTF_8) ++ bytes ++ "\",\"".getBytes(UTF_8) ++ bytes ++ "\":1}".getBytes(UTF_8)
      )

  lazy val records: Gen[Array[Byte]] = Gen.frequency(
    12 -> good.map(_.getBytes(UTF_8)),
    3 -> good.map(_.getBytes(UTF_8)).flatMap(broken),
    1 -> odd.map(_.getBytes(UTF_8)),
    1 -> foreign,
    1 -> overlong,
    1 -> Gen.listOf(Gen.choose(Byte.MinValue, Byte.MaxValue)).map(_.toArray)
  )

  def take(count: Int, seed: Long): Seq[Array[Byte]] =
    Gen.listOfN(count, records).pureApply(Gen.Parameters.default.withSize(20), org.scalacheck.rng.Seed(seed))
}

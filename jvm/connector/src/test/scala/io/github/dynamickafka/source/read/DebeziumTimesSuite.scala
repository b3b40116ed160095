package io.github.dynamickafka.source.read

import java.math.{BigDecimal, BigInteger}
import java.sql.{Date, Timestamp}
import java.time.{Instant, LocalDateTime}
import java.util.Base64

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.schemaregistry.RegistryServer
import io.github.dynamickafka.testkit.TimeLimit

/**
 * Dates and times in all values of Debezium's `time.precision.mode`, with the values that the documentation of its connectors has: a
 * column has this value, or the record is bad.
 */
class DebeziumTimesSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  private val read = new ReadRecords

  private def at(text: String) = Timestamp.from(Instant.parse(text))
  private val mysql = at("2018-06-20T06:37:03Z")
  private val postgres = at("2018-06-20T15:13:16.945104Z")
  private val day = Date.valueOf("2018-06-20")

  private val Debezium = "io.debezium.time"
  private val Connect = "org.apache.kafka.connect.data"

  /** The type, its name in Connect, the value, and the column. */
  private val known: Seq[(String, String, String, String, Any)] = Seq(
    // adaptive, adaptive_time_microseconds
    ("int64", s"$Debezium.Timestamp", "1529476623000", "TIMESTAMP", mysql),
    ("int64", s"$Debezium.MicroTimestamp", "1529507596945104", "TIMESTAMP", postgres),
    ("int64", s"$Debezium.NanoTimestamp", "1529507596945104000", "TIMESTAMP", postgres),
    (
      "int64",
      s"$Debezium.MicroTimestamp",
      "1529507596945104",
      "TIMESTAMP_NTZ",
      LocalDateTime.parse("2018-06-20T15:13:16.945104")
    ),
    ("int32", s"$Debezium.Date", "17702", "DATE", day),
    ("string", s"$Debezium.ZonedTimestamp", "2018-06-20T06:37:03Z", "TIMESTAMP", mysql),
    (
      "string",
      s"$Debezium.ZonedTimestamp",
      "2018-06-20T15:13:16.945104Z",
      "TIMESTAMP_NTZ",
      LocalDateTime.parse("2018-06-20T15:13:16.945104")
    ),
    // connect
    ("int64", s"$Connect.Timestamp", "1529476623000", "TIMESTAMP", mysql),
    (
      "int64",
      s"$Connect.Timestamp",
      "1529476623000",
      "TIMESTAMP_NTZ",
      LocalDateTime.parse("2018-06-20T06:37:03")
    ),
    ("int32", s"$Connect.Date", "17702", "DATE", day),
    // isostring
    ("string", s"$Debezium.IsoDate", "2018-06-20Z", "DATE", day),
    ("string", s"$Debezium.IsoTimestamp", "2018-06-20T15:13:16.945104Z", "TIMESTAMP", postgres)
  )

  /** Of another type, or of no unit. */
  private val unknown: Seq[(String, String, String, String)] = Seq(
    ("int64", s"$Debezium.MicroTime", "54796945104", "TIMESTAMP"),
    ("int32", s"$Debezium.Time", "54796945", "DATE"),
    ("int64", s"$Debezium.Timestamp", "1529476623000", "DATE"),
    ("int64", s"$Debezium.MicroTimestamp", Long.MaxValue.toString, "DATE"),
    ("int64", s"$Debezium.Timestamp", Long.MaxValue.toString, "TIMESTAMP"),
    ("int64", "example.Other", "1529476623000", "TIMESTAMP"),
    ("int64", "", "1529476623000", "TIMESTAMP")
  )

  private def quoted(kind: String, value: String) = if (kind == "string") s""""$value"""" else value

  private def json(values: String) = s"""{"before": null, "after": {$values}, "op": "c"}"""

  private def schema(kind: String, name: String) = {
    val field =
      s"""{"type": "$kind", "optional": true, ${if (name.isEmpty) ""
        else s""""name": "$name", """}"field": "t"}"""
    def row(field: String, of: String) =
      s"""{"type": "struct", "fields": [$of], "optional": true, "name": "s.Value", "field": "$field"}"""
    s"""{"type": "struct", "fields": [${row("before", field)}, ${row(
        "after",
        field
      )}], "name": "s.Envelope"}"""
  }

  private def rows(ddl: String, options: (String, String)*)(values: String*): Seq[Seq[Any]] =
    read.rows(read.layout(
      Seq("format" -> "debezium-json", "schema" -> ddl, "metadataColumns" -> "") ++ options: _*
    ))(values: _*)

  private val wrapped = "debezium-json.schemaInclude" -> "true"

  test("JSON with its schema: the units of the schema") {
    known.foreach { case (kind, name, value, column, expected) =>
      val record =
        s"""{"schema": ${schema(kind, name)}, "payload": ${json(s""""t": ${quoted(kind, value)}""")}}"""
      assert(rows(s"t $column", wrapped)(record).map(_.head) == Seq(expected), s"$name $column")
    }
    unknown.foreach { case (kind, name, value, column) =>
      val record = s"""{"schema": ${schema(kind, name)}, "payload": ${json(s""""t": $value""")}}"""
      val e = intercept[DynamicKafkaRuntimeException](rows(s"t $column", wrapped)(record))
      assert(e.getMessage.contains(s"not of type $column"), e)
      assert(!e.getMessage.contains(value))
    }
  }

  test("JSON with its schema: a local time with an offset is no local time") {
    val name = s"$Debezium.ZonedTimestamp"
    val values = json(""""t": "2018-06-20T15:13:16+02:00"""")
    val record = s"""{"schema": ${schema("string", name)}, "payload": $values}"""
    val e = intercept[DynamicKafkaRuntimeException](rows("t TIMESTAMP_NTZ", wrapped)(record))
    assert(e.getMessage.contains("not of type TIMESTAMP_NTZ"), e)
  }

  test("JSON with its schema: each record has its own units") {
    def record(name: String, value: String) =
      s"""{"schema": ${schema("int64", s"$Debezium.$name")}, "payload": ${json(s""""t": $value""")}}"""
    forAll(
      Gen.listOf(Gen.oneOf(
        record("Timestamp", "1529507596945") -> at("2018-06-20T15:13:16.945Z"),
        record("MicroTimestamp", "1529507596945104") -> postgres,
        record("NanoTimestamp", "1529507596945104999") -> postgres,
        record("MicroTime", "1529507596945104") -> null
      )),
      minSuccessful(30)
    ) { sequence =>
      val found = rows("t TIMESTAMP", wrapped, "parseErrors" -> "null")(sequence.map(_._1): _*)
      assert(found.map(_.head) == sequence.map(_._2))
    }
  }

  test("JSON with its schema: the units of the elements of an array") {
    val one = s"""{"type": "int64", "name": "$Debezium.MicroTimestamp"}"""
    val row =
      s"""{"type": "struct", "field": "after", "fields": [{"type": "array", "items": $one, "field": "a"}]}"""
    val record =
      s"""{"schema": {"fields": [$row]}, "payload": ${json(""""a": [1529507596945104, null]""")}}"""
    assert(rows("a ARRAY<TIMESTAMP>", wrapped)(record).head.head == Seq(postgres, null))
  }

  test("JSON with its schema: decimals in base64, also where that is digits only") {
    def schemaOf(scale: Int) = schema("bytes", s"$Connect.Decimal")
      .replace(
        s""""name": "$Connect.Decimal"""",
        s""""name": "$Connect.Decimal", "parameters": {"scale": "$scale"}"""
      )
    def record(unscaled: BigInteger, scale: Int) = {
      val value = Base64.getEncoder.encodeToString(unscaled.toByteArray)
      s"""{"schema": ${schemaOf(scale)}, "payload": ${json(s""""t": "$value"""")}}"""
    }
    // The bytes of base64 that is digits only.
    val digits =
      Gen.listOfN(4, Gen.numChar).map(_.mkString).map(text => new BigInteger(Base64.getDecoder.decode(text)))
    val any = Gen.choose(-1000000000000L, 1000000000000L).map(BigInteger.valueOf)
    forAll(Gen.oneOf(digits, any), Gen.choose(0, 6), Gen.choose(0, 6), minSuccessful(200)) {
      (unscaled, scale, ofColumn) =>
        val exact = new BigDecimal(unscaled, scale)
        val fits =
          exact.stripTrailingZeros.scale <= ofColumn && exact.precision - exact.scale <= 12 - ofColumn
        val found = rows(
          s"t DECIMAL(12, $ofColumn)",
          wrapped,
          "parseErrors" -> "null"
        )(record(unscaled, scale)).head.head
        if (fits) assert(new BigDecimal(found.toString).compareTo(exact) == 0, s"$exact: $found")
        else assert(found == null, s"$exact: $found")
    }
    // As with `decimal.handling.mode` string and double, and without a schema.
    val text = s"""{"schema": ${schema("string", "")}, "payload": ${json(""""t": "1234"""")}}"""
    assert(rows("t DECIMAL(10, 2)", wrapped)(text).head.head == "1234.00")
    Seq("\"1234\"" -> "1234.00", "1234.5" -> "1234.50", "-7" -> "-7.00").foreach { case (value, shown) =>
      assert(rows("t DECIMAL(10, 2)")(json(s""""t": $value""")).head.head == shown)
    }
    val nested =
      rows("s STRUCT<d: DECIMAL(4, 1)>, a ARRAY<DECIMAL(4, 1)>")(json(""""s": {"d": 1.5}, "a": [2, "2.5"]"""))
    assert(nested.head.take(2).toString.replaceAll("[^0-9.,]", "").contains("1.5,2.0,2.5"), nested)
  }

  test("JSON with a damaged schema: its times are bad, and those of the records around it are not") {
    val good =
      s"""{"schema": ${schema(
          "int64",
          s"$Debezium.MicroTimestamp"
        )}, "payload": ${json(""""t": 1529507596945104""")}}"""
    val damaged = Seq("5", "null", "[]", "{}", """{"fields": 5}""", """{"fields": [{"field": "after"}]}""")
      .map(other => s"""{"schema": $other, "payload": ${json(""""t": 1529507596945104""")}}""")
    val found = rows("t TIMESTAMP", wrapped, "parseErrors" -> "null")(damaged.flatMap(Seq(good, _, good)): _*)
    assert(found.map(_.head) == damaged.flatMap(_ => Seq(postgres, null, postgres)))
  }

  test("JSON without a schema: texts and dates are known, other numbers are bad") {
    def one(column: String, value: String) = rows(s"t $column")(json(s""""t": $value""")).head.head
    assert(one("TIMESTAMP", "\"2018-06-20T06:37:03Z\"") == mysql)
    assert(one("TIMESTAMP_NTZ", "\"2018-06-20T06:37:03\"") == LocalDateTime.parse("2018-06-20T06:37:03"))
    assert(one("DATE", "17702") == day && one("DATE", "\"2018-06-20\"") == day && one("DATE", "null") == null)
    for {
      column <- Seq("TIMESTAMP", "TIMESTAMP_NTZ")
      number <- Seq(
        "1529476623000",
        "1529507596945104",
        "1529507596945104000",
        "1529476623",
        "2018",
        "-1",
        "1.5",
        "1e12"
      )
    } intercept[DynamicKafkaRuntimeException](one(column, number))
    assert(rows("t TIMESTAMP, x INT", "parseErrors" -> "null")(
      json(""""t": 1529476623000, "x": 5""")
    ) == Seq(Seq[Any](null, 5, "insert")))
    assert(one("BIGINT", "1529476623000") == 1529476623000L)
  }

  test("JSON: times in arrays, maps and structs, and formats of the user") {
    val nested = rows("a ARRAY<TIMESTAMP>, m MAP<STRING, DATE>, s STRUCT<t: TIMESTAMP, i: INT>")(
      json(
        """"a": ["2018-06-20T06:37:03Z", null], "m": {"k": 17702}, "s": {"t": "2018-06-20T06:37:03Z", "i": 1}"""
      )
    ).head
    assert(nested(0) == Seq(
      mysql,
      null
    ) && nested(1) == Map("k" -> day) && nested(2).toString.contains(",1]"))
    intercept[DynamicKafkaRuntimeException](rows("a ARRAY<TIMESTAMP>")(json(""""a": [1529476623000]""")))
    assert(rows(
      "t TIMESTAMP",
      "debezium-json.timestampFormat" -> "yyyy/MM/dd HH:mm",
      "debezium-json.timeZone" -> "UTC"
    )(
      json(""""t": "2018/06/20 06:37"""")
    ).head.head == at("2018-06-20T06:37:00Z"))
  }

  test("Avro: the units of Connect's names; a record without a known unit is bad") {
    RegistryServer.serving { registry =>
      def found(kind: String, name: String, column: String, value: Any): Any = {
        val avro = Map("int64" -> "long", "int32" -> "int", "string" -> "string")(kind)
        val logical = name match {
          case "org.apache.kafka.connect.data.Timestamp" => ""","logicalType":"timestamp-millis""""
          case "org.apache.kafka.connect.data.Date" => ""","logicalType":"date""""
          case _ => ""
        }
        val named = if (name.isEmpty) "" else s""","connect.version":1,"connect.name":"$name"$logical"""
        val envelope = DebeziumRecords.Envelope.format(
          s"""{"name":"t","type":["null",{"type":"$avro"$named}],"default":null}"""
        )
        val id = registry.register("x", envelope)
        val layout = read.layout(
          "format" -> "debezium-avro-confluent",
          "registry.url" -> registry.url,
          "schema" -> s"t $column",
          "metadataColumns" -> ""
        )
        val record = DebeziumRecords.written(id, envelope, "c", None, Some(Seq(value)))
        read.of(new TaskDecoder(Decoding(layout, read.counts)), "blue", layout)(record).head.head
      }
      def parsed(kind: String, value: String): Any = kind match {
        case "int64" => value.toLong
        case "int32" => value.toInt
        case _ => value
      }
      known.foreach { case (kind, name, value, column, expected) =>
        assert(found(kind, name, column, parsed(kind, value)) == expected, s"$name $column")
      }
      unknown.foreach { case (kind, name, value, column) =>
        intercept[DynamicKafkaRuntimeException](found(kind, name, column, parsed(kind, value)))
      }
    }
  }

  test("Avro: each record has the units of its own schema, also in arrays and maps") {
    RegistryServer.serving { registry =>
      val layout = read.layout(
        "format" -> "debezium-avro-confluent",
        "registry.url" -> registry.url,
        "schema" -> "t TIMESTAMP, a ARRAY<TIMESTAMP>, m MAP<STRING, TIMESTAMP>",
        "metadataColumns" -> "",
        "parseErrors" -> "null"
      )
      def record(unit: String, value: Long): Array[Byte] = {
        val time = s"""{"type":"long","connect.version":1,"connect.name":"$unit"}"""
        val envelope = DebeziumRecords.Envelope.format(
          s"""{"name":"t","type":$time},{"name":"a","type":{"type":"array","items":$time}},
             |{"name":"m","type":{"type":"map","values":$time}}""".stripMargin
        )
        val values = Seq[Any](value, java.util.List.of(value), java.util.Map.of("k", value))
        DebeziumRecords.written(registry.register(unit, envelope), envelope, "c", None, Some(values))
      }
      val times = Seq[(Array[Byte], Any)](
        record(s"$Debezium.Timestamp", 1529507596945L) -> at("2018-06-20T15:13:16.945Z"),
        record(s"$Debezium.MicroTimestamp", 1529507596945104L) -> postgres,
        record(s"$Debezium.NanoTimestamp", 1529507596945104999L) -> postgres,
        record("example.Other", 1529507596945104L) -> null
      )
      forAll(Gen.listOf(Gen.oneOf(times)), minSuccessful(30)) { sequence =>
        val decoder = new TaskDecoder(Decoding(layout, read.counts))
        val found = read.of(decoder, "blue", layout)(sequence.map(_._1): _*)
        assert(found.map(_.take(3)) == sequence.map {
          case (_, null) => Seq(null, null, null)
          case (_, time) => Seq(time, Seq(time), Map("k" -> time))
        })
      }
    }
  }
}

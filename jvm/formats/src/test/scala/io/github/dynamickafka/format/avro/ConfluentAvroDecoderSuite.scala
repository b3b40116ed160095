package io.github.dynamickafka.format.avro

import scala.util.Random

import org.apache.avro.Schema
import org.apache.avro.generic.GenericData
import org.apache.spark.sql.catalyst.expressions.{Cast, EvalMode, Literal}
import org.apache.spark.sql.types.{Decimal, DecimalType}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.table.{Decoded, Decoders}
import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, SideLayout}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

class ConfluentAvroDecoderSuite extends AnyFunSuite with TimeLimit {

  private def side(schema: String): SideLayout =
    Decoded.side(schema, "format" -> "avro-confluent", "registry.url" -> "http://localhost:1")

  private def record(fields: String*) =
    s"""{"type":"record","name":"Order","fields":[${fields.mkString(",")}]}"""
  private def field(name: String, schema: String, more: String = "") =
    s"""{"name":"$name","type":$schema$more}"""
  private def logical(base: String, name: String) = s"""{"type":"$base","logicalType":"$name"}"""

  /** A record by the position of its fields, as Avro's own library writes it. */
  private def written(id: Int, schema: String, values: Any*): Array[Byte] = {
    val parsed = new Schema.Parser().parse(schema)
    val made = new GenericData.Record(parsed)
    values.zipWithIndex.foreach { case (value, i) => made.put(i, value) }
    WireFormat.framed(id, RandomAvro.encoded(parsed, made))
  }

  /** A decoder with these schemas of one registry; `cluster` is where the records are. */
  private def decoder(side: SideLayout, cluster: String, schemas: (Int, String)*): Array[Byte] => Decoded = {
    val made =
      ConfluentAvroDecoder(side, (_, id) => schemas.toMap.get(id).map(RegisteredSchema("AVRO", _)))
    made.from(cluster)
    Decoded.by(made, side)
  }

  private def reason(
      side: SideLayout,
      bytes: Array[Byte],
      schemas: (Int, RegisteredSchema)*
  ): DecodeFailure = {
    val made = ConfluentAvroDecoder(side, (_, id) => schemas.toMap.get(id))
    made.from("blue")
    made.decode(bytes, new DecodedValues(side.types))
  }

  test(
    "an Avro schema as the reader's: fields added with a default, removed, renamed by an alias, promoted"
  ) {
    val reader = record(
      field("id", "\"long\""),
      field("customer", "\"string\"", ""","aliases":["name"]"""),
      field("country", "\"string\"", ""","default":"none""""),
      field("total", "\"double\"")
    )
    val v1 = record(field("id", "\"int\""), field("name", "\"string\""), field("total", "\"float\""))
    val v2 = record(
      field("id", "\"long\""),
      field("old", "\"string\""),
      field("customer", "\"string\""),
      field("country", "\"string\""),
      field("total", "\"double\"")
    )
    val own = side(reader)
    assert(own.schema.toDDL == "id BIGINT,customer STRING,country STRING,total DOUBLE")
    val decode = decoder(own, "blue", 1 -> v1, 2 -> v2)
    val total = "3fe0000000000000d(0.5)"
    // Alternately, so that each record has another schema than the one before.
    (1 to 2).foreach { _ =>
      assert(decode(written(1, v1, 7, "a", 0.5f)).columns == Seq("Long(7)", "'a'", "'none'", total))
      assert(decode(written(2, v2, 8L, "x", "b", "de", 0.5)).columns == Seq("Long(8)", "'b'", "'de'", total))
    }
    val unresolvable = record(field("id", "\"string\""))
    val failure = reason(own, written(3, unresolvable, "secret"), 3 -> RegisteredSchema("AVRO", unresolvable))
    assert(failure.unparsable && failure.schemaId.contains(3) && !failure.toString.contains("secret"))
  }

  test("DDL: fields by name, in the units of each record's schema") {
    val own = side("id BIGINT, at TIMESTAMP, amount DECIMAL(10, 2), extra STRING")
    val decimal = """{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}"""
    val millis = record(field("at", logical("long", "timestamp-millis")), field("id", "\"int\""))
    val micros = record(
      field("id", "\"long\""),
      field("amount", decimal),
      field("at", logical("long", "timestamp-micros")),
      field("unused", "\"string\"")
    )
    val decode = decoder(own, "blue", 1 -> millis, 2 -> micros)
    val at = "Timestamp(1970-01-01 00:00:01.5)"
    assert(decode(written(1, millis, 1500L, 7)).columns == Seq("Long(7)", at, "null", "null"))
    val amount = java.nio.ByteBuffer.wrap(java.math.BigInteger.valueOf(1234).toByteArray)
    assert(decode(written(2, micros, 8L, amount, 1500000L, "u")).columns.take(2) == Seq("Long(8)", at))
    assert(decode(written(2, micros, 8L, amount, 1500000L, "u")).columns(2).contains("12.34"))
  }

  test("a logical type that differs from the reader's is a bad record, not another value") {
    val decimal = """{"type":"bytes","logicalType":"decimal","precision":10,"scale":%d}"""
    Seq(
      logical("long", "timestamp-millis") -> logical("long", "timestamp-micros"),
      logical("int", "time-millis") -> logical("long", "time-micros"),
      logical("int", "date") -> logical("long", "timestamp-millis"),
      decimal.format(2) -> decimal.format(3),
      s"""["null",${logical(
          "long",
          "timestamp-millis"
        )}]""" -> s"""["null",${logical("long", "timestamp-micros")}]""",
      s"""{"type":"array","items":${decimal.format(2)}}""" -> s"""{"type":"array","items":${decimal.format(
          1
        )}}"""
    ).foreach { case (writer, reader) =>
      val (w, r) = (record(field("a", writer)), record(field("a", reader)))
      val failure = reason(side(r), WireFormat.framed(1, Array(0)), 1 -> RegisteredSchema("AVRO", w))
      assert(failure.reason.contains("'a") && failure.reason.contains("logical type"), s"$writer, $reader")
      val same = reason(side(r), WireFormat.framed(1, Array.emptyByteArray), 1 -> RegisteredSchema("AVRO", r))
      assert(!same.reason.contains("logical type"), reader)
    }
  }

  test("the same id means another schema on another cluster") {
    val (one, two) =
      (record(field("id", "\"int\"")), record(field("x", "\"string\""), field("id", "\"long\"")))
    val own = side("id BIGINT")
    val schemas = Map("blue" -> one, "green" -> two)
    val made =
      ConfluentAvroDecoder(own, (cluster, _) => schemas.get(cluster).map(RegisteredSchema("AVRO", _)))
    val decode = Decoded.by(made, own)
    (1 to 2).foreach { _ =>
      made.from("blue")
      assert(decode(written(1, one, 5)) == Decoded(Seq("Long(5)"), bad = false))
      made.from("green")
      assert(decode(written(1, two, "x", 6L)) == Decoded(Seq("Long(6)"), bad = false))
    }
  }

  test("bad records: no header, an unknown id, a schema of another type, bytes left over, truncated") {
    val schema = record(field("id", "\"string\""))
    val own = side(schema)
    val good = written(1, schema, "secret-text")
    val known = 1 -> RegisteredSchema("AVRO", schema)
    assert(reason(own, good, known) == null)
    def failures = Seq(
      reason(own, good.drop(4), known) -> None,
      reason(own, good.updated(0, 1.toByte), known) -> None,
      reason(own, Array.emptyByteArray, known) -> None,
      reason(own, good) -> Some(1),
      reason(own, good, 1 -> RegisteredSchema("JSON", "{}")) -> Some(1),
      reason(own, good, 1 -> RegisteredSchema("AVRO", "no schema")) -> Some(1),
      reason(own, good :+ 0.toByte, known) -> Some(1)
    ) ++ (5 until good.length).map(n => reason(own, good.take(n), known) -> Some(1))
    failures.foreach { case (failure, id) =>
      assert(failure != null && failure.unparsable && failure.schemaId == id)
      assert(!failure.reason.contains("secret"))
    }
    assert(failures.map(_._1.reason).distinct.size >= 6)
  }

  test("an id that was unknown is looked for again, and failures of the registry are not bad records") {
    val schema = record(field("id", "\"int\""))
    val own = side("id INT")
    var answer: () => Option[RegisteredSchema] = () => None
    val made = ConfluentAvroDecoder(own, (_, _) => answer())
    made.from("blue")
    val bytes = written(1, schema, 5)
    assert(Decoded.by(made, own)(bytes).bad)
    answer = () => throw new IllegalStateException("down")
    intercept[IllegalStateException](made.decode(bytes, new DecodedValues(own.types)))
    answer = () => Some(RegisteredSchema("AVRO", schema))
    assert(!Decoded.by(made, own)(bytes).bad)
    answer = () => throw new IllegalStateException("down")
    assert(!Decoded.by(made, own)(bytes).bad)
  }

  test("random schemas: the same columns as the format avro, with the reader's schema and with DDL") {
    val make = new RandomAvro(new Random(TestSeed()))
    (1 to RandomCases(100)).foreach { _ =>
      val schema = make.record()
      val text = schema.toString
      val plain = Decoded.side(text, "format" -> "avro")
      val expected = Decoded.by(Avro.decoder(plain), plain)
      val (byAvro, byDdl) = (side(text), side(plain.schema.toDDL))
      val decoders = Seq(byAvro, byDdl).map(s => decoder(s, "blue", 9 -> text))
      (1 to 3).foreach { _ =>
        val bytes = RandomAvro.encoded(schema, make.datum(schema))
        decoders.foreach(decode => assert(decode(WireFormat.framed(9, bytes)) == expected(bytes), text))
      }
    }
  }

  test("damaged records of random schemas yield nothing but bad records") {
    val make = new RandomAvro(new Random(TestSeed()))
    (1 to RandomCases(100)).foreach { _ =>
      val schema = make.record()
      val own = side(schema.toString)
      val decode = decoder(own, "blue", 9 -> schema.toString)
      val bytes = WireFormat.framed(9, RandomAvro.encoded(schema, make.datum(schema)))
      assert(!decode(bytes).bad)
      (1 to 50).foreach(_ => decode(make.damaged(bytes)))
      assert(!decode(bytes).bad)
    }
  }

  test("a record that contains itself too often is a bad record") {
    val schema =
      """{"type":"record","name":"N","fields":[{"name":"id","type":"int"},{"name":"next","type":["null","N"]}]}"""
    val own = side("id INT")
    val nested = WireFormat.framed(1, Array.fill(2000000)(Seq[Byte](2, 2)).flatten.toArray)
    assert(reason(own, nested, 1 -> RegisteredSchema("AVRO", schema)).unparsable)
  }

  test("json-confluent is the JSON after the id") {
    val own = Decoded.side("id INT, name STRING", "format" -> "json-confluent")
    val decode = Decoded.by(Decoders.of(own), own)
    def framed(text: String) = WireFormat.framed(7, text.getBytes)
    assert(decode(framed("""{"id": 5, "name": "a"}""")) == Decoded(Seq("Integer(5)", "'a'"), bad = false))
    assert(decode("""{"id": 5}""".getBytes).bad && decode(framed("""{"id": "x"}""")).bad)
    val failure = Decoders.of(own).decode(framed("nothing"), new DecodedValues(own.types))
    assert(failure.schemaId.contains(7))
  }

  test("a decimal of another scale is that of a cast, everywhere in a record; one that is too large is bad") {
    val random = new Random(TestSeed())
    (1 to RandomCases(200)).foreach { _ =>
      val (scale, own) = (random.nextInt(7), random.nextInt(5))
      val decimal = s"""{"type":"bytes","logicalType":"decimal","precision":12,"scale":$scale}"""
      val nested = s"""{"type":"record","name":"R","fields":[{"name":"d","type":["null",$decimal]}]}"""
      val text = record(
        field("a", decimal),
        field("l", s"""{"type":"array","items":$decimal}"""),
        field("m", s"""{"type":"map","values":$decimal}"""),
        field("s", nested)
      )
      val of = s"DECIMAL(8,$own)"
      val columns = side(s"a $of, l ARRAY<$of>, m MAP<STRING, $of>, s STRUCT<d: $of>")
      val unscaled = java.math.BigInteger.valueOf(random.nextLong() >> (25 + random.nextInt(30)))
      def bytes = java.nio.ByteBuffer.wrap(unscaled.toByteArray)
      val parsed = new Schema.Parser().parse(text)
      val inner = new GenericData.Record(parsed.getField("s").schema)
      inner.put("d", bytes)
      val bytes9 = written(9, text, bytes, java.util.List.of(bytes), java.util.Map.of("k", bytes), inner)
      val found = decoder(columns, "blue", 9 -> text)(bytes9)
      val cast = Cast(
        Literal(Decimal(new java.math.BigDecimal(unscaled, scale), 12, scale), DecimalType(12, scale)),
        DecimalType(8, own),
        evalMode = EvalMode.LEGACY
      ).eval()
      if (cast == null) assert(found.bad, unscaled)
      else {
        val value = s"BigDecimal(${cast.asInstanceOf[Decimal].toJavaBigDecimal})"
        assert(found.columns == Seq(value, s"[$value]", s"<'k'->$value>", s"{$value}"))
      }
    }
  }

  test("a number without a unit of time is no date or timestamp") {
    Seq("long" -> "TIMESTAMP", "long" -> "TIMESTAMP_NTZ", "long" -> "DATE").foreach { case (avro, column) =>
      val text = record(field("a", s""""$avro""""))
      val failure = reason(side(s"a $column"), written(1, text, 5L), 1 -> RegisteredSchema("AVRO", text))
      assert(failure.reason.contains("'a' is"), column)
    }
    val micros = """{"type":"long","connect.name":"io.debezium.time.MicroTimestamp"}"""
    val text = record(field("a", micros))
    val millis = record(field("a", logical("long", "timestamp-millis")))
    val failure = reason(side(millis), written(1, text, 5L), 1 -> RegisteredSchema("AVRO", text))
    assert(failure.reason.contains("another logical type"))
    assert(decoder(side("a TIMESTAMP"), "blue", 1 -> text)(written(1, text, 1500000L)).columns ==
      Seq("Timestamp(1970-01-01 00:00:01.5)"))
  }
}

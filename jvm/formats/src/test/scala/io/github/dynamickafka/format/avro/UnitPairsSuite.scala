package io.github.dynamickafka.format.avro

import java.math.BigInteger
import java.nio.ByteBuffer

import scala.util.Random

import org.apache.avro.Schema
import org.apache.avro.generic.GenericData
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.types.{DataType, Decimal, StructType}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.table.Decoded
import io.github.dynamickafka.format.{DecodedValues, SideLayout}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/** Every pair of a writer's and a reader's type gives the value that was written, or a bad record: never another value. */
class UnitPairsSuite extends AnyFunSuite with TimeLimit {
  import UnitPairsSuite._

  private def decoded(side: SideLayout, writer: Schema, datum: Any): Option[InternalRow] = {
    val made = ConfluentAvroDecoder(side, (_, _) => Some(RegisteredSchema("AVRO", writer.toString)))
    made.from("blue")
    val into = new DecodedValues(side.types)
    val failure = made.decode(WireFormat.framed(1, RandomAvro.encoded(writer, datum)), into)
    Option.when(failure == null)(InternalRow.fromSeq(side.types.indices.map(into.get)))
  }

  private def side(schema: String): SideLayout =
    Decoded.side(schema, "format" -> "avro-confluent", "registry.url" -> "http://localhost:1")

  test("by an Avro schema: bare, nullable, in a union of two, in a record in a union (seed in the message)") {
    val seed = TestSeed()
    val random = new Random(seed)
    var good = 0
    def wrapped(text: String) = Wrappers(random.nextInt(Wrappers.size))(text)
    for (writer <- Types; reader <- Types; _ <- 1 to RandomCases(15)) {
      val (w, r) = (wrapped(writer.text), wrapped(reader.text))
      val where = s"seed $seed: $w to $r"
      // Two shapes that Avro itself does not resolve are bad records.
      val number = writer.number(random)
      val datum = made(w, writer, number)
      decoded(side(r.toString), w, datum).foreach { row =>
        good += 1
        val (value, dataType) = leaf(row, side(r.toString).schema)
        if (value != null)
          assert(
            agree(writer, number, reader, value, dataType),
            s"$where: $number is $value (${dataType.sql})"
          )
      }
    }
    assert(good > 200, s"seed $seed")
  }

  test("by DDL: numbers of a unit are values of columns of this unit only (seed in the message)") {
    val seed = TestSeed()
    val random = new Random(seed)
    val columns = Seq(
      "DATE" -> "instant",
      "TIMESTAMP" -> "instant",
      "TIMESTAMP_NTZ" -> "instant",
      "INTERVAL DAY TO SECOND" -> "duration",
      "INTERVAL YEAR TO MONTH" -> "none"
    )
    for (writer <- Types; (column, kind) <- columns; nullable <- Seq(true, false); _ <- 1 to RandomCases(3)) {
      val w = Wrappers(if (nullable) 1 else 0)(writer.text)
      val number = writer.number(random)
      decoded(side(s"a $column"), w, made(w, writer, number)).foreach { row =>
        val dataType = DataType.fromDDL(column)
        val found = meaning(row.get(0, dataType), dataType)
        assert(writer.kind == kind && writer.quantity(number) == found, s"seed $seed: $w to $column: $number")
      }
    }
  }
}

object UnitPairsSuite {

  /**
   * @param kind what numbers of the type measure; empty: nothing
   * @param factor of one, in nanoseconds or in hundredths
   */
  private final case class Unit(text: String, kind: String, factor: BigDecimal) {
    def isDecimal: Boolean = kind == "decimal"
    def isInt: Boolean = text.contains("\"int\"")
    def quantity(number: BigInt): BigDecimal = BigDecimal(number) * factor
    def number(random: Random): BigInt =
      if (isDecimal) BigInt(random.nextLong()) * (1 + random.nextInt(100))
      else if (isInt) BigInt(random.nextInt(20000))
      else BigInt(random.nextInt(Int.MaxValue)) * 1000
  }

  private val Day = BigDecimal(86400L) * 1000000000L
  private def logical(base: String, name: String) = s"""{"type":"$base","logicalType":"$name"}"""
  private def debezium(base: String, name: String) =
    s"""{"type":"$base","connect.name":"io.debezium.time.$name"}"""
  private def decimal(precision: Int, scale: Int) = Unit(
    s"""{"type":"bytes","logicalType":"decimal","precision":$precision,"scale":$scale}""",
    "decimal",
    BigDecimal(BigInt(1), scale)
  )

  private val Types: Seq[Unit] = Seq(
    Unit("\"int\"", "", 1),
    Unit("\"long\"", "", 1),
    Unit(logical("int", "date"), "instant", Day),
    Unit(logical("long", "timestamp-millis"), "instant", 1000000),
    Unit(logical("long", "timestamp-micros"), "instant", 1000),
    Unit(logical("long", "local-timestamp-millis"), "instant", 1000000),
    Unit(logical("long", "local-timestamp-micros"), "instant", 1000),
    Unit(logical("int", "time-millis"), "time", 1000000),
    Unit(logical("long", "time-micros"), "time", 1000),
    Unit(debezium("int", "Date"), "instant", Day),
    Unit(debezium("long", "Timestamp"), "instant", 1000000),
    Unit(debezium("long", "MicroTimestamp"), "instant", 1000),
    Unit(debezium("long", "NanoTimestamp"), "instant", 1),
    Unit(debezium("int", "Time"), "time", 1000000),
    Unit(debezium("long", "MicroTime"), "time", 1000),
    Unit(debezium("long", "NanoTime"), "time", 1),
    Unit(debezium("int", "Year"), "year", 1),
    Unit(debezium("long", "MicroDuration"), "duration", 1000),
    Unit(debezium("long", "NanoDuration"), "duration", 1),
    decimal(38, 2),
    decimal(10, 2),
    decimal(10, 3)
  )

  private def record(field: String) =
    new Schema.Parser().parse(s"""{"type":"record","name":"R","fields":[{"name":"a","type":$field}]}""")

  private val Wrappers: Seq[String => Schema] = Seq(
    record(_),
    text => record(s"""["null",$text]"""),
    text => record(s"""["null",{"type":"record","name":"I","fields":[{"name":"a","type":$text}]}]"""),
    text => record(s"""["null",{"type":"record","name":"I","fields":[{"name":"a","type":["null",$text]}]}]""")
  )

  private def made(schema: Schema, writer: Unit, number: BigInt): Any = schema.getType match {
    case Schema.Type.RECORD =>
      val made = new GenericData.Record(schema)
      made.put(0, this.made(schema.getFields.get(0).schema, writer, number))
      made
    case Schema.Type.UNION => made(schema.getTypes.get(1), writer, number)
    case Schema.Type.BYTES => ByteBuffer.wrap(new BigInteger(number.toString).toByteArray)
    case Schema.Type.INT => number.toInt
    case _ => number.toLong
  }

  private def leaf(row: InternalRow, schema: StructType): (Any, DataType) = {
    val dataType = schema.head.dataType
    (if (row == null) null else row.get(0, dataType), dataType) match {
      case (inner: InternalRow, struct: StructType) => leaf(inner, struct)
      case other => other
    }
  }

  /** In nanoseconds, of a value whose column has a unit. */
  private def meaning(value: Any, dataType: DataType): BigDecimal = dataType.typeName match {
    case "date" => BigDecimal(value.toString) * Day
    case "timestamp" | "timestamp_ntz" => BigDecimal(value.toString) * 1000
    case name if name.startsWith("time(") => BigDecimal(value.toString)
    case name if name.startsWith("interval day") => BigDecimal(value.toString) * 1000
    case _ => null
  }

  private def agree(writer: Unit, number: BigInt, reader: Unit, value: Any, dataType: DataType): Boolean =
    value match {
      case decimal: Decimal => writer.quantity(number) == decimal.toBigDecimal
      case _: Array[Byte] => writer.isDecimal == reader.isDecimal
      case _ =>
        val ofColumn = Option(meaning(value, dataType)).getOrElse(BigDecimal(value.toString) * reader.factor)
        // A number without a unit may be read as one of any.
        val expected = if (writer.kind.isEmpty || reader.kind.isEmpty) BigDecimal(number) * reader.factor
        else writer.quantity(number)
        (writer.kind.isEmpty || reader.kind.isEmpty || writer.kind == reader.kind) && ofColumn == expected
    }
}

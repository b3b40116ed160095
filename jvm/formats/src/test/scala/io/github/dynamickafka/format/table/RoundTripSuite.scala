package io.github.dynamickafka.format.table

import scala.util.Random

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.BoundReference
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, InternalRow}
import org.apache.spark.sql.types._
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.{SideFormat, SideLayout}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/** What is written is what is read, for random schemas and rows. */
class RoundTripSuite extends AnyFunSuite with TimeLimit {
  private val Schemas = RandomCases(60)
  private val RowsOfEach = 25

  private def roundTrip(format: String, types: Seq[DataType], depth: Int, emptyText: String = "''")(
      options: (String, String)*
  ): Unit = {
    val seed = TestSeed()
    val all = Gen.listOfN(
      Schemas,
      RandomRows.schemas(types, depth).flatMap(s => Gen.listOfN(RowsOfEach, RandomRows.rows(s)).map(s -> _))
    ).pureApply(Gen.Parameters.default.withSize(12), Seed(seed))
    var compared = 0
    all.foreach { case (schema, rows) =>
      val written = ParsedFormats.write((options :+ ("format" -> format)): _*)
      val fields = schema.zipWithIndex.map { case (f, i) => BoundReference(i, f.dataType, nullable = true) }
      val encoder = new RowEncoder(
        SideColumns.Fields(SideLayout(utc(written.value), schema, schema.indices), fields),
        "value"
      )
      val side = ParsedFormats.read(options :+ ("format" -> format) :+ ("schema" -> schema.json): _*).layout(
        None,
        includeHeaders = false
      ).value
      val utcSide = side.copy(format = utc(side.format))
      val decode = Decoded.by(Decoders.of(utcSide), utcSide)
      val convert = CatalystTypeConverters.createToScalaConverter(schema)
      rows.foreach { row =>
        val bytes = encoder(row)
        val expected = Decoded.of(Row.fromSeq(convert(row).asInstanceOf[Row].toSeq :+ null), schema)
        val known = expected.copy(columns = expected.columns.map(c => if (c == "''") emptyText else c))
        assert(decode(bytes) == known, s"seed $seed, ${schema.toDDL}: ${new String(bytes)}")
        compared += 1
      }
    }
    assert(compared == Schemas * RowsOfEach)
    info(s"$compared rows of $Schemas schemas, seed $seed")
  }

  test(
    "keys: the order of the fields is that of keyFields, whatever that of the columns is (seed in the message)"
  ) {
    val seed = TestSeed()
    val random = new Random(seed)
    val all = Gen.listOfN(
      Schemas,
      RandomRows.schemas(RandomRows.simple.filterNot(_ == TimestampType), depth = 0).flatMap(s =>
        RandomRows.rows(s).map(s -> _)
      )
    ).pureApply(Gen.Parameters.default.withSize(12), Seed(seed))
    all.filter(_._1.size > 2).foreach { case (schema, row) =>
      val keys = random.shuffle(schema.fieldNames.toSeq).take(1 + random.nextInt(schema.size - 1))
      for (format <- Seq("json", "csv", "avro"); included <- Seq("ALL", "EXCEPT_KEY")) {
        val where = s"seed $seed, ${schema.toDDL}, $keys, $format, $included"
        val options = Seq(
          "format" -> "json",
          "keyFormat" -> format,
          "keyFields" -> keys.mkString(";"),
          "valueFieldsInclude" -> included
        )
        val written = ParsedFormats.write(options: _*)
        def key(order: Seq[Int]): Seq[Byte] = {
          val frame = StructType(order.map(schema(_)))
          val encoding = written.encoding(frame, Set.empty, caseSensitive = true)
          val shuffled = InternalRow.fromSeq(order.map(i => row.get(i, schema(i).dataType)))
          new RowEncoder(encoding.key.get, "key")(shuffled).toSeq
        }
        val bytes = key(schema.indices)
        assert(key(random.shuffle(schema.indices.toList)) == bytes, where)
        val side = ParsedFormats.read(
          options :+ ("schema" -> StructType(
            random.shuffle(schema.toList)
          ).json) :+ ("changeData" -> "upsert"): _*
        ).layout(None, includeHeaders = false).key.get
        assert(side.schema.fieldNames.toSeq == keys, where)
        val convert = CatalystTypeConverters.createToScalaConverter(schema)
        val values = convert(row).asInstanceOf[Row]
        val texts = keys.map(name => Decoded.text(values.get(schema.fieldIndex(name))))
        val expected = if (format == "csv") texts.map(t => if (t == "''") "null" else t) else texts
        val found = Decoded.by(Decoders.of(side), side)(bytes.toArray)
        assert(found == Decoded(expected, bad = false), where)
      }
    }
  }

  private def utc(side: SideFormat) =
    side.copy(options = side.options ++ Map("timeZone" -> "UTC"))

  private val small = Seq(ByteType, ShortType)

  test("json: all types, nested") {
    roundTrip("json", RandomRows.simple ++ small :+ BinaryType, depth = 3)()
  }

  test("json: null fields written, Flink's SQL timestamps") {
    roundTrip("json", RandomRows.simple ++ small, depth = 1)(
      "json.timestampFormat.standard" -> "SQL"
    )
  }

  test("csv: types without fields; an empty text is null, unless null has a literal") {
    roundTrip("csv", RandomRows.simple ++ small, depth = 0, emptyText = "null")()
  }

  test("csv: another separator and literal for null") {
    roundTrip("csv", RandomRows.simple, depth = 0)("csv.sep" -> ";", "csv.nullValue" -> "(null)")
  }

  test("avro: all types, nested") {
    roundTrip("avro", RandomRows.simple :+ BinaryType, depth = 3)()
  }
}

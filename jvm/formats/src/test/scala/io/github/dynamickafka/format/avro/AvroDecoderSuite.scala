package io.github.dynamickafka.format.avro

import java.io.ByteArrayOutputStream

import scala.jdk.CollectionConverters._
import scala.util.Random
import scala.util.control.NonFatal

import org.apache.avro.Schema
import org.apache.avro.generic.{GenericData, GenericDatumWriter, GenericRecord}
import org.apache.avro.io.EncoderFactory
import org.apache.spark.sql.types._
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.format.AvroSchemas
import io.github.dynamickafka.format.table.{AgainstSpark, BySpark, Decoded, RandomRows}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

class AvroDecoderSuite extends AnyFunSuite with TimeLimit with AgainstSpark {

  private val text =
    """{"type":"record","name":"Order","fields":[
      |{"name":"id","type":"long"},
      |{"name":"name","type":["null","string"]},
      |{"name":"at","type":{"type":"long","logicalType":"timestamp-micros"}},
      |{"name":"tags","type":{"type":"array","items":"string"}},
      |{"name":"kind","type":{"type":"enum","name":"Kind","symbols":["A","B"]}}]}""".stripMargin
  private val schema = new Schema.Parser().parse(text)

  /** Written by Avro's own library. */
  private def written(id: Long, name: String): Array[Byte] = {
    val record = new GenericData.Record(schema)
    record.put("id", id)
    record.put("name", name)
    record.put("at", 1500000L)
    record.put("tags", java.util.List.of("x", "y"))
    record.put("kind", new GenericData.EnumSymbol(schema.getField("kind").schema, "B"))
    encoded(record)
  }

  private def encoded(record: GenericRecord): Array[Byte] = {
    val out = new ByteArrayOutputStream
    val encoder = EncoderFactory.get().binaryEncoder(out, null)
    new GenericDatumWriter[GenericRecord](record.getSchema).write(record, encoder)
    encoder.flush()
    out.toByteArray
  }

  test("records of an Avro schema, one after the other") {
    val side = Decoded.side(text, "format" -> "avro")
    assert(side.schema.toDDL == "id BIGINT,name STRING,at TIMESTAMP,tags ARRAY<STRING>,kind STRING")
    val decode = Decoded.by(Avro.decoder(side), side)
    assert(decode(written(
      7L,
      "a"
    )).columns == Seq("Long(7)", "'a'", "Timestamp(1970-01-01 00:00:01.5)", "['x','y']", "'B'"))
    assert(decode(written(8L, null)).columns.take(2) == Seq("Long(8)", "null"))
    assert(Decoded.by(
      Avro.decoder(side.copy(wanted = Seq(4))),
      side.copy(wanted = Seq(4))
    )(written(1L, "b")).columns == Seq("'B'"))
  }

  test("truncated records, bytes that are left over and garbage are bad records") {
    val side = Decoded.side(text, "format" -> "avro")
    val decode = Decoded.by(Avro.decoder(side), side)
    val good = written(7L, "a")
    assert(!decode(good).bad)
    (0 until good.length).foreach(n => assert(decode(good.take(n)).bad, n))
    assert(decode(good :+ 0.toByte).bad)
    assert(decode(Array.fill(20)(-1.toByte)).bad)
    assert(!decode(good).bad)
  }

  test("a schema as DDL is a record topLevelRecord with nullable fields, null first") {
    val side = Decoded.side("id INT, name STRING", "format" -> "avro")
    val own = new Schema.Parser().parse(
      """{"type":"record","name":"topLevelRecord","fields":[
        |{"name":"id","type":["null","int"]},{"name":"name","type":["null","string"]}]}""".stripMargin
    )
    val record = new GenericData.Record(own)
    record.put("id", 5)
    record.put("name", "x")
    assert(Decoded.by(Avro.decoder(side), side)(encoded(record)) == Decoded(
      Seq("Integer(5)", "'x'"),
      bad = false
    ))
  }

  test(
    "random columns as DDL or JSON, some of them NOT NULL, are the fields of the record (seed in the message)"
  ) {
    val seed = TestSeed()
    val random = new Random(seed)
    val make = new RandomAvro(random)
    def some(dataType: DataType): DataType = dataType match {
      case StructType(fields) =>
        StructType(fields.map(f => f.copy(dataType = some(f.dataType), nullable = random.nextBoolean())))
      case other => other
    }
    val types = Seq(StringType, BooleanType, IntegerType, LongType, DoubleType, BinaryType)
    val schemas = Gen.listOfN(RandomCases(60), RandomRows.schemas(types, depth = 2))
      .pureApply(Gen.Parameters.default.withSize(4), Seed(seed))
    schemas.map(some(_).asInstanceOf[StructType]).foreach { schema =>
      val avro = AvroSchemas.of(schema)
      val bySpark = Decoded.side(avro.toString, "format" -> "avro")
      val expected = Decoded.by(Avro.decoder(bySpark), bySpark)
      for (text <- Seq(schema.toDDL, schema.json)) {
        val side = Decoded.side(text, "format" -> "avro")
        val decode = Decoded.by(Avro.decoder(side), side)
        (1 to 5).foreach { _ =>
          val record = RandomAvro.encoded(avro, make.datum(avro))
          val found = decode(record)
          assert(!found.bad && found == expected(record), s"seed $seed, $text")
        }
      }
    }
  }

  test("sequences of records of random schemas, some of them damaged, as from_avro") {
    val make = new RandomAvro(new Random(TestSeed()))
    val bad = (1 to RandomCases(40)).map { _ =>
      val schema = make.record()
      val side = Decoded.side(schema.toString, "format" -> "avro")
      assertSame(side, Avro.decoder(side), records(make, schema))(
        BySpark.avro(schema.toString, side.schema, Map.empty)
      )
    }.sum
    assert(bad > 20)
  }

  test("EXCEPT_KEY: values of random schemas without the fields of the keys, as from_avro") {
    val random = new Random(TestSeed())
    val make = new RandomAvro(random)
    (1 to RandomCases(40)).foreach { _ =>
      val whole = Iterator.continually(make.record()).find(_.getFields.size > 1).get
      val (ofKey, others) =
        random.shuffle(whole.getFields.asScala.toSeq).splitAt(1 + random.nextInt(whole.getFields.size - 1))
      val left = whole.getFields.asScala.filter(others.contains).map(f => new Schema.Field(f.name, f.schema))
      val values = Schema.createRecord(whole.getName, null, whole.getNamespace, false, left.asJava)
      val side = Decoded.side(
        whole.toString,
        "format" -> "avro",
        "keyFormat" -> "avro",
        "keyFields" -> ofKey.map(_.name).mkString(","),
        "valueFieldsInclude" -> "EXCEPT_KEY"
      )
      assertSame(side, Avro.decoder(side), records(make, values))(
        BySpark.avro(values.toString, side.schema, Map.empty)
      )
    }
  }

  /** Good ones, and damaged ones between them. */
  private def records(make: RandomAvro, schema: Schema): Seq[Array[Byte]] =
    Seq.fill(5)(RandomAvro.encoded(schema, make.datum(schema))).flatMap(good =>
      Seq(good) ++ Some(make.damaged(good)).filterNot(isLenient(schema, _)) :+ good
    )

  /** Whether Avro reads bytes that it does not write, such as more of them, or a boolean of 200: such records are bad. */
  private def isLenient(schema: Schema, bytes: Array[Byte]) =
    try !RandomAvro.encoded(schema, RandomAvro.read(schema, bytes)).sameElements(bytes)
    catch { case NonFatal(_) | _: OutOfMemoryError => false }

  test("unions and recursive schemas with the options of from_avro") {
    val union =
      """{"type":"record","name":"R","fields":[{"name":"u","type":["int","string",{"type":"array","items":"long"}]}]}"""
    val recursive =
      """{"type":"record","name":"N","fields":[{"name":"id","type":"int"},{"name":"next","type":["null","N"]}]}"""
    def nested(depth: Int): Array[Byte] =
      Array.fill(depth)(Seq[Byte](4, 2)).flatten.toArray ++ Array[Byte](6, 0)
    Seq(
      (
        union,
        "enableStableIdentifiersForUnionType" -> "true",
        Seq(Array[Byte](0, 8), Array[Byte](2, 2, 'x'), Array[Byte](4, 2, 6, 0))
      ),
      (recursive, "recursiveFieldMaxDepth" -> "1", (0 to 3).map(nested)),
      (recursive, "recursiveFieldMaxDepth" -> "3", (0 to 5).map(nested))
    ).foreach { case (schema, (name, value), records) =>
      val side = Decoded.side(schema, "format" -> "avro", s"avro.$name" -> value)
      assert(assertSame(side, Avro.decoder(side), records)(
        BySpark.avro(schema, side.schema, Map(name -> value))
      ) == 0)
    }
  }
}

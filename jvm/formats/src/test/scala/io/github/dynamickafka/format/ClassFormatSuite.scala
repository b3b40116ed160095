package io.github.dynamickafka.format

import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.spark.sql.Row
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String
import org.scalacheck.Gen
import org.scalacheck.rng.Seed
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.extension.{CustomFormat, RecordReader, RecordWriter, SourceRecord, TargetRecord}
import io.github.dynamickafka.format.table.{Decoded, Decoders, ParsedFormats, RandomRows, RowEncoder}
import io.github.dynamickafka.testkit.{RandomCases, TimeLimit}

/** A format that a class of the user implements. */
class ClassFormatSuite extends AnyFunSuite with TimeLimit {
  import ClassFormatSuite._

  private val lines = s"class:${classOf[Lines].getName}"
  private val fixed = s"class:${classOf[FixedColumns].getName}"

  private def side(options: (String, String)*): SideLayout =
    ParsedFormats.read(options: _*).layout(None, includeHeaders = false).value

  private def refused(options: (String, String)*): String = ParsedFormats.refused(
    Decoders.check(side(options: _*))
  ).getMessage

  private def reader(of: SideLayout) = Decoded.by(Decoders.of(of, Here), of)

  test("records become rows of the schema, with headers, topic and cluster") {
    val decode = reader(side("format" -> lines, "schema" -> "id BIGINT, name STRING, place STRING"))
    assert(decode("7;tea".getBytes) == Decoded(Seq("Long(7)", "'tea'", "'orders@blue: a=1'"), bad = false))
    assert(decode("8;".getBytes) == Decoded(Seq("Long(8)", "null", "'orders@blue: a=1'"), bad = false))
  }

  test("an exception, another number of values, and a value of another type make a bad record") {
    val of = side("format" -> lines, "schema" -> "id BIGINT, name STRING, place STRING")
    val decoder = Decoders.of(of, Here)
    val into = new DecodedValues(of.types)
    val thrown = decoder.decode("secret;tea".getBytes, into)
    assert(thrown.reason.endsWith("threw NumberFormatException") && thrown.unparsable)
    assert(!thrown.reason.contains("secret"))
    val wrong = side("format" -> lines, "schema" -> "id STRING, name STRING, place STRING")
    val failure = Decoders.of(wrong, Here).decode("7;tea".getBytes, new DecodedValues(wrong.types))
    assert(failure.field.contains("id") && failure.reason.contains("STRING"))
    val few = side("format" -> lines, "schema" -> "id BIGINT, name STRING")
    assert(Decoders.of(few, Here).decode("7;tea".getBytes, new DecodedValues(few.types)).reason.contains(
      "3 values for 2 columns"
    ))
  }

  test(
    "values of any class in random types are those of the columns, or make a bad record (seed in the message)"
  ) {
    val seed = TestSeed()
    val random = new Random(seed)
    val schemas = Gen.listOfN(RandomCases(300), RandomRows.schemas(RandomRows.simple :+ ShortType, depth = 2))
      .pureApply(Gen.Parameters.default.withSize(4), Seed(seed))
    var good, bad = 0
    schemas.foreach { schema =>
      val of = side("format" -> s"class:${classOf[Given].getName}", "schema" -> schema.json)
      val decode = reader(of)
      (1 to 4).foreach { _ =>
        // One value of another class in half of the rows.
        val (row, fits) = made(schema, random, wrong = random.nextBoolean())
        Given.row = row
        val found = decode(Array.emptyByteArray)
        val where = s"seed $seed, ${schema.toDDL}: $row is $found"
        if (fits) {
          good += 1
          assert(!found.bad && found.columns == row.toSeq.map(Decoded.text), where)
        } else {
          bad += 1
          assert(found.bad, where)
        }
      }
    }
    assert(good > 20 && bad > 20)
  }

  /** A row, and whether all of its values have the classes of the columns. */
  private def made(schema: StructType, random: Random, wrong: Boolean): (Row, Boolean) = {
    var left = wrong
    def others(t: DataType): Seq[Any] =
      Seq[Any]("text", 5, 5L, 5.toShort, 1.5, true, Seq(1), Row(1)).filterNot(fits(t, _))
    def value(t: DataType): Any =
      if (left && random.nextInt(3) == 0) {
        left = false
        val all = others(t)
        all(random.nextInt(all.size))
      } else t match {
        case ArrayType(element, _) => Seq.fill(1 + random.nextInt(2))(value(element))
        case MapType(_, item, _) => Map("k" -> value(item))
        case StructType(fields) => Row.fromSeq(fields.toSeq.map(f => value(f.dataType)))
        case StringType => "text"
        case BooleanType => true
        case ShortType => 5.toShort
        case IntegerType => 5
        case LongType => 5L
        case FloatType => 1.5f
        case DoubleType => 1.5
        case t: DecimalType => new java.math.BigDecimal(5).setScale(t.scale)
        case DateType => java.sql.Date.valueOf("2026-01-02")
        case TimestampType => java.sql.Timestamp.valueOf("2026-01-02 03:04:05")
        case _ => java.time.LocalDateTime.parse("2026-01-02T03:04:05")
      }
    val row = Row.fromSeq(schema.map(f => value(f.dataType)))
    (row, left == wrong)
  }

  /** Whether Spark converts such a value to the type. */
  private def fits(dataType: DataType, value: Any): Boolean = (dataType, value) match {
    case (
          StringType,
          _: String
        ) | (BooleanType, _: Boolean) | (ShortType, _: Short) | (IntegerType, _: Int) => true
    case (
          LongType,
          _: Long
        ) | (DoubleType, _: Double) | (_: ArrayType, _: Seq[_]) | (_: StructType, _: Row) => true
    case _ => false
  }

  test("a class can determine the columns, and then the option schema is refused") {
    assert(side("format" -> fixed).schema.toDDL == "n INT")
    assert(refused("format" -> fixed, "schema" -> "n INT").contains("determines the columns itself"))
    assert(ParsedFormats.refused(side("format" -> lines)).getCondition.endsWith("MISSING_OPTION"))
  }

  test("classes that cannot be used are refused before the query starts") {
    assert(refused("format" -> "class:no.such.Format", "schema" -> "n INT").contains("no class"))
    assert(refused("format" -> "class:java.lang.String", "schema" -> "n INT").contains("CustomFormat"))
    assert(refused("format" -> lines, "schema" -> "id VOID").contains("Lines have no VOID"))
  }

  test("the same class writes, and sees topic and cluster") {
    val schema = StructType.fromDDL("id BIGINT, name STRING")
    val source =
      ParsedFormats.write("format" -> lines).encoding(schema, Set.empty, caseSensitive = false).value
    val target = new There
    val encoder = new RowEncoder(source, "value", target)
    val row = new GenericInternalRow(Array[Any](7L, UTF8String.fromString("tea")))
    assert(new String(encoder(row)) == "7;tea")
    assert(target.headers == Seq("written-to" -> "orders"))
    val e = ParsedFormats.refused(
      ParsedFormats.write("format" -> fixed).encoding(
        StructType.fromDDL("n INT"),
        Set.empty,
        caseSensitive = false
      )
    )
    assert(e.getMessage.contains("for reading only"))
  }

  test("the reader of a task, and those that check the options, are closed") {
    val before = Lines.open
    val of = side("format" -> lines, "schema" -> "id BIGINT, name STRING, place STRING")
    Decoders.check(of)
    assert(Lines.open == before)
    val decoder = Decoders.of(of, Here)
    assert(Lines.open == before + 1)
    decoder.close()
    assert(Lines.open == before)
  }
}

object ClassFormatSuite {
  private object Here extends ReadContext {
    override def topic: String = "orders"
    override def cluster: String = "blue"
    override def headers: Iterator[(String, Array[Byte])] = Iterator("a" -> "1".getBytes)
  }

  private final class There extends TargetRecord {
    var headers: Seq[(String, String)] = Nil
    override def topic: String = "orders"
    override def cluster: String = "blue"
    override def addHeader(name: String, value: Array[Byte]): Unit = headers :+= name -> new String(value)
  }

  /** `id;name`, with the place of the record as a third column. */
  final class Lines extends CustomFormat {
    override def reader(schema: StructType): RecordReader = {
      if (schema.exists(_.dataType.typeName == "void"))
        throw new IllegalArgumentException("Lines have no VOID")
      Lines.open += 1
      new RecordReader {
        override def read(record: SourceRecord): Row = {
          val Array(id, name) = new String(record.bytes).split(";", 2)
          val headers = record.headers.asScala.map(header => s"${header.name}=${new String(header.value)}")
          val place = s"${record.topic}@${record.cluster}: ${headers.mkString}"
          Row(id.toLong, if (name.isEmpty) null else name, place)
        }
        override def close(): Unit = Lines.open -= 1
      }
    }

    override def writer(schema: StructType): RecordWriter = (row: Row, record: TargetRecord) => {
      record.addHeader("written-to", record.topic.getBytes)
      row.toSeq.mkString(";").getBytes
    }
  }

  object Lines {
    @volatile var open = 0
  }

  /** The row that a test has set. */
  final class Given extends CustomFormat {
    override def reader(schema: StructType): RecordReader = (_: SourceRecord) => Given.row
  }

  object Given {
    @volatile var row: Row = Row()
  }

  final class FixedColumns extends CustomFormat {
    override def schema(): StructType = StructType.fromDDL("n INT NOT NULL")
    override def reader(schema: StructType): RecordReader = (record: SourceRecord) => Row(record.bytes.length)
  }
}

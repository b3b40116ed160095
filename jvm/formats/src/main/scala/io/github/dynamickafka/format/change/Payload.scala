package io.github.dynamickafka.format.change

import java.math.{BigDecimal, BigInteger}
import java.util.Base64
import java.{util => ju}

import scala.util.Try
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.json.JacksonParser
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.Conversion
import io.github.dynamickafka.format.avro.AvroTime
import io.github.dynamickafka.format.json.JsonFormat

/**
 * The wanted columns of the changed table. Some of them are parsed as texts and converted afterwards: Spark's parser of JSON does not
 * accept numbers that are texts, as Flink does, and takes any number for seconds.
 *
 * @param schema the columns in the rows of the changes
 * @param numbers whether numbers and booleans may be texts
 * @param bytes whether decimals may be bytes in base64, which the schema in the record says. As texts, numbers have the digits of doubles,
 *              as Debezium's numbers do
 * @param times the dates, times and decimals of Debezium; None: they are those of Spark's parser
 */
private[change] final class Payload(
    val schema: StructType,
    numbers: Boolean,
    times: Option[JsonTimes],
    bytes: Boolean = false
) {
  import Payload._

  private val rows: Conversion =
    Conversion.struct(schema, schema.fields.map(f => noting(f.name, conversion(f.name, f.dataType))))

  val parsed: StructType = rows.dataType.asInstanceOf[StructType]

  /** Whether the schema that a record contains is needed. */
  def needsSchema: Boolean = times.isDefined && !rows.isPlain

  private var failed: Option[String] = None

  /** @param recordSchema null: the record that follows has none */
  def begin(recordSchema: UTF8String): Unit = {
    failed = None
    times.foreach(_.begin(recordSchema))
  }

  /** The first column whose text did not fit since the last call. */
  def takeFailed(): Option[String] = {
    val found = failed
    failed = None
    found
  }

  /** @param row with the columns of [[parsed]]; null if the record has none */
  def typed(row: InternalRow): InternalRow = rows(row).asInstanceOf[InternalRow]

  /** A value that does not fit becomes null, and its column is noted. */
  private def noting(column: String, values: Conversion): Conversion =
    if (values.isPlain) values
    else
      values.copy(convert = { value =>
        try values(value)
        catch {
          case NonFatal(_) =>
            if (failed.isEmpty) failed = Some(column)
            null
        }
      })

  private def conversion(column: String, dataType: DataType): Conversion =
    textConverters.get(dataType).filter(_ => numbers).fold(below(column, dataType))(convert =>
      Conversion(StringType, v => convert(v.toString.trim))
    )

  /** Numbers within other types are never texts. */
  private def below(column: String, dataType: DataType): Conversion = dataType match {
    case _: DecimalType if !bytes => Conversion(dataType)
    case DateType | TimestampType | TimestampNTZType | _: DecimalType =>
      times.map(_.converter(column, dataType)).fold(Conversion(dataType))(convert =>
        Conversion(StringType, v => convert(v.asInstanceOf[UTF8String]))
      )
    case array: ArrayType => Conversion.array(array, below(column, array.elementType))
    case map: MapType => Conversion.map(map, below(column, map.valueType))
    // The schema in a record names units of columns only.
    case row: StructType =>
      Conversion.struct(row, row.fields.map(f => below(s"$column.${f.name}", f.dataType)))
    case other => Conversion(other)
  }
}

private object Payload {

  private def boolean(text: String): Any = text.toLowerCase match {
    case "true" | "1" => true
    case "false" | "0" => false
    case _ => throw new IllegalArgumentException("not a boolean")
  }

  private def by(convert: String => Any): String => Any = convert

  private val textConverters: Map[DataType, String => Any] = Map(
    ByteType -> by(_.toByte),
    ShortType -> by(_.toShort),
    IntegerType -> by(_.toInt),
    LongType -> by(_.toLong),
    FloatType -> by(_.toFloat),
    DoubleType -> by(_.toDouble),
    BooleanType -> by(boolean)
  )
}

/**
 * Dates and times in Debezium's JSON, as texts. A number is one of days, milliseconds, microseconds or nanoseconds, depending on the
 * connector's `time.precision.mode` and the type in the database. The schema in the record names its unit; without a schema only that
 * of dates is known, which are days in all modes. A number of an unknown unit is a bad value. A decimal is a number, or bytes in base64
 * if the schema in the record has its scale: the text `1234` can be either. Not thread-safe.
 */
private[change] final class JsonTimes(options: Map[String, String]) {
  import JsonTimes._

  private val parsed = JsonFormat.parsed(options)
  private val factory = parsed.buildJsonFactory()
  private val spark = new JacksonParser(new StructType(), parsed, false)
  private var units: ju.Map[String, Logical] = _

  // Nearly all records have the same schema.
  private var lastSchema: UTF8String = _
  private var unitsOfLast: ju.Map[String, Logical] = _

  /** @param schema of the record that follows; null: it has none */
  def begin(schema: UTF8String): Unit = {
    if ((schema ne null) && schema != lastSchema) {
      unitsOfLast = unitsOf(Try(mapper.readTree(schema.toString)).getOrElse(MissingNode.getInstance))
      lastSchema = schema.clone()
    }
    units = if (schema eq null) null else unitsOfLast
  }

  /** A converter of texts to dates or times, which throws an exception for all others. */
  def converter(column: String, dataType: DataType): UTF8String => Any = {
    val ofText = spark.makeConverter(dataType)
    text => {
      val number = text.toString.trim
      def known = if (units eq null) None else Option(units.get(column))
      if (dataType.isInstanceOf[DecimalType] && known.exists(_.scale.isDefined)) {
        val unscaled = new BigInteger(Base64.getDecoder.decode(number))
        decimal(new BigDecimal(unscaled, known.get.scale.get), dataType.asInstanceOf[DecimalType])
      } else if (!dataType.isInstanceOf[DecimalType] && isNumber(number))
        ofNumber(number.toLong, known.flatMap(_.time), dataType)
      else {
        val shown = if (dataType == TimestampType) text.toString else AvroTime.withoutZone(number)
        val parser = factory.createParser(mapper.writeValueAsString(shown))
        try {
          val _ = parser.nextToken()
          ofText(parser)
        } finally parser.close()
      }
    }
  }

  /** A value that the column cannot have is a bad one, and is not rounded. */
  private def decimal(value: BigDecimal, dataType: DecimalType): Decimal = {
    val exact = value.setScale(dataType.scale)
    if (exact.precision > dataType.precision) throw new ArithmeticException(dataType.sql)
    Decimal(exact, dataType.precision, dataType.scale)
  }

  private def ofNumber(value: Long, named: Option[AvroTime], dataType: DataType): Any = {
    val unit = if (units ne null) named else Option.when(dataType == DateType)(AvroTime.Days)
    (unit, dataType) match {
      case (Some(AvroTime.Days), DateType) => Math.toIntExact(value)
      case (Some(instant: AvroTime.Instant), other) if other != DateType => instant.micros(value)
      case _ => throw new IllegalArgumentException("the unit of the number is unknown")
    }
  }
}

private object JsonTimes {
  private val DecimalName = "org.apache.kafka.connect.data.Decimal"

  /** @param scale of a decimal */
  private final case class Logical(time: Option[AvroTime], scale: Option[Int])

  private val mapper = new ObjectMapper()

  private def isNumber(text: String) = {
    val digits = if (text.startsWith("-")) text.drop(1) else text
    digits.nonEmpty && digits.forall(c => c >= '0' && c <= '9')
  }

  /** The units of the columns of the rows, in the schema of an envelope. */
  private def unitsOf(envelope: JsonNode): ju.Map[String, Logical] = {
    val found = new ju.HashMap[String, Logical]
    envelope.path("fields").forEach { row =>
      if (Set("before", "after").contains(row.path("field").asText))
        row.path("fields").forEach { column =>
          val named = if (column.has("items")) column.path("items") else column
          val name = named.path("name").asText
          val scale =
            Option.when(name == DecimalName)(
              named.path("parameters").path("scale").asText("0").toIntOption.getOrElse(0)
            )
          val _ = found.put(column.path("field").asText, Logical(AvroTime.named(name), scale))
        }
    }
    found
  }
}

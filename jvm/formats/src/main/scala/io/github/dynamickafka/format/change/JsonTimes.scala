package io.github.dynamickafka.format.change

import java.math.{BigDecimal, BigInteger}
import java.util.Base64
import java.{util => ju}

import scala.util.Try

import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DateType, Decimal, DecimalType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.avro.AvroTime

/**
 * Dates and times in Debezium's JSON, as texts. A number is one of days, milliseconds, microseconds or nanoseconds, depending on the
 * connector's `time.precision.mode` and the type in the database. The schema in the record names its unit; without a schema only that
 * of dates is known, which are days in all modes. A number of an unknown unit is a bad value. A decimal is a number, or bytes in base64
 * if the schema in the record has its scale: the text `1234` can be either. Not thread-safe.
 */
private[change] final class JsonTimes(options: Map[String, String]) {
  import JsonTimes._

  private val parsed =
    new JSONOptions(options, SQLConf.get.sessionLocalTimeZone, SQLConf.get.columnNameOfCorruptRecord)
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

  /** Of the columns of the rows, in the schema of an envelope. */
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

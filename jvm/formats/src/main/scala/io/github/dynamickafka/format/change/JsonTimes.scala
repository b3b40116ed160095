package io.github.dynamickafka.format.change

import java.{util => ju}

import scala.util.Try

import com.fasterxml.jackson.databind.node.MissingNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.catalyst.json.{JSONOptions, JacksonParser}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, DateType, StructType, TimestampType}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.avro.AvroTime

/**
 * Dates and times in Debezium's JSON, as texts. A number is one of days, milliseconds, microseconds or nanoseconds, depending on the
 * connector's `time.precision.mode` and the type in the database. The schema in the record names its unit; without a schema only that
 * of dates is known, which are days in all modes. A number of an unknown unit is a bad value. Not thread-safe.
 */
private[change] final class JsonTimes(options: Map[String, String]) {
  import JsonTimes._

  private val parsed =
    new JSONOptions(options, SQLConf.get.sessionLocalTimeZone, SQLConf.get.columnNameOfCorruptRecord)
  private val factory = parsed.buildJsonFactory()
  private val spark = new JacksonParser(new StructType(), parsed, false)
  private var units: ju.Map[String, Option[AvroTime]] = _

  // Nearly all records have the same schema.
  private var lastSchema: UTF8String = _
  private var unitsOfLast: ju.Map[String, Option[AvroTime]] = _

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
      if (isNumber(number)) ofNumber(number.toLong, column, dataType)
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

  private def ofNumber(value: Long, column: String, dataType: DataType): Any = {
    val unit =
      if (units ne null) units.getOrDefault(column, None)
      else Option.when(dataType == DateType)(AvroTime.Days)
    (unit, dataType) match {
      case (Some(AvroTime.Days), DateType) => Math.toIntExact(value)
      case (Some(instant: AvroTime.Instant), other) if other != DateType => instant.micros(value)
      case _ => throw new IllegalArgumentException("the unit of the number is unknown")
    }
  }
}

private object JsonTimes {
  private val mapper = new ObjectMapper()

  private def isNumber(text: String) = {
    val digits = if (text.startsWith("-")) text.drop(1) else text
    digits.nonEmpty && digits.forall(c => c >= '0' && c <= '9')
  }

  /** Of the columns of the rows, in the schema of an envelope. */
  private def unitsOf(envelope: JsonNode): ju.Map[String, Option[AvroTime]] = {
    val found = new ju.HashMap[String, Option[AvroTime]]
    envelope.path("fields").forEach { row =>
      if (Set("before", "after").contains(row.path("field").asText))
        row.path("fields").forEach { column =>
          val named = if (column.has("items")) column.path("items") else column
          val _ = found.put(column.path("field").asText, AvroTime.named(named.path("name").asText))
        }
    }
    found
  }
}

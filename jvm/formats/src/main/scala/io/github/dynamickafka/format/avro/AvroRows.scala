package io.github.dynamickafka.format.avro

import java.time.ZoneOffset

import scala.jdk.CollectionConverters._

import org.apache.avro.{LogicalTypes, Schema}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.Conversion

/** A field whose values would be other ones in its column. */
private[format] final case class AvroMismatch(field: String, reason: String)
    extends IllegalArgumentException(s"'$field' $reason")

/**
 * Avro records as rows, by Spark's deserializer. Where the schema of the records has another unit or scale than the column, values
 * are read as they are written, and converted; where the unit is unknown, the schema is refused.
 */
private[format] object AvroRows {

  /**
   * @param options those of `from_avro`
   * @return the row of a record, which may be reused for the next one
   * @throws AvroMismatch if values have no known meaning in their column
   */
  def apply(schema: Schema, columns: StructType, options: Map[String, String]): Any => InternalRow = {
    val plan = planOf(schema, columns, "")
    val read = DynamicKafkaAvro.deserializer(schema, plan.dataType, options)
    val row: Any => InternalRow = read(_).map(_.asInstanceOf[InternalRow]).orNull
    if (plan.isPlain) row
    else value => plan.convert(row(value)).asInstanceOf[InternalRow]
  }

  private def planOf(schema: Schema, column: DataType, path: String): Conversion =
    (schema.getType, column) match {
      case (Schema.Type.UNION, _) =>
        schema.getTypes.asScala.filter(_.getType != Schema.Type.NULL).toSeq match {
          case Seq(one) => planOf(one, column, path)
          case _ => Conversion(column)
        }
      case (Schema.Type.RECORD, struct: StructType) => ofRecord(schema, struct, path)
      case (Schema.Type.ARRAY, array: ArrayType) =>
        Conversion.array(array, planOf(schema.getElementType, array.elementType, below(path, "element")))
      case (Schema.Type.MAP, map: MapType) =>
        Conversion.map(map, planOf(schema.getValueType, map.valueType, below(path, "value")))
      case (_, decimal: DecimalType) => ofDecimal(schema, decimal)
      case (_, DateType | TimestampType | TimestampNTZType) => ofTime(schema, column, path)
      case (Schema.Type.INT | Schema.Type.LONG, _: YearMonthIntervalType | _: DayTimeIntervalType) =>
        ofInterval(schema, column, path)
      case _ => Conversion(column)
    }

  private def ofRecord(schema: Schema, columns: StructType, path: String): Conversion =
    Conversion.struct(
      columns,
      columns.fields.map { column =>
        val field = Option(schema.getField(column.name)).orElse(
          if (SQLConf.get.caseSensitiveAnalysis) None
          else schema.getFields.asScala.find(_.name.equalsIgnoreCase(column.name))
        )
        field.fold(Conversion(column.dataType))(f =>
          planOf(f.schema, column.dataType, below(path, column.name))
        )
      }
    )

  /** Rounded half up, as Spark's cast does, and `from_json`. */
  private def ofDecimal(schema: Schema, column: DecimalType): Conversion = schema.getLogicalType match {
    case written: LogicalTypes.Decimal
        if written.getScale != column.scale || written.getPrecision > column.precision =>
      Conversion(
        DecimalType(written.getPrecision, written.getScale),
        { v =>
          val converted = v.asInstanceOf[Decimal].clone()
          if (!converted.changePrecision(column.precision, column.scale))
            throw new ArithmeticException("the value has too many digits")
          converted
        }
      )
    case _ => Conversion(column)
  }

  private def ofTime(schema: Schema, column: DataType, path: String): Conversion = {
    def refuse(reason: String) = throw AvroMismatch(path, reason)
    val unit = AvroTime.of(schema)
    (schema.getType, column) match {
      case (Schema.Type.INT, DateType) =>
        if (unit.contains(AvroTime.Days)) Conversion(column) else refuse("is a number that is not of days")
      case (Schema.Type.LONG, DateType) => refuse("is not a date")
      case (Schema.Type.LONG, TimestampType | TimestampNTZType) =>
        AvroTime.ofConnect(schema) match {
          case Some(instant: AvroTime.Instant) =>
            Conversion(LongType, v => instant.micros(v.asInstanceOf[Long]))
          case _ if schema.getLogicalType == null => refuse("is a number without a unit of time")
          case _ => Conversion(column)
        }
      case (Schema.Type.STRING, _) if unit.contains(AvroTime.Text) =>
        Conversion(StringType, v => parsed(v.asInstanceOf[UTF8String], column, path))
      case _ => Conversion(column)
    }
  }

  private def parsed(text: UTF8String, column: DataType, path: String): Any = {
    val found = column match {
      case DateType =>
        DateTimeUtils.stringToDate(withoutZone(text))
      case TimestampType => DateTimeUtils.stringToTimestamp(text, ZoneOffset.UTC)
      case _ => DateTimeUtils.stringToTimestampWithoutTimeZone(withoutZone(text), false)
    }
    found.getOrElse(throw AvroMismatch(path, s"is not of type ${column.sql}"))
  }

  private def withoutZone(text: UTF8String) = UTF8String.fromString(AvroTime.withoutZone(text.toString))

  /** Spark writes the type beside the number; Debezium's durations of microseconds are those of Spark. */
  private def ofInterval(schema: Schema, column: DataType, path: String): Conversion = {
    val isDuration = column.isInstanceOf[DayTimeIntervalType] &&
      AvroTime.of(schema).contains(AvroTime.DurationMicros)
    if (isDuration || schema.getProp("spark.sql.catalyst.type") == column.typeName) Conversion(column)
    else throw AvroMismatch(path, s"is a number that is not of type ${column.sql}")
  }

  private def below(path: String, name: String) = if (path.isEmpty) name else s"$path.$name"
}

/** What numbers and texts mean that are dates or times. */
private[format] sealed trait AvroTime extends Product with Serializable

/**
 * By the names that Kafka Connect and Debezium give the types of fields: Avro's schemas have them as `connect.name`, the schemas in
 * records of JSON as `name`. Only Connect's own types are logical types of Avro too.
 */
private[format] object AvroTime {

  /** Days since 1970. */
  case object Days extends AvroTime

  /** ISO 8601. */
  case object Text extends AvroTime

  /** A number that is neither a date nor a time since 1970: a time of day, a year or a duration, in this unit. */
  final case class Other(unit: String) extends AvroTime

  /** Since 1970. `micros` throws an ArithmeticException if there is no such time. */
  final case class Instant(logicalType: String)(val micros: Long => Long) extends AvroTime

  private val Millis = Instant("timestamp-millis")(Math.multiplyExact(_, 1000L))
  private val Micros = Instant("timestamp-micros")(identity[Long](_))
  private val Nanos = Instant("timestamp-nanos")(Math.floorDiv(_, 1000L))

  /** Debezium's dates and times of ISO 8601 end with UTC, which Spark's dates and local times do not have: `2018-06-20Z`. */
  def withoutZone(text: String): String = text.stripSuffix("Z")

  def named(name: String): Option[AvroTime] = byName.get(name)

  /** The time of a field: by its logical type, or by its name in Connect. */
  def of(schema: Schema): Option[AvroTime] =
    Option(schema.getLogicalType).flatMap(t => byLogicalType.get(t.getName.stripPrefix("local-")))
      .orElse(ofConnect(schema))

  def ofConnect(schema: Schema): Option[AvroTime] = Option(schema.getProp("connect.name")).flatMap(named)

  private val OfDayMillis = Other("milliseconds of the day")
  private val OfDayMicros = Other("microseconds of the day")
  val DurationMicros: AvroTime = Other("microseconds")

  private val byLogicalType: Map[String, AvroTime] =
    (Seq(Millis, Micros, Nanos).map(i => i.logicalType -> i) :+ ("date" -> Days)).toMap ++
      Seq("time-millis" -> OfDayMillis, "time-micros" -> OfDayMicros)

  private val byName: Map[String, AvroTime] = {
    val debezium = Seq(
      "Date" -> Days,
      "Timestamp" -> Millis,
      "MicroTimestamp" -> Micros,
      "NanoTimestamp" -> Nanos,
      "Time" -> OfDayMillis,
      "MicroTime" -> OfDayMicros,
      "NanoTime" -> Other("nanoseconds of the day"),
      "Year" -> Other("years"),
      "MicroDuration" -> DurationMicros,
      "NanoDuration" -> Other("nanoseconds"),
      "ZonedTimestamp" -> Text,
      "IsoDate" -> Text,
      "IsoTimestamp" -> Text
    ).map { case (name, time) => s"io.debezium.time.$name" -> time }
    val connect = Seq("Date" -> Days, "Timestamp" -> Millis, "Time" -> OfDayMillis)
      .map { case (name, time) => s"org.apache.kafka.connect.data.$name" -> time }
    (debezium ++ connect).toMap
  }
}

package io.github.dynamickafka.format.avro

import java.time.ZoneOffset

import scala.jdk.CollectionConverters._

import org.apache.avro.{LogicalTypes, Schema}
import org.apache.spark.sql.avro.DynamicKafkaAvro
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{
  ArrayBasedMapData,
  ArrayData,
  DateTimeUtils,
  GenericArrayData,
  MapData
}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

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

  /**
   * @param dataType what Spark's deserializer reads
   * @param convert its value, not null, to that of the column; null: it is the same
   */
  private final case class Plan(dataType: DataType, convert: Any => Any = null) {
    def isPlain: Boolean = convert eq null
    def apply(value: Any): Any = if (isPlain || value == null) value else convert(value)
  }

  private def planOf(schema: Schema, column: DataType, path: String): Plan = (schema.getType, column) match {
    case (Schema.Type.UNION, _) =>
      schema.getTypes.asScala.filter(_.getType != Schema.Type.NULL).toSeq match {
        case Seq(one) => planOf(one, column, path)
        case _ => Plan(column)
      }
    case (Schema.Type.RECORD, struct: StructType) => ofRecord(schema, struct, path)
    case (Schema.Type.ARRAY, ArrayType(element, hasNull)) =>
      val plan = planOf(schema.getElementType, element, below(path, "element"))
      if (plan.isPlain) Plan(column)
      else Plan(ArrayType(plan.dataType, hasNull), v => ofArray(v.asInstanceOf[ArrayData], plan))
    case (Schema.Type.MAP, MapType(key, value, hasNull)) =>
      val plan = planOf(schema.getValueType, value, below(path, "value"))
      if (plan.isPlain) Plan(column)
      else Plan(
        MapType(key, plan.dataType, hasNull),
        { v =>
          val map = v.asInstanceOf[MapData]
          new ArrayBasedMapData(map.keyArray(), ofArray(map.valueArray(), plan))
        }
      )
    case (_, decimal: DecimalType) => ofDecimal(schema, decimal)
    case (_, DateType | TimestampType | TimestampNTZType) => ofTime(schema, column, path)
    case (Schema.Type.INT | Schema.Type.LONG, _: YearMonthIntervalType | _: DayTimeIntervalType) =>
      ofInterval(schema, column, path)
    case _ => Plan(column)
  }

  private def ofRecord(schema: Schema, columns: StructType, path: String): Plan = {
    val plans = columns.map { column =>
      val field = Option(schema.getField(column.name)).orElse(
        if (SQLConf.get.caseSensitiveAnalysis) None
        else schema.getFields.asScala.find(_.name.equalsIgnoreCase(column.name))
      )
      field.fold(Plan(column.dataType))(f => planOf(f.schema, column.dataType, below(path, column.name)))
    }.toArray
    if (plans.forall(_.isPlain)) Plan(columns)
    else {
      val types = plans.map(_.dataType)
      Plan(
        StructType(columns.zip(types).map { case (column, t) => column.copy(dataType = t) }),
        { v =>
          val row = v.asInstanceOf[InternalRow]
          val converted = new Array[Any](plans.length)
          var i = 0
          while (i < converted.length) {
            converted(i) = if (row.isNullAt(i)) null else plans(i)(row.get(i, types(i)))
            i += 1
          }
          new GenericInternalRow(converted)
        }
      )
    }
  }

  private def ofArray(values: ArrayData, plan: Plan): ArrayData =
    new GenericArrayData(Array.tabulate[Any](values.numElements())(i =>
      if (values.isNullAt(i)) null else plan(values.get(i, plan.dataType))
    ))

  /** Rounded half up, as Spark's cast does, and `from_json`. */
  private def ofDecimal(schema: Schema, column: DecimalType): Plan = schema.getLogicalType match {
    case written: LogicalTypes.Decimal
        if written.getScale != column.scale || written.getPrecision > column.precision =>
      Plan(
        DecimalType(written.getPrecision, written.getScale),
        { v =>
          val converted = v.asInstanceOf[Decimal].clone()
          if (!converted.changePrecision(column.precision, column.scale))
            throw new ArithmeticException("the value has too many digits")
          converted
        }
      )
    case _ => Plan(column)
  }

  private def ofTime(schema: Schema, column: DataType, path: String): Plan = {
    def refuse(reason: String) = throw AvroMismatch(path, reason)
    val unit = AvroTime.of(schema)
    (schema.getType, column) match {
      case (Schema.Type.INT, DateType) =>
        if (unit.contains(AvroTime.Days)) Plan(column) else refuse("is a number that is not of days")
      case (Schema.Type.LONG, DateType) => refuse("is not a date")
      case (Schema.Type.LONG, TimestampType | TimestampNTZType) =>
        AvroTime.ofConnect(schema) match {
          case Some(instant: AvroTime.Instant) => Plan(LongType, v => instant.micros(v.asInstanceOf[Long]))
          case _ if schema.getLogicalType == null => refuse("is a number without a unit of time")
          case _ => Plan(column)
        }
      case (Schema.Type.STRING, _) if unit.contains(AvroTime.Text) =>
        Plan(StringType, v => parsed(v.asInstanceOf[UTF8String], column, path))
      case _ => Plan(column)
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
  private def ofInterval(schema: Schema, column: DataType, path: String): Plan = {
    val isDuration = column.isInstanceOf[DayTimeIntervalType] &&
      AvroTime.of(schema).contains(AvroTime.DurationMicros)
    if (isDuration || schema.getProp("spark.sql.catalyst.type") == column.typeName) Plan(column)
    else throw AvroMismatch(path, s"is a number that is not of type ${column.sql}")
  }

  private def below(path: String, name: String) = if (path.isEmpty) name else s"$path.$name"
}

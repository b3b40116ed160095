package io.github.dynamickafka.format.change

import scala.util.control.NonFatal

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.catalyst.util.{ArrayBasedMapData, ArrayData, GenericArrayData, MapData}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

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

  /** Null where the parser's value is that of the column. */
  private val converters: Array[Any => Any] = schema.fields.map(f => converter(f.name, f.dataType).orNull)

  /** The columns as they are parsed. */
  val parsed: StructType = StructType(schema.zip(converters).map { case (field, convert) =>
    if (convert eq null) field else field.copy(dataType = asText(field.dataType))
  })
  private val types: Array[DataType] = parsed.fields.map(_.dataType)
  private val isSame = converters.forall(_ eq null)

  /** Whether the schema that a record contains is needed. */
  def needsSchema: Boolean = times.isDefined && !isSame

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
  def typed(row: InternalRow): InternalRow =
    if ((row eq null) || isSame) row
    else {
      val values = new Array[Any](types.length)
      var i = 0
      while (i < types.length) {
        values(i) =
          if (row.isNullAt(i)) null
          else if (converters(i) eq null) row.get(i, types(i))
          else converted(i, row.get(i, types(i)))
        i += 1
      }
      new GenericInternalRow(values)
    }

  private def converted(i: Int, value: Any): Any =
    try converters(i)(value)
    catch {
      case NonFatal(_) =>
        if (failed.isEmpty) failed = Some(schema(i).name)
        null
    }

  private def converter(column: String, dataType: DataType): Option[Any => Any] = dataType match {
    case _: DecimalType if !bytes => None
    case DateType | TimestampType | TimestampNTZType | _: DecimalType =>
      times.map(_.converter(column, dataType)).map(convert => (v: Any) => convert(v.asInstanceOf[UTF8String]))
    case ArrayType(element, _) =>
      converterBelow(column, element).map(convert =>
        (v: Any) => array(v.asInstanceOf[ArrayData], asText(element), convert)
      )
    case MapType(_, value, _) =>
      converterBelow(column, value).map { convert => (v: Any) =>
        val map = v.asInstanceOf[MapData]
        new ArrayBasedMapData(map.keyArray(), array(map.valueArray(), asText(value), convert))
      }
    case struct: StructType =>
      // The schema in a record names units of columns only.
      val below = struct.fields.map(f => converterBelow(s"$column.${f.name}", f.dataType).orNull)
      Option.when(below.exists(_ ne null)) { (v: Any) =>
        val row = v.asInstanceOf[InternalRow]
        new GenericInternalRow(Array.tabulate[Any](below.length) { i =>
          val dataType = if (below(i) eq null) struct(i).dataType else asText(struct(i).dataType)
          if (row.isNullAt(i)) null
          else if (below(i) eq null) row.get(i, dataType)
          else below(i)(row.get(i, dataType))
        })
      }
    case other =>
      textConverters.get(other).filter(_ => numbers).map(convert => (v: Any) => convert(v.toString.trim))
  }

  /** Numbers within other types are never texts. */
  private def converterBelow(column: String, dataType: DataType): Option[Any => Any] =
    if (textConverters.contains(dataType)) None else converter(column, dataType)

  /** The type with texts where values are converted. */
  private def asText(dataType: DataType): DataType = dataType match {
    case ArrayType(element, hasNull) => ArrayType(asTextBelow(element), hasNull)
    case MapType(key, value, hasNull) => MapType(key, asTextBelow(value), hasNull)
    case StructType(fields) => StructType(fields.map(f => f.copy(dataType = asTextBelow(f.dataType))))
    case DateType | TimestampType | TimestampNTZType => StringType
    case _: DecimalType if bytes => StringType
    case other if textConverters.contains(other) => StringType
    case other => other
  }

  private def asTextBelow(dataType: DataType) =
    if (textConverters.contains(dataType)) dataType else asText(dataType)

  private def array(values: ArrayData, dataType: DataType, convert: Any => Any): ArrayData =
    new GenericArrayData(Array.tabulate[Any](values.numElements())(i =>
      if (values.isNullAt(i)) null else convert(values.get(i, dataType))
    ))
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

package io.github.dynamickafka.format.json

import com.fasterxml.jackson.core.JsonToken.{
  VALUE_FALSE,
  VALUE_NUMBER_FLOAT,
  VALUE_NUMBER_INT,
  VALUE_STRING,
  VALUE_TRUE
}
import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.types.{
  BooleanType,
  ByteType,
  DataType,
  DateType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  ShortType,
  StringType,
  TimestampType,
  VariantType
}

import io.github.dynamickafka.format.DecodedValues

/**
 * A wanted column.
 *
 * @param index in [[DecodedValues]]
 * @param bit its place among the wanted columns
 * @param convert Spark's converter of the type
 * @param longest the most bytes of a value that is read without Jackson's parser
 * @param isIso whether dates and timestamps have the form that Spark reads without a pattern
 */
private[format] final case class JsonColumn(
    name: String,
    dataType: DataType,
    index: Int,
    bit: Int,
    convert: JsonParser => AnyRef,
    longest: Int,
    isIso: Boolean
)

/**
 * Reads the value of one column. The current token is the first one of the value, and the last one afterwards. What is not as
 * expected is left to Spark's converter of the type, which throws if the value does not fit.
 */
private[format] abstract class JsonField(val column: JsonColumn) {
  protected final val at: Int = column.index

  /** Whether a null is a value: VARIANT has one. */
  final val readsNull: Boolean = column.dataType == VariantType

  def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit

  /**
   * Reads a value without a parser, if it is as most values of the type are.
   *
   * @return the index after the value; -1 if it is not such a value
   */
  def plain(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
    val after = value(bytes, from, end, into)
    if (after - from <= column.longest) after else -1
  }

  protected def value(
      @annotation.unused bytes: Array[Byte],
      @annotation.unused from: Int,
      @annotation.unused end: Int,
      @annotation.unused into: DecodedValues
  ): Int = -1

  protected final def other(parser: RecordParser, into: DecodedValues): Unit =
    into.setAny(at, column.convert(parser))
}

private[format] object JsonField {

  def apply(column: JsonColumn): JsonField = column.dataType match {
    case _: StringType => new Text(column)
    case ByteType => new Bytes(column)
    case ShortType => new Shorts(column)
    case IntegerType => new Ints(column)
    case LongType => new Longs(column)
    case FloatType => new Floats(column)
    case DoubleType => new Doubles(column)
    case BooleanType => new Booleans(column)
    case DateType if column.isIso => new Dates(column)
    case TimestampType if column.isIso => new Timestamps(column)
    case _ => new Other(column)
  }

  private def isNumber(token: JsonToken) = (token eq VALUE_NUMBER_FLOAT) || (token eq VALUE_NUMBER_INT)

  private final class Text(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_STRING) into.setObject(at, parser.utf8) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.text(bytes, from, end, at, into)
  }

  private final class Bytes(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_NUMBER_INT) into.setLong(at, parser.getByteValue.toLong) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.integer(bytes, from, end, Byte.MinValue.toLong, Byte.MaxValue.toLong, at, into)
  }

  private final class Shorts(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_NUMBER_INT) into.setLong(at, parser.getShortValue.toLong) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.integer(bytes, from, end, Short.MinValue.toLong, Short.MaxValue.toLong, at, into)
  }

  private final class Ints(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_NUMBER_INT) into.setLong(at, parser.getIntValue.toLong) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.integer(bytes, from, end, Int.MinValue.toLong, Int.MaxValue.toLong, at, into)
  }

  private final class Longs(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_NUMBER_INT) into.setLong(at, parser.getLongValue) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.integer(bytes, from, end, Long.MinValue, Long.MaxValue, at, into)
  }

  private final class Floats(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (isNumber(token)) into.setFloat(at, parser.getFloatValue) else other(parser, into)
  }

  private final class Doubles(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (isNumber(token)) into.setDouble(at, parser.getDoubleValue) else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.double(bytes, from, end, at, into)
  }

  private final class Booleans(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_TRUE) into.setBoolean(at, true)
      else if (token eq VALUE_FALSE) into.setBoolean(at, false)
      else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.boolean(bytes, from, end, at, into)
  }

  private final class Dates(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit = other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.date(bytes, from, end, at, into)
  }

  private final class Timestamps(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit = other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      PlainValue.timestamp(bytes, from, end, at, into)
  }

  private final class Other(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit = other(parser, into)
  }
}

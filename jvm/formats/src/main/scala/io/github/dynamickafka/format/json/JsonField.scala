package io.github.dynamickafka.format.json

import java.time.LocalDate

import scala.annotation.unused

import com.fasterxml.jackson.core.JsonToken.{
  VALUE_FALSE,
  VALUE_NUMBER_FLOAT,
  VALUE_NUMBER_INT,
  VALUE_STRING,
  VALUE_TRUE
}
import com.fasterxml.jackson.core.{JsonParser, JsonToken}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

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
private[format] class JsonField(val column: JsonColumn) {
  protected final val at: Int = column.index

  /** Whether a null is a value: VARIANT has one. */
  final val readsNull: Boolean = column.dataType == VariantType

  def read(parser: RecordParser, @unused token: JsonToken, into: DecodedValues): Unit = other(parser, into)

  /**
   * Reads a value from the bytes of a record without a parser: only what is certainly valid, whatever the options, and has one meaning.
   *
   * @return the index after the value; -1 if there is something else, which is Jackson's and Spark's
   */
  def plain(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
    val after = value(bytes, from, end, into)
    if (after - from <= column.longest) after else -1
  }

  @unused protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = -1

  protected final def other(parser: RecordParser, into: DecodedValues): Unit =
    into.setAny(at, column.convert(parser))
}

private[format] object JsonField {
  import PlainValue._

  def apply(column: JsonColumn): JsonField = column.dataType match {
    case _: StringType => new Text(column)
    case ByteType => new Integers(column, Byte.MinValue.toLong, Byte.MaxValue.toLong)
    case ShortType => new Integers(column, Short.MinValue.toLong, Short.MaxValue.toLong)
    case IntegerType => new Integers(column, Int.MinValue.toLong, Int.MaxValue.toLong)
    case LongType => new Integers(column, Long.MinValue, Long.MaxValue)
    case FloatType => new Floats(column)
    case DoubleType => new Doubles(column)
    case BooleanType => new Booleans(column)
    case DateType if column.isIso => new Dates(column)
    case TimestampType if column.isIso => new Timestamps(column)
    case _ => new JsonField(column)
  }

  private def isNumber(token: JsonToken) = (token eq VALUE_NUMBER_FLOAT) || (token eq VALUE_NUMBER_INT)

  private final class Text(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_STRING) into.setObject(at, parser.utf8) else other(parser, into)

    /** A string without escapes, which refers to the bytes of the record. */
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      if (bytes(from) != '"') -1
      else {
        val after = JsonSkip.string(bytes, from + 1, end)
        if (after >= 0)
          into.setObject(
            at,
            UTF8String.fromAddress(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + from + 1, after - from - 2)
          )
        after
      }
  }

  private final class Integers(column: JsonColumn, least: Long, most: Long) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if ((token eq VALUE_NUMBER_INT) && isWithin(parser.getLongValue)) into.setLong(at, parser.getLongValue)
      else other(parser, into)
    private def isWithin(number: Long) = number >= least && number <= most

    /** At most 18 digits. */
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
      val isNegative = bytes(from) == '-'
      val first = if (isNegative) from + 1 else from
      val after = JsonSkip.digits(bytes, first, end)
      if (!isWhole(bytes, first, after, MostDigits) || !isEnd(bytes, after, end)) -1
      else {
        val value = if (isNegative) -number(bytes, first, after) else number(bytes, first, after)
        if (value < least || value > most) -1
        else {
          into.setLong(at, value)
          after
        }
      }
    }
  }

  private final class Floats(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (isNumber(token)) into.setFloat(at, parser.getFloatValue) else other(parser, into)
  }

  private final class Doubles(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (isNumber(token)) into.setDouble(at, parser.getDoubleValue) else other(parser, into)

    /** A number without an exponent. */
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
      val isNegative = bytes(from) == '-'
      val first = if (isNegative) from + 1 else from
      val point = JsonSkip.digits(bytes, first, end)
      val hasFraction = point < end && bytes(point) == '.'
      val after = if (hasFraction) JsonSkip.digits(bytes, point + 1, end) else point
      if (
        !isWhole(bytes, first, point, MostDigits) || (hasFraction && after == point + 1) || !isEnd(
          bytes,
          after,
          end
        )
      ) -1
      else if (after - first <= ExactDigits) {
        // Both are exact, so that the quotient is the double next to the number, as if it was parsed.
        val digits =
          if (hasFraction)
            number(bytes, first, point) * Powers(after - point - 1) + number(bytes, point + 1, after)
          else number(bytes, first, after)
        if (isNegative && digits == 0L) -1
        else {
          val value =
            if (hasFraction) digits.toDouble / Powers(after - point - 1).toDouble else digits.toDouble
          into.setDouble(at, if (isNegative) -value else value)
          after
        }
      } else if (hasFraction) {
        into.setDouble(at, java.lang.Double.parseDouble(ascii(bytes, from, after)))
        after
      } else -1
    }
  }

  private final class Booleans(column: JsonColumn) extends JsonField(column) {
    override def read(parser: RecordParser, token: JsonToken, into: DecodedValues): Unit =
      if (token eq VALUE_TRUE) into.setBoolean(at, true)
      else if (token eq VALUE_FALSE) into.setBoolean(at, false)
      else other(parser, into)
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
      val isTrue = bytes(from) == 't'
      val after = JsonSkip.literal(bytes, from, end, if (isTrue) JsonSkip.True else JsonSkip.False)
      if (after >= 0) into.setBoolean(at, isTrue)
      after
    }
  }

  private final class Dates(column: JsonColumn) extends JsonField(column) {

    /** `"2026-11-23"`. */
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int = {
      val after = from + 12
      if (after > end || bytes(from) != '"' || bytes(after - 1) != '"') -1
      else {
        val day = epochDay(bytes, from + 1)
        if (day == NoDay) -1
        else {
          into.setLong(at, day)
          after
        }
      }
    }
  }

  private final class Timestamps(column: JsonColumn) extends JsonField(column) {

    /** `"2026-11-23T01:02:03Z"`, also with a space instead of the T, and up to six digits of a second. */
    override protected def value(bytes: Array[Byte], from: Int, end: Int, into: DecodedValues): Int =
      if (end - from < 22 || bytes(from) != '"' || (bytes(from + 11) != 'T' && bytes(from + 11) != ' ')) -1
      else {
        val day = epochDay(bytes, from + 1)
        val hour = two(bytes, from + 12, ':')
        val minute = two(bytes, from + 15, ':')
        val second = two(bytes, from + 18)
        val hasFraction = bytes(from + 20) == '.'
        val zone = if (hasFraction) JsonSkip.digits(bytes, from + 21, end) else from + 20
        val places = if (hasFraction) zone - from - 21 else 0
        if (
          day == NoDay || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
          (hasFraction && places == 0) || places > 6 || zone + 1 >= end || bytes(zone) != 'Z' || bytes(
            zone + 1
          ) != '"'
        ) -1
        else {
          val fraction = if (hasFraction) number(bytes, from + 21, zone) * Powers(6 - places) else 0L
          into.setLong(at, ((day * 24 + hour) * 60 + minute) * 60000000L + second * 1000000L + fraction)
          zone + 2
        }
      }
  }
}

/** What values consist of that are read without Jackson's parser. */
private object PlainValue {

  /** `yyyy-MM-dd`, of years from 1000 on. */
  def epochDay(bytes: Array[Byte], at: Int): Long = {
    val century = two(bytes, at)
    val year = two(bytes, at + 2, '-')
    val month = two(bytes, at + 5, '-')
    val day = two(bytes, at + 8)
    if (century < 10 || year < 0 || month < 1 || month > 12 || day < 1 || day > 31) NoDay
    else {
      val whole = century * 100 + year
      if (day > 28 && day > java.time.YearMonth.of(whole, month).lengthOfMonth) NoDay
      else LocalDate.of(whole, month, day).toEpochDay
    }
  }

  /** Two digits, or -1. */
  def two(bytes: Array[Byte], at: Int): Int = {
    val high = bytes(at) - '0'
    val low = bytes(at + 1) - '0'
    if (high < 0 || high > 9 || low < 0 || low > 9) -1 else high * 10 + low
  }

  /** Two digits that this character follows, or -1. */
  def two(bytes: Array[Byte], at: Int, next: Char): Int =
    if (bytes(at + 2) == next) two(bytes, at) else -1

  def isWhole(bytes: Array[Byte], from: Int, after: Int, most: Int): Boolean = {
    val digits = after - from
    digits == 1 || (digits > 1 && digits <= most && bytes(from) != '0')
  }

  def isEnd(bytes: Array[Byte], at: Int, end: Int): Boolean =
    at < end && (bytes(at) == ',' || bytes(at) == '}')

  def number(bytes: Array[Byte], from: Int, after: Int): Long = {
    var value = 0L
    var at = from
    while (at < after) {
      value = value * 10 + (bytes(at) - '0')
      at += 1
    }
    value
  }

  def ascii(bytes: Array[Byte], from: Int, after: Int): String =
    new String(bytes, from, after - from, java.nio.charset.StandardCharsets.ISO_8859_1)

  final val NoDay = Long.MinValue
  final val MostDigits = 18

  /** Counted with the point: an integer of 15 digits is a double without rounding. */
  final val ExactDigits = 16
  val Powers: Array[Long] = Array.iterate(1L, ExactDigits)(_ * 10)
}

package io.github.dynamickafka.format.json

import java.time.LocalDate

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.format.DecodedValues

/**
 * Reads values of columns from the bytes of a record, without Jackson's parser: only what is certainly valid, whatever the options, and
 * has one meaning. Each method returns the index after the value, or -1 if there is something else, which is Jackson's and Spark's.
 */
private[format] object PlainValue {

  /** A string without escapes, which refers to the bytes of the record. */
  def text(bytes: Array[Byte], at: Int, end: Int, column: Int, into: DecodedValues): Int =
    if (bytes(at) != '"') -1
    else {
      val after = JsonSkip.string(bytes, at + 1, end)
      if (after >= 0)
        into.setObject(
          column,
          UTF8String.fromAddress(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at + 1, after - at - 2)
        )
      after
    }

  /** An integer between two limits, of at most 18 digits. */
  def integer(
      bytes: Array[Byte],
      at: Int,
      end: Int,
      least: Long,
      most: Long,
      column: Int,
      into: DecodedValues
  ): Int = {
    val isNegative = bytes(at) == '-'
    val first = if (isNegative) at + 1 else at
    val after = JsonSkip.digits(bytes, first, end)
    if (!isWhole(bytes, first, after, MostDigits) || !isEnd(bytes, after, end)) -1
    else {
      val value = if (isNegative) -number(bytes, first, after) else number(bytes, first, after)
      if (value < least || value > most) -1
      else {
        into.setLong(column, value)
        after
      }
    }
  }

  /** A number without an exponent. */
  def double(bytes: Array[Byte], at: Int, end: Int, column: Int, into: DecodedValues): Int = {
    val isNegative = bytes(at) == '-'
    val first = if (isNegative) at + 1 else at
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
        val value = if (hasFraction) digits.toDouble / Powers(after - point - 1).toDouble else digits.toDouble
        into.setDouble(column, if (isNegative) -value else value)
        after
      }
    } else if (hasFraction) {
      into.setDouble(column, java.lang.Double.parseDouble(ascii(bytes, at, after)))
      after
    } else -1
  }

  /** `true` or `false`. */
  def boolean(bytes: Array[Byte], at: Int, end: Int, column: Int, into: DecodedValues): Int = {
    val isTrue = bytes(at) == 't'
    val after = JsonSkip.literal(bytes, at, end, if (isTrue) JsonSkip.True else JsonSkip.False)
    if (after >= 0) into.setBoolean(column, isTrue)
    after
  }

  /** `"2026-11-23"`. */
  def date(bytes: Array[Byte], at: Int, end: Int, column: Int, into: DecodedValues): Int = {
    val after = at + 12
    if (after > end || bytes(at) != '"' || bytes(after - 1) != '"') -1
    else {
      val day = epochDay(bytes, at + 1)
      if (day == NoDay) -1
      else {
        into.setLong(column, day)
        after
      }
    }
  }

  /** `"2026-11-23T01:02:03Z"`, also with a space instead of the T, and up to six digits of a second. */
  def timestamp(bytes: Array[Byte], at: Int, end: Int, column: Int, into: DecodedValues): Int =
    if (end - at < 22 || bytes(at) != '"' || (bytes(at + 11) != 'T' && bytes(at + 11) != ' ')) -1
    else {
      val day = epochDay(bytes, at + 1)
      val hour = two(bytes, at + 12, ':')
      val minute = two(bytes, at + 15, ':')
      val second = two(bytes, at + 18)
      val hasFraction = bytes(at + 20) == '.'
      val zone = if (hasFraction) JsonSkip.digits(bytes, at + 21, end) else at + 20
      val places = if (hasFraction) zone - at - 21 else 0
      if (
        day == NoDay || hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 || second > 59 ||
        (hasFraction && places == 0) || places > 6 || zone + 1 >= end || bytes(zone) != 'Z' || bytes(
          zone + 1
        ) != '"'
      ) -1
      else {
        val fraction = if (hasFraction) number(bytes, at + 21, zone) * Powers(6 - places) else 0L
        into.setLong(column, ((day * 24 + hour) * 60 + minute) * 60000000L + second * 1000000L + fraction)
        zone + 2
      }
    }

  /** `yyyy-MM-dd`, of years from 1000 on. */
  private def epochDay(bytes: Array[Byte], at: Int): Long = {
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
  private def two(bytes: Array[Byte], at: Int): Int = {
    val high = bytes(at) - '0'
    val low = bytes(at + 1) - '0'
    if (high < 0 || high > 9 || low < 0 || low > 9) -1 else high * 10 + low
  }

  /** Two digits that this character follows, or -1. */
  private def two(bytes: Array[Byte], at: Int, next: Char): Int =
    if (bytes(at + 2) == next) two(bytes, at) else -1

  private def isWhole(bytes: Array[Byte], from: Int, after: Int, most: Int): Boolean = {
    val digits = after - from
    digits == 1 || (digits > 1 && digits <= most && bytes(from) != '0')
  }

  private def isEnd(bytes: Array[Byte], at: Int, end: Int): Boolean =
    at < end && (bytes(at) == ',' || bytes(at) == '}')

  private def number(bytes: Array[Byte], from: Int, after: Int): Long = {
    var value = 0L
    var at = from
    while (at < after) {
      value = value * 10 + (bytes(at) - '0')
      at += 1
    }
    value
  }

  private def ascii(bytes: Array[Byte], from: Int, after: Int): String =
    new String(bytes, from, after - from, java.nio.charset.StandardCharsets.ISO_8859_1)

  private final val NoDay = Long.MinValue
  private final val MostDigits = 18

  /** With the point: an integer of 15 digits is a double without rounding. */
  private final val ExactDigits = 16
  private val Powers: Array[Long] = Array.iterate(1L, ExactDigits)(_ * 10)
}

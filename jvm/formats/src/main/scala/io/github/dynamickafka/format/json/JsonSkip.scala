package io.github.dynamickafka.format.json

import java.nio.ByteOrder
import java.{util => ju}

import scala.annotation.tailrec

import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.UTF8String

/**
 * Finds the end of fields that no column needs, in the bytes of a record: most of the time of a record with many fields.
 * Only what is certainly valid, whatever the options, and has no nested values is recognized; the rest is Jackson's.
 */
private[format] object JsonSkip {

  /** What [[field]] compares: the name between its quotation marks, and the colon. */
  def quoted(name: Array[Byte]): Array[Byte] = ('"'.toByte +: name) ++ Array[Byte]('"', ':')

  /**
   * The index of the value of a field of this name.
   *
   * @param bytes of a record; valid UTF-8
   * @param from the index of the comma before the field, or of the opening brace
   * @param end the index after the last byte
   * @param separator the character at `from`
   * @param name [[quoted]]
   * @return -1 if there is something else
   */
  def afterName(bytes: Array[Byte], from: Int, end: Int, separator: Int, name: Array[Byte]): Int =
    // The shortest value is a digit, and one byte follows.
    if (end - from < name.length + 3 || bytes(from) != separator) -1
    else {
      val begin = afterSpace(bytes, from + 1)
      val colon = begin + name.length
      if (end - colon < 2 || !isAt(bytes, begin, name)) -1
      else afterSpace(bytes, colon)
    }

  private def afterSpace(bytes: Array[Byte], at: Int) = if (bytes(at) == ' ') at + 1 else at

  /**
   * The index after a value that is not needed.
   *
   * @param longestNumber the most characters of a number, `maxNumLen`: Jackson refuses longer ones also where it skips them
   * @return -1 if there is something else
   */
  def value(bytes: Array[Byte], at: Int, end: Int, longestNumber: Int): Int = bytes(at) match {
    case '"' => string(bytes, at + 1, end)
    case 't' => literal(bytes, at, end, True)
    case 'f' => literal(bytes, at, end, False)
    case 'n' => literal(bytes, at, end, Null)
    case _ =>
      val after = number(bytes, if (bytes(at) == '-') at + 1 else at, end)
      if (after - at <= longestNumber) after else -1
  }

  /** Up to the quotation mark; no escapes and no control characters, which are errors, or allowed by an option. */
  @tailrec
  def string(bytes: Array[Byte], at: Int, end: Int): Int =
    if (end - at >= 8) {
      val special = specialsOf(word(bytes, at))
      if (special == 0L) string(bytes, at + 8, end)
      else {
        val first = at + (java.lang.Long.numberOfTrailingZeros(special) >>> 3)
        if (bytes(first) == '"') first + 1 else -1
      }
    } else if (at < end && isPlain(bytes(at))) string(bytes, at + 1, end)
    else if (at < end && bytes(at) == '"') at + 1
    else -1

  /** The highest bit of each byte that is a quotation mark, a backslash or a control character; exact up to the first one. */
  private def specialsOf(word: Long): Long =
    (((word ^ Quotes) - Ones) | ((word ^ Backslashes) - Ones) | (word - Spaces)) & ~word & HighBits

  private def isPlain(b: Byte) = b != '"' && b != '\\' && (b >= ' ' || b < 0)

  private def word(bytes: Array[Byte], at: Int): Long = {
    val found = long(bytes, at)
    if (IsLittleEndian) found else java.lang.Long.reverseBytes(found)
  }

  def literal(bytes: Array[Byte], at: Int, end: Int, text: Array[Byte]): Int = {
    // What follows is Jackson's: a comma, or an error.
    val after = at + text.length
    if (after <= end && isAt(bytes, at, text)) after else -1
  }

  /** Whether the text is there. By words, the last of which overlap: most texts are too short for a call of `Arrays.equals`. */
  private def isAt(bytes: Array[Byte], at: Int, text: Array[Byte]): Boolean = {
    val length = text.length
    if (length >= 8) {
      val last = length - 8
      var i = 0
      while (i < last && long(bytes, at + i) == long(text, i)) i += 8
      i >= last && long(bytes, at + last) == long(text, last)
    } else if (length >= 4) {
      val last = length - 4
      int(bytes, at) == int(text, 0) && int(bytes, at + last) == int(text, last)
    } else ju.Arrays.equals(bytes, at, at + length, text, 0, length)
  }

  def long(bytes: Array[Byte], at: Int) =
    Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)

  private def int(bytes: Array[Byte], at: Int) =
    Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET.toLong + at)

  /** Digits, with or without a fraction. */
  private def number(bytes: Array[Byte], from: Int, end: Int): Int = {
    var at = digits(bytes, from, end)
    var valid = PlainValue.isWhole(bytes, from, at, most = Int.MaxValue)
    if (valid && at < end && bytes(at) == '.') {
      val fraction = at + 1
      at = digits(bytes, fraction, end)
      valid = at > fraction
    }
    // An exponent is Jackson's.
    if (valid && PlainValue.isEnd(bytes, at, end)) at else -1
  }

  def digits(bytes: Array[Byte], from: Int, end: Int): Int = {
    var at = from
    while (at < end && bytes(at) >= '0' && bytes(at) <= '9') at += 1
    at
  }

  val True: Array[Byte] = "true".getBytes
  val False: Array[Byte] = "false".getBytes
  val Null: Array[Byte] = "null".getBytes
  private val IsLittleEndian = ByteOrder.nativeOrder eq ByteOrder.LITTLE_ENDIAN
  private final val Ones = 0x0101010101010101L
  final val HighBits = 0x8080808080808080L
  private final val Spaces = ' ' * Ones
  private final val Quotes = '"' * Ones
  private final val Backslashes = '\\' * Ones
}

private[format] object Utf8 {

  /** Most records are ASCII, which is recognized eight bytes at a time. */
  def isValid(bytes: Array[Byte]): Boolean = isAscii(bytes) || UTF8String.fromBytes(bytes).isValid

  private def isAscii(bytes: Array[Byte]): Boolean = {
    val last = bytes.length - 8
    var i = 0
    var bits = if (last >= 0) JsonSkip.long(bytes, last) else 0L
    while (i < last) {
      bits |= JsonSkip.long(bytes, i)
      i += 8
    }
    if (last < 0) bytes.foreach(b => bits |= b.toLong)
    (bits & JsonSkip.HighBits) == 0L
  }
}

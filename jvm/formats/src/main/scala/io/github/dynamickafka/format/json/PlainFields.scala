package io.github.dynamickafka.format.json

import com.fasterxml.jackson.core.JsonFactory
import com.fasterxml.jackson.core.io.SerializedString

import io.github.dynamickafka.format.DecodedValues

/**
 * A name in objects.
 *
 * @param field null if no column has this name
 */
private[format] final class FieldName(val text: SerializedString, val field: JsonField) {
  val quoted: Array[Byte] = JsonSkip.quoted(text.asQuotedUTF8)
}

/**
 * Reads the fields of an object without Jackson's parser, as long as their names are those of the object before, in the same order, and
 * each value is one that is skipped, or as most values of its column are.
 *
 * @param factory with the limits of the options
 * @param seen receives which columns were there, by their bits; null if this is not needed
 */
private[format] final class PlainFields(factory: JsonFactory, seen: Array[Boolean]) {
  private val limits = factory.streamReadConstraints
  private val longestNumber = limits.getMaxNumberLength

  /** The name at each position of the object before: most records have the same names in the same order. */
  private val names = new Array[FieldName](if (limits.getMaxNestingDepth > 0) PlainFields.Positions else 0)

  /** The position of the next name. */
  var position = 0

  /** Whether the object has ended. */
  var isOver = false

  /** The next record begins. */
  def begin(): Unit = {
    position = 0
    isOver = false
  }

  /** The name that is expected next; null if there is none. */
  def expected: FieldName = if (position < names.length) names(position) else null

  def found(name: FieldName): Unit = if (position < names.length) names(position) = name

  /**
   * Reads what is possible.
   *
   * @param bytes valid UTF-8
   * @param from the index of the comma before the next field, or of the opening brace
   * @return the index after the last field that was read, or after the closing brace
   */
  def read(bytes: Array[Byte], from: Int, into: DecodedValues): Int = {
    val end = bytes.length
    var next = from
    var at = from
    while (next >= 0) {
      at = next
      if (position > 0 && at < end && bytes(at) == '}') {
        isOver = true
        next = -1
      } else {
        val name = expected
        val value =
          if (name eq null) -1
          else JsonSkip.afterName(bytes, at, end, if (position == 0) '{' else ',', name.quoted)
        next = if (value < 0) -1 else after(name.field, bytes, value, end, into)
        if (next >= 0) position += 1
      }
    }
    at
  }

  private def after(
      field: JsonField,
      bytes: Array[Byte],
      value: Int,
      end: Int,
      into: DecodedValues
  ): Int =
    if (field eq null) JsonSkip.value(bytes, value, end, longestNumber)
    else {
      val next =
        if (bytes(value) != 'n') field.plain(bytes, value, end, into)
        else if (field.readsNull) -1
        else JsonSkip.literal(bytes, value, end, JsonSkip.Null)
      if (next >= 0) {
        if (bytes(value) == 'n') into.setNullAt(field.column.index)
        if (seen ne null) seen(field.column.bit) = true
      }
      next
    }
}

private[format] object PlainFields {
  private val Positions = 256
}

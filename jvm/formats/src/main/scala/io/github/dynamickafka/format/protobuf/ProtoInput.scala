package io.github.dynamickafka.format.protobuf

import scala.util.control.NoStackTrace

/**
 * Reads Protobuf's wire format from an array. Every length is compared with the bytes that are left before memory is allocated
 * for it. Not thread-safe.
 */
private[dynamickafka] final class ProtoInput {
  import ProtoInput._

  private var bytes = Array.emptyByteArray
  private var at = 0
  private var limit = 0

  /** Begins with the next record. */
  def reset(record: Array[Byte], from: Int): ProtoInput = {
    bytes = record
    at = from
    limit = record.length
    this
  }

  /** Whether the record, or the message that [[enter]] began, has been read. */
  def isEnd: Boolean = at >= limit

  def position: Int = at

  /** The number of the next field and its wire type, see [[numberOf]] and [[wireOf]]. */
  def tag(): Int = {
    val tag = varint().toInt
    if (numberOf(tag) == 0) throw Malformed
    tag
  }

  def varint(): Long = {
    var n = 0L
    var shift = 0
    var more = true
    while (more) {
      if (at >= limit || shift > LastShift) throw Malformed
      val b = bytes(at)
      at += 1
      // More than 64 bits, which libraries cut off in different ways.
      if (shift == LastShift && b != 1) throw Malformed
      n |= (b & 0x7fL) << shift
      shift += 7
      more = b < 0
    }
    n
  }

  def zigZag(): Long = {
    val n = varint()
    (n >>> 1) ^ -(n & 1L)
  }

  /** A number in 32 bits, where the sign is another one if the number has more. */
  def zigZag32(): Int = {
    val n = varint().toInt
    (n >>> 1) ^ -(n & 1)
  }

  def fixed32(): Int = {
    val from = take(4)
    (bytes(from) & 0xff) | (bytes(from + 1) & 0xff) << 8 | (bytes(from + 2) & 0xff) << 16 |
      (bytes(from + 3) & 0xff) << 24
  }

  def fixed64(): Long = {
    val low = fixed32() & 0xffffffffL
    low | (fixed32() & 0xffffffffL) << 32
  }

  /** A copy of a text, of bytes or of a message. */
  def array(): Array[Byte] = {
    val length = size()
    val from = take(length)
    java.util.Arrays.copyOfRange(bytes, from, from + length)
  }

  /** Begins a message inside the message. @return what [[leave]] needs */
  def enter(): Int = {
    val length = size()
    val outer = limit
    limit = at + length
    outer
  }

  def leave(outer: Int): Unit = limit = outer

  def skip(tag: Int): Unit = skip(tag, 0)

  private def skip(tag: Int, depth: Int): Unit = wireOf(tag) match {
    case Varint =>
      val _ = varint()
    case Fixed64 =>
      val _ = take(8)
    case Bytes =>
      val _ = take(size())
    case Fixed32 =>
      val _ = take(4)
    case StartGroup if depth < MostNested =>
      var inner = this.tag()
      while (wireOf(inner) != EndGroup) {
        skip(inner, depth + 1)
        inner = this.tag()
      }
      if (numberOf(inner) != numberOf(tag)) throw Malformed
    case _ => throw Malformed
  }

  private def size(): Int = {
    val n = varint().toInt
    if (n < 0 || n > limit - at) throw Malformed
    n
  }

  /** @return where these bytes begin */
  private def take(length: Int): Int = {
    if (length > limit - at) throw Malformed
    val from = at
    at += length
    from
  }
}

private[dynamickafka] object ProtoInput {
  final val Varint = 0
  final val Fixed64 = 1
  final val Bytes = 2
  final val StartGroup = 3
  final val EndGroup = 4
  final val Fixed32 = 5

  private val LastShift = 63
  private val MostNested = 100

  def numberOf(tag: Int): Int = tag >>> 3
  def wireOf(tag: Int): Int = tag & 7

  object Malformed extends RuntimeException("not Protobuf's wire format") with NoStackTrace
}

package io.github.dynamickafka.format.avro

import java.io.IOException
import java.nio.ByteBuffer

import scala.util.control.{NoStackTrace, NonFatal}

import org.apache.avro.generic.GenericDatumReader
import org.apache.avro.io.Decoder
import org.apache.avro.util.Utf8
import org.apache.avro.{AvroTypeException, Schema}

import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, RecordBody, SideLayout}

/**
 * Decodes the records of one Avro schema. Not thread-safe.
 *
 * @param writer the schema that the records were written with
 * @param reader the schema to read them with; the same as `writer`, or Avro resolves one to the other
 * @param show shows a record of the reader's schema in values that are clear
 */
private[format] final class AvroBody(writer: Schema, reader: Schema, show: (Any, DecodedValues) => Unit)
    extends RecordBody {
  private val datums = new GenericDatumReader[Any](writer, reader)
  private val in = new AvroBytes
  private var record: Any = _

  override def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      in.reset(bytes, from)
      record = datums.read(record, in)
      if (!in.isEnd) DecodeFailure("bytes are left after the record")
      else {
        show(record, into)
        null
      }
    } catch {
      case _: AvroTypeException =>
        bad(into, "the schema it was written with cannot be resolved to that of the query")
      case e: AvroMismatch => bad(into, e.getMessage)
      case _: ArithmeticException => bad(into, "a number or time is too large for its column")
      case NonFatal(_) => bad(into, "it is not an Avro record of the schema")
      // A schema that contains itself, in a record that is nested too deeply.
      case _: StackOverflowError => bad(into, "it is nested too deeply")
    }
  }

  private def bad(into: DecodedValues, reason: String): DecodeFailure = {
    // The record's state is unknown.
    record = null
    into.clear()
    DecodeFailure(reason)
  }
}

private[format] object AvroBody {

  /** A body with the fields of the reader's schema as columns, by Spark's conversion. */
  def apply(writer: Schema, reader: Schema, side: SideLayout): AvroBody = {
    val wanted = side.wanted.toArray
    val wantedSchema = side.wantedSchema
    val toRow = AvroRows(reader, wantedSchema, side.format.options)
    new AvroBody(writer, reader, (record, into) => into.setAll(wanted, toRow(record), wantedSchema))
  }
}

/**
 * Reads Avro's binary encoding from an array. Unlike Avro's own decoder, it compares every length with the bytes that are left
 * before memory is allocated for it: a corrupt record cannot exhaust the memory of an executor. Not thread-safe.
 */
private[format] final class AvroBytes extends Decoder {
  import AvroBytes._

  private var bytes = Array.emptyByteArray
  private var at = 0
  private var items = 0L

  /** Begins with the next record. */
  def reset(record: Array[Byte], from: Int): Unit = {
    bytes = record
    at = from
    items = record.length.toLong + MostEmptyItems
  }

  def isEnd: Boolean = at == bytes.length

  override def readNull(): Unit = ()

  override def readBoolean(): Boolean = bytes(take(1)) match {
    case 0 => false
    case 1 => true
    case _ => throw Malformed
  }

  override def readInt(): Int = {
    val n = readLong()
    if (n < Int.MinValue || n > Int.MaxValue) throw Malformed
    n.toInt
  }

  override def readLong(): Long = {
    var n = 0L
    var shift = 0
    var more = true
    while (more) {
      if (at >= bytes.length || shift > LastShift) throw Malformed
      val b = bytes(at)
      at += 1
      n |= (b & 0x7fL) << shift
      shift += 7
      more = b < 0
    }
    (n >>> 1) ^ -(n & 1L)
  }

  override def readFloat(): Float = java.lang.Float.intBitsToFloat(little(take(4)))

  override def readDouble(): Double = {
    val from = take(8)
    java.lang.Double.longBitsToDouble((little(from) & 0xffffffffL) | (little(from + 4).toLong << 32))
  }

  private def little(from: Int): Int =
    (bytes(from) & 0xff) | (bytes(from + 1) & 0xff) << 8 | (bytes(from + 2) & 0xff) << 16 | bytes(
      from + 3
    ) << 24

  override def readString(old: Utf8): Utf8 = {
    val length = size()
    val from = take(length)
    val text = if (old == null) new Utf8 else old
    text.setByteLength(length)
    System.arraycopy(bytes, from, text.getBytes, 0, length)
    text
  }

  override def readString(): String = readString(null).toString
  override def skipString(): Unit = skipBytes()

  override def readBytes(old: ByteBuffer): ByteBuffer = {
    val length = size()
    val from = take(length)
    val into = if (old != null && old.capacity >= length) old.clear() else ByteBuffer.allocate(length)
    into.put(bytes, from, length).flip()
  }

  override def skipBytes(): Unit = skipFixed(size())

  override def readFixed(into: Array[Byte], start: Int, length: Int): Unit =
    System.arraycopy(bytes, take(length), into, start, length)

  override def skipFixed(length: Int): Unit = {
    val _ = take(length)
  }

  override def readEnum(): Int = readInt()
  override def readIndex(): Int = readInt()
  override def readArrayStart(): Long = block()
  override def arrayNext(): Long = block()
  override def readMapStart(): Long = block()
  override def mapNext(): Long = block()
  override def skipArray(): Long = skipBlocks()
  override def skipMap(): Long = skipBlocks()

  private def block(): Long = {
    val n = readLong()
    if (n < 0) {
      val _ = size()
    }
    counted(if (n < 0) -n else n)
  }

  /** Skips the blocks whose length in bytes is known. */
  private def skipBlocks(): Long = {
    var n = readLong()
    while (n < 0) {
      skipFixed(size())
      n = readLong()
    }
    counted(n)
  }

  /** Only items of no bytes can be more than the bytes of the record. */
  private def counted(n: Long): Long = {
    items -= n
    if (n < 0 || items < 0) throw Malformed
    n
  }

  private def size(): Int = {
    val n = readLong()
    if (n < 0 || n > bytes.length - at) throw Malformed
    n.toInt
  }

  /** @return where these bytes begin */
  private def take(length: Int): Int = {
    if (length < 0 || length > bytes.length - at) throw Malformed
    val from = at
    at += length
    from
  }
}

private[format] object AvroBytes {
  private val LastShift = 63
  private val MostEmptyItems = 65536L

  private object Malformed extends IOException("not Avro's binary encoding") with NoStackTrace
}

package io.github.dynamickafka.format.protobuf

import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.{DecodeFailure, DecodedValues, Decoder, SideLayout}
import io.github.dynamickafka.protobuf.{ProtoInput, ProtoMessage, ProtoTypes}

/** Decodes messages of a descriptor file, with the results of Spark's `from_protobuf`. */
private[format] final class ProtobufDecoder(side: SideLayout) extends Decoder {
  private val body = {
    val (message, types) = ProtobufSchemas.ofFile(side.format).fold(
      reason => throw new IllegalArgumentException(reason),
      identity
    )
    new ProtobufBody(message, types, side, strict = true)
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = body.decode(bytes, 0, into)
}

/**
 * Decodes the messages of one type into columns. Not thread-safe.
 *
 * @param strict whether the message has to have each column; otherwise a column that it does not have is null
 */
private[format] final class ProtobufBody(
    message: ProtoMessage,
    types: ProtoTypes,
    side: SideLayout,
    strict: Boolean
) {
  private val wanted: Array[Int] = side.wanted.toArray
  private val options = ProtobufOptions.of(side.format.options)
  private val reader =
    new MessageReader(message, types, StructType(wanted.map(side.schema(_))), options.emitDefaults, strict)
  private val in = new ProtoInput

  /** @param from where the message begins */
  def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      val read = new Array[Any](wanted.length)
      reader.read(in.reset(bytes, from), 0, read)
      val made = reader.made(read)
      var i = 0
      while (i < wanted.length) {
        into.setAny(wanted(i), made(i))
        i += 1
      }
      null
    } catch {
      case MessageMismatch(field, reason) => bad(into, reason, Some(field))
      case NonFatal(_) => bad(into, s"it is not a message '${message.name}'", None)
    }
  }

  private def bad(into: DecodedValues, reason: String, field: Option[String]) = {
    into.clear()
    DecodeFailure(reason, field, unparsable = true)
  }
}

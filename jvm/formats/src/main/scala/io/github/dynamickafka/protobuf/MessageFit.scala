package io.github.dynamickafka.protobuf

import java.nio.ByteBuffer
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.control.NonFatal

/**
 * Whether bytes can be a message that was written with exactly this schema: each field is one of the message, in its encoding, and
 * none that is required is missing. Pure.
 */
private[dynamickafka] final class MessageFit(message: ProtoMessage, types: ProtoTypes) {

  /** @param from where the message begins */
  def fits(bytes: Array[Byte], from: Int): Boolean =
    try fits(message, new ProtoInput().reset(bytes, from), group = 0, depth = 0)
    catch { case NonFatal(_) => false }

  private def fits(message: ProtoMessage, in: ProtoInput, group: Int, depth: Int): Boolean = {
    var missing = message.fields.collect { case f if f.required => f.number }.toSet
    var isFit = depth < MessageFit.MostNested
    var isOpen = group != 0
    while (isFit && (isOpen || (group == 0 && !in.isEnd))) {
      val tag = in.tag()
      val number = ProtoInput.numberOf(tag)
      if (group != 0 && ProtoInput.wireOf(tag) == ProtoInput.EndGroup) {
        isFit = number == group
        isOpen = false
      } else {
        missing -= number
        isFit = message.field(number).exists(fits(_, tag, in, depth))
      }
    }
    isFit && missing.isEmpty
  }

  private def fits(field: ProtoField, tag: Int, in: ProtoInput, depth: Int): Boolean = {
    val wire = ProtoInput.wireOf(tag)
    val expected = FieldKind.wire(field.kind, field.isDelimited)
    if (field.kind == 0) false
    else if (wire == ProtoInput.Bytes && field.repeated && FieldKind.isPackable(field.kind)) {
      val outer = in.enter()
      while (!in.isEnd) in.skip(expected)
      in.leave(outer)
      true
    } else if (wire != expected) false
    else if (field.isDelimited) fits(types.messages(field.typeName), in, field.number, depth + 1)
    else if (field.kind == FieldKind.Message) {
      val outer = in.enter()
      val isFit = fits(types.messages(field.typeName), in, 0, depth + 1)
      in.leave(outer)
      isFit
    } else if (field.kind == FieldKind.Text && field.requiresUtf8) {
      // Throws if it is not UTF-8.
      val _ = UTF_8.newDecoder().decode(ByteBuffer.wrap(in.array()))
      true
    } else {
      in.skip(tag)
      true
    }
  }
}

private object MessageFit {

  /** As deep as Protobuf's libraries read. */
  private val MostNested = 100
}

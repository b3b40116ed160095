package io.github.dynamickafka.format.protobuf

import scala.jdk.CollectionConverters._

import com.google.protobuf.Descriptors.{Descriptor, EnumValueDescriptor, FieldDescriptor}
import com.google.protobuf.{ByteString, DynamicMessage, Message}
import org.apache.spark.sql.Row

/**
 * Converts messages of Java's library to rows by the rules of Spark's `from_protobuf`, whose jar is not published everywhere: a
 * field that is repeated, in the record, or has a default is its value, and every other one is null.
 */
final class JavaProtobuf(message: Descriptor, emitDefaults: Boolean) {

  def row(bytes: Array[Byte]): Row = row(DynamicMessage.parseFrom(message, bytes))

  private def row(of: Message): Row =
    Row.fromSeq(of.getDescriptorForType.getFields.asScala.toSeq.map { field =>
      val counts = field.isRepeated || of.hasField(field) || field.hasDefaultValue ||
        (emitDefaults && !field.hasPresence)
      if (counts) column(field, of.getField(field)) else null
    })

  private def column(field: FieldDescriptor, value: Any): Any = value match {
    case entries: java.util.List[_] if field.isMapField =>
      val (key, content) =
        (field.getMessageType.findFieldByNumber(1), field.getMessageType.findFieldByNumber(2))
      entries.asScala.map(_.asInstanceOf[Message]).map(entry =>
        single(entry.getField(key)) -> single(entry.getField(content))
      ).toMap
    case all: java.util.List[_] => all.asScala.toSeq.map(single)
    case one => single(one)
  }

  private def single(value: Any): Any = value match {
    case bytes: ByteString => bytes.toByteArray
    case choice: EnumValueDescriptor => choice.getName
    case inner: Message => row(inner)
    case other => other
  }
}

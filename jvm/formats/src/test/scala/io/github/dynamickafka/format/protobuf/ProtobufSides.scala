package io.github.dynamickafka.format.protobuf

import scala.collection.immutable.ArraySeq

import com.google.protobuf.DescriptorProtos.{FileDescriptorProto, FileDescriptorSet}
import com.google.protobuf.Descriptors.FileDescriptor
import com.google.protobuf.{DynamicMessage, Message, TextFormat}

import io.github.dynamickafka.format.table.ParsedFormats
import io.github.dynamickafka.format.{DeclaredSchema, SideLayout}

/** The values' side of a table with Protobuf, described and written by Java's own library. */
object ProtobufSides {

  /** @param text of a `FileDescriptorProto`, in Protobuf's text format */
  def file(text: String, imports: FileDescriptor*): FileDescriptor = {
    val proto = FileDescriptorProto.newBuilder()
    TextFormat.merge(text, proto)
    imports.foreach(f => proto.addDependency(f.getName))
    FileDescriptor.buildFrom(proto.build(), imports.toArray)
  }

  def set(files: FileDescriptor*): Array[Byte] = {
    val all = FileDescriptorSet.newBuilder()
    files.foreach(f => all.addFile(f.toProto))
    all.build().toByteArray
  }

  /** @param schema DDL, or empty: the columns of the message */
  def side(set: Array[Byte], message: String, schema: String, options: (String, String)*): SideLayout = {
    val named =
      Seq("format" -> "protobuf", "protobuf.messageName" -> message, "protobuf.descriptorFile" -> "x")
    val declared = if (schema.isEmpty) Nil else Seq("schema" -> schema)
    val parsed = ParsedFormats.read(named ++ declared ++ options: _*)
    val value = parsed.value.copy(descriptor = Some(ArraySeq.unsafeWrapArray(set)))
    val columns = parsed.schema.getOrElse(DeclaredSchema(
      ProtobufSchemas.columnsOfFile(value).fold(
        reason => throw new IllegalArgumentException(reason),
        _.toNullable
      )
    ))
    parsed.copy(value = value, schema = Some(columns)).layout(None, includeHeaders = false).value
  }

  def message(file: FileDescriptor, name: String, text: String): Message = {
    val made = DynamicMessage.newBuilder(file.findMessageTypeByName(name))
    TextFormat.merge(text, made)
    made.buildPartial()
  }
}

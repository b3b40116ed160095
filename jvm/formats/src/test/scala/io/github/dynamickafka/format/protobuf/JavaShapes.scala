package io.github.dynamickafka.format.protobuf

import java.{lang => jl}

import scala.jdk.CollectionConverters._

import com.google.protobuf.ByteString
import com.google.protobuf.Descriptors.{Descriptor, EnumDescriptor, EnumValueDescriptor, FieldDescriptor}

/** What is known of the fields of a message, by Java's library and by [[ProtoTypes]], in a form that can be compared. */
object JavaShapes {

  /** @param oneof the names of the fields in the oneof that it is in */
  final case class Field(
      name: String,
      number: Int,
      kind: Int,
      typeName: String,
      repeated: Boolean,
      required: Boolean,
      oneof: Seq[String],
      hasPresence: Boolean,
      default: Option[String],
      requiresUtf8: Boolean,
      isDelimited: Boolean
  )

  def of(message: Descriptor): Seq[Field] = message.getFields.asScala.toSeq.map { f =>
    val kind = f.toProto.getType.getNumber
    val typeName = f.getJavaType match {
      case FieldDescriptor.JavaType.MESSAGE => f.getMessageType.getFullName
      case FieldDescriptor.JavaType.ENUM => f.getEnumType.getFullName
      case _ => ""
    }
    val isText = kind == FieldKind.Text
    Field(
      f.getName,
      f.getNumber,
      if (kind == FieldKind.Group) FieldKind.Message else kind,
      typeName,
      f.isRepeated,
      f.isRequired,
      Option(f.getRealContainingOneof).toSeq.flatMap(_.getFields.asScala.map(_.getName)),
      f.hasPresence,
      Option.when(f.hasDefaultValue)(text(f.getDefaultValue, kind)),
      isText && f.needsUtf8Check,
      f.getType == FieldDescriptor.Type.GROUP
    )
  }

  def of(message: ProtoMessage): Seq[Field] = message.fields.map { f =>
    val oneof = if (f.oneof < 0) Nil else message.fields.filter(_.oneof == f.oneof).map(_.name)
    Field(
      f.name,
      f.number,
      if (f.kind == FieldKind.Group) FieldKind.Message else f.kind,
      f.typeName,
      f.repeated,
      f.required,
      oneof,
      f.hasPresence,
      f.default.map(canonical(_, f.kind)),
      f.kind == FieldKind.Text && f.requiresUtf8,
      f.isDelimited
    )
  }

  def of(choices: EnumDescriptor): ProtoEnum = ProtoEnum(
    choices.getFullName,
    choices.getValues.asScala.toSeq.map(v => v.getName -> v.getNumber),
    choices.isClosed
  )

  private def text(value: Any, kind: Int): String = (value, kind) match {
    case (n: Int, FieldKind.UInt32 | FieldKind.Fixed32) => jl.Integer.toUnsignedString(n)
    case (n: Long, FieldKind.UInt64 | FieldKind.Fixed64) => jl.Long.toUnsignedString(n)
    case (bytes: ByteString, _) => bytes.toByteArray.mkString(",")
    case (choice: EnumValueDescriptor, _) => choice.getName
    case (other, _) => other.toString
  }

  private def canonical(text: String, kind: Int): String = {
    def double = text match {
      case "inf" => Double.PositiveInfinity
      case "-inf" => Double.NegativeInfinity
      case "nan" => Double.NaN
      case number => number.toDouble
    }
    kind match {
      case FieldKind.Double => double.toString
      case FieldKind.Float => double.toFloat.toString
      case FieldKind.Bytes => ProtoTokens.unescaped(text).mkString(",")
      case _ => text
    }
  }
}

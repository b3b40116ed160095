package io.github.dynamickafka.format.protobuf

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import com.google.protobuf.DescriptorProtos.{DescriptorProto, FieldDescriptorProto, FileDescriptorProto}

/**
 * Writes the text of a file of [[RandomProtobuf]], in one of its spellings.
 *
 * @param withEntries whether maps are repeated entries, whose messages the text has, as Confluent's serializer for Java registers them
 */
final class ProtoPrinter(file: FileDescriptorProto, withEntries: Boolean, random: Random) {

  def text: String = {
    val enums = file.getEnumTypeList.asScala.map { choices =>
      val values = choices.getValueList.asScala.map(v => s"${v.getName} = ${number(v.getNumber.toLong)};")
      values.mkString(s"enum ${choices.getName} { ", " ", " }")
    }
    val messages = file.getMessageTypeList.asScala.map(message)
    (s"""syntax = "${file.getSyntax}";""" +: (messages ++ enums).toSeq).mkString("\n")
  }

  /** Fields and nested messages, each in their order; a map and a group are where their messages are. */
  private def message(of: DescriptorProto): String = {
    val (chosen, single) =
      of.getFieldList.asScala.toSeq.partition(f => f.hasOneofIndex && !f.getProto3Optional)
    val parts = Seq.newBuilder[String]
    if (of.getOptions.getMapEntry) parts += "option map_entry = true;"
    var rest = of.getNestedTypeList.asScala.toSeq
    single.foreach { one =>
      implied(one, of) match {
        case Some(inner) =>
          val (before, after) = rest.span(_ != inner)
          parts ++= before.map(message)
          rest = after.drop(1)
          parts += (if (one.getType == Type.TYPE_GROUP) groupField(one, inner) else mapField(one, inner))
        case None => parts += field(one, label(one))
      }
    }
    if (chosen.nonEmpty) parts += chosen.map(field(_, "")).mkString("oneof one { ", " ", " }")
    (parts.result() ++ rest.map(message)).mkString(s"message ${of.getName} { ", " ", " }")
  }

  /** The nested message that a field declares. */
  private def implied(field: FieldDescriptorProto, of: DescriptorProto): Option[DescriptorProto] =
    of.getNestedTypeList.asScala.find { inner =>
      field.getTypeName.endsWith(s".${of.getName}.${inner.getName}") &&
      (field.getType == Type.TYPE_GROUP || (inner.getOptions.getMapEntry && !withEntries))
    }

  private def mapField(field: FieldDescriptorProto, entry: DescriptorProto) =
    s"map<${kind(entry.getField(0))}, ${kind(entry.getField(1))}> ${numbered(field)};"

  private def groupField(field: FieldDescriptorProto, of: DescriptorProto) =
    s"${label(field)}group ${of.getName} = ${number(field.getNumber.toLong)} ${message(of).stripPrefix(s"message ${of.getName} ")}"

  private def field(field: FieldDescriptorProto, label: String) = {
    val default = if (field.hasDefaultValue) s" [deprecated = true, default = ${defaultOf(field)}]" else ""
    s"$label${kind(field)} ${numbered(field)}$default;"
  }

  private def numbered(field: FieldDescriptorProto) = s"${field.getName} = ${number(field.getNumber.toLong)}"

  private def label(field: FieldDescriptorProto) = field.getLabel match {
    case Label.LABEL_REPEATED => "repeated "
    case Label.LABEL_REQUIRED => "required "
    case _ if file.getSyntax == "proto2" || field.getProto3Optional => "optional "
    case _ => ""
  }

  private def kind(field: FieldDescriptorProto) =
    if (field.getTypeName.isEmpty) field.getType.name.stripPrefix("TYPE_").toLowerCase
    else if (random.nextBoolean()) field.getTypeName
    else field.getTypeName.stripPrefix(".")

  private def defaultOf(field: FieldDescriptorProto): String = {
    val value = field.getDefaultValue
    field.getType match {
      case Type.TYPE_STRING => value.getBytes("UTF-8").map(b => f"\\${b & 0xff}%03o").mkString("\"", "", "\"")
      case Type.TYPE_BYTES => s"'$value'"
      case _ => value.toLongOption.fold(value)(number)
    }
  }

  private def number(n: Long): String = {
    val positive = math.abs(n)
    val digits = random.nextInt(3) match {
      case 0 => s"0${positive.toOctalString}"
      case 1 => s"0x${positive.toHexString.toUpperCase}"
      case _ => positive.toString
    }
    if (n < 0) s"-$digits" else digits
  }
}

package io.github.dynamickafka.format.protobuf

import scala.jdk.CollectionConverters._
import scala.util.Random

import com.google.protobuf.DescriptorProtos.FieldDescriptorProto.{Label, Type}
import com.google.protobuf.DescriptorProtos.{
  DescriptorProto,
  EnumDescriptorProto,
  EnumValueDescriptorProto,
  FieldDescriptorProto,
  FileDescriptorProto,
  MessageOptions,
  OneofDescriptorProto
}
import com.google.protobuf.Descriptors.{Descriptor, FieldDescriptor, FileDescriptor}
import com.google.protobuf.{ByteString, DynamicMessage, Message}

/**
 * A random file with a message `Main`, which has nested messages among the entries of its maps, and random messages of it, by Java's
 * own library.
 */
final class RandomProtobuf(random: Random) {
  private val syntax = if (random.nextBoolean()) "proto3" else "proto2"
  private val scalars = Type.values.toSeq.diff(Seq(Type.TYPE_GROUP, Type.TYPE_MESSAGE, Type.TYPE_ENUM))

  val file: FileDescriptor = {
    val made = FileDescriptorProto.newBuilder().setName("random.proto").setSyntax(syntax)
    // A message contains only those after it.
    Seq("Main", "Second", "Third").zipWithIndex.foreach { case (name, i) =>
      made.addMessageType(described(name, Seq("Second", "Third").drop(i)))
    }
    val choices = EnumDescriptorProto.newBuilder().setName("Choice")
    Seq("A" -> 0, "B" -> 5, "C" -> -1).foreach { case (name, number) =>
      choices.addValue(EnumValueDescriptorProto.newBuilder().setName(name).setNumber(number))
    }
    FileDescriptor.buildFrom(made.addEnumType(choices).build(), Array.empty)
  }

  val set: Array[Byte] = ProtobufSides.set(file)

  val main: Descriptor = file.findMessageTypeByName("Main")

  def message(of: Descriptor = main): Message = value(of)

  /** @param scope the name of the message around it, with a dot */
  private def described(name: String, inner: Seq[String], scope: String = ""): DescriptorProto = {
    val made = DescriptorProto.newBuilder().setName(name)
    val fields = (0 to random.nextInt(6)).map { i =>
      val field =
        FieldDescriptorProto.newBuilder().setName(s"f$i").setNumber(1 + i * (1 + random.nextInt(1) * 30))
      random.nextInt(8) match {
        case 0 =>
          val entry = DescriptorProto.newBuilder().setName(s"F${i}Entry")
            .setOptions(MessageOptions.newBuilder().setMapEntry(true))
          val key =
            Seq(Type.TYPE_STRING, Type.TYPE_INT32, Type.TYPE_SINT64, Type.TYPE_BOOL)(random.nextInt(4))
          entry.addField(FieldDescriptorProto.newBuilder().setName("key").setNumber(1).setType(key)
            .setLabel(Label.LABEL_OPTIONAL))
          entry.addField(typed(FieldDescriptorProto.newBuilder().setName("value").setNumber(2), inner)
            .setLabel(Label.LABEL_OPTIONAL))
          made.addNestedType(entry)
          field.setType(
            Type.TYPE_MESSAGE
          ).setTypeName(s".$scope$name.F${i}Entry").setLabel(Label.LABEL_REPEATED)
        case 1 | 2 => typed(field, inner).setLabel(Label.LABEL_REPEATED)
        case 3 if syntax == "proto2" => typed(field, inner).setLabel(Label.LABEL_REQUIRED)
        case 4 | 5 => typed(field, inner).setLabel(Label.LABEL_OPTIONAL).setOneofIndex(0)
        case 6 if syntax == "proto3" =>
          typed(field, inner).setLabel(Label.LABEL_OPTIONAL).setProto3Optional(true)
        case 7 if syntax == "proto2" =>
          made.addNestedType(
            DescriptorProto.newBuilder().setName(s"G$i").addField(FieldDescriptorProto.newBuilder()
              .setName("x").setNumber(1).setType(Type.TYPE_INT32).setLabel(Label.LABEL_OPTIONAL))
          )
          field.setName(s"g$i").setType(Type.TYPE_GROUP).setTypeName(s".$scope$name.G$i")
            .setLabel(if (random.nextBoolean()) Label.LABEL_OPTIONAL else Label.LABEL_REPEATED)
        case _ =>
          val other = typed(field, inner).setLabel(Label.LABEL_OPTIONAL)
          if (syntax == "proto2" && random.nextBoolean())
            default(other.getType).foreach(other.setDefaultValue)
          other
      }
    }
    // The fields of a oneof are together, as in the text of a file, and real oneofs come first.
    val (chosen, single) = fields.partition(_.hasOneofIndex)
    if (fields.exists(_.hasOneofIndex)) made.addOneofDecl(OneofDescriptorProto.newBuilder().setName("one"))
    (single ++ chosen).foreach { field =>
      if (field.getProto3Optional) {
        made.addOneofDecl(OneofDescriptorProto.newBuilder().setName(s"_${field.getName}"))
        field.setOneofIndex(made.getOneofDeclCount - 1)
      }
      made.addField(field)
    }
    if (name == "Main") {
      // Anywhere among those of maps and groups, which have the order of their fields.
      val nested = (0 to random.nextInt(4)).map(i => described(s"Nested$i", inner, "Main."))
      val all = nested.foldLeft(made.getNestedTypeList.asScala.toSeq) { (found, one) =>
        found.patch(random.nextInt(found.size + 1), Seq(one), 0)
      }
      made.clearNestedType().addAllNestedType(all.asJava)
    }
    made.build()
  }

  /** As a descriptor has it. */
  private def default(of: Type): Option[String] = {
    val n = random.nextInt(1000)
    of match {
      case Type.TYPE_MESSAGE => None
      case Type.TYPE_ENUM => Some("B")
      case Type.TYPE_STRING => Some(s"é\"$n")
      case Type.TYPE_BYTES => Some(s"\\001\\377$n")
      case Type.TYPE_BOOL => Some("true")
      case Type.TYPE_FLOAT | Type.TYPE_DOUBLE =>
        Some(Seq("inf", "-inf", s"$n.5", n.toString)(random.nextInt(4)))
      case Type.TYPE_UINT32 | Type.TYPE_UINT64 | Type.TYPE_FIXED32 | Type.TYPE_FIXED64 => Some(n.toString)
      case _ => Some((n - 500).toString)
    }
  }

  private def typed(field: FieldDescriptorProto.Builder, inner: Seq[String]): FieldDescriptorProto.Builder =
    random.nextInt(5) match {
      case 0 if inner.nonEmpty =>
        field.setType(Type.TYPE_MESSAGE).setTypeName(s".${inner(random.nextInt(inner.size))}")
      case 1 => field.setType(Type.TYPE_ENUM).setTypeName(".Choice")
      case _ => field.setType(scalars(random.nextInt(scalars.size)))
    }

  private def value(of: Descriptor): Message = {
    val made = DynamicMessage.newBuilder(of)
    of.getFields.asScala.foreach { field =>
      if (field.isMapField) {
        val (key, content) =
          (field.getMessageType.findFieldByNumber(1), field.getMessageType.findFieldByNumber(2))
        (1 to random.nextInt(3)).map(_ => single(key)).distinct.foreach { k =>
          val entry = DynamicMessage.newBuilder(field.getMessageType).setField(key, k)
          made.addRepeatedField(field, entry.setField(content, single(content)).build())
        }
      } else if (field.isRepeated)
        (1 to random.nextInt(4)).foreach(_ => made.addRepeatedField(field, single(field)))
      else if (field.isRequired || random.nextInt(3) > 0) made.setField(field, single(field))
    }
    made.build()
  }

  private def single(field: FieldDescriptor): Any = {
    import FieldDescriptor.JavaType
    val isZero = random.nextInt(4) == 0
    field.getJavaType match {
      case JavaType.INT => if (isZero) 0 else random.nextInt() >> random.nextInt(32)
      case JavaType.LONG => if (isZero) 0L else random.nextLong() >> random.nextInt(64)
      case JavaType.FLOAT => if (isZero) -0.0f else random.nextFloat()
      case JavaType.DOUBLE => if (isZero) 0.0 else random.nextGaussian()
      case JavaType.BOOLEAN => random.nextBoolean()
      case JavaType.STRING => if (isZero) "" else s"é${random.nextInt(1000)}"
      case JavaType.BYTE_STRING => ByteString.copyFrom(random.nextBytes(if (isZero) 0 else 3))
      case JavaType.ENUM => field.getEnumType.getValues.get(random.nextInt(3))
      case JavaType.MESSAGE => value(field.getMessageType)
    }
  }
}

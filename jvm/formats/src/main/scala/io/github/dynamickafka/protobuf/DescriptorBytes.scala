package io.github.dynamickafka.protobuf

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

/** Parses descriptors: what `protoc --descriptor_set_out` writes, and a single file of it. Pure. */
private[dynamickafka] object DescriptorBytes {

  /** A `google.protobuf.FileDescriptorSet`. Throws if the bytes are none. */
  def files(set: Array[Byte]): Seq[FileDefinition] = Fields.of(set).messages(1).map(file)

  /** A `google.protobuf.FileDescriptorProto`. Throws if the bytes are none. */
  def file(bytes: Array[Byte]): FileDefinition = file(Fields.of(bytes))

  private def file(descriptor: Fields): FileDefinition = FileDefinition(
    descriptor.text(1),
    descriptor.text(2),
    descriptor.text(12) match {
      case "" => "proto2"
      case Syntax.Editions => Syntax.ofEdition(descriptor.number(14))
      case name => Syntax.named(name)
    },
    descriptor.messages(4).map(message),
    descriptor.messages(5).map(enumOf),
    features(descriptor.message(8).message(50))
  )

  private def message(descriptor: Fields): MessageDefinition = {
    val options = descriptor.message(7)
    MessageDefinition(
      descriptor.text(1),
      descriptor.messages(2).map(field(
        _,
        descriptor.messages(8).map(o => features(o.message(2).message(1)))
      )),
      descriptor.messages(3).map(message),
      descriptor.messages(4).map(enumOf),
      options.number(7) != 0L,
      features(options.message(12))
    )
  }

  private def field(descriptor: Fields, oneofs: Seq[Map[String, String]]): FieldDefinition = {
    val oneof = if (descriptor.has(9)) descriptor.number(9).toInt else -1
    FieldDefinition(
      descriptor.text(1),
      descriptor.number(3).toInt,
      descriptor.number(4).toInt,
      descriptor.number(5).toInt,
      descriptor.text(6),
      oneof,
      descriptor.number(17) != 0L,
      Option.when(descriptor.has(7))(descriptor.text(7)),
      oneofs.lift(oneof).getOrElse(Map.empty) ++ features(descriptor.message(8).message(21))
    )
  }

  private def enumOf(descriptor: Fields): EnumDefinition = EnumDefinition(
    descriptor.text(1),
    descriptor.messages(2).map(value => value.text(1) -> value.number(2).toInt),
    features(descriptor.message(3).message(7))
  )

  private val names: Seq[(Int, String, Map[Long, String])] = Seq(
    (1, "field_presence", Map(1L -> "EXPLICIT", 2L -> "IMPLICIT", 3L -> "LEGACY_REQUIRED")),
    (2, "enum_type", Map(1L -> "OPEN", 2L -> "CLOSED")),
    (4, "utf8_validation", Map(2L -> "VERIFY", 3L -> "NONE")),
    (5, "message_encoding", Map(1L -> "LENGTH_PREFIXED", 2L -> "DELIMITED"))
  )

  private def features(descriptor: Fields): Map[String, String] =
    names.flatMap { case (number, name, values) =>
      values.get(descriptor.number(number)).map(name -> _)
    }.toMap

  /** The fields of one message by number, each with its numbers or bytes. */
  private final class Fields(values: Map[Int, Vector[Any]]) {
    def has(number: Int): Boolean = values.contains(number)

    def number(number: Int): Long =
      values.get(number).map(_.last).collect { case n: Long => n }.getOrElse(0L)

    def text(number: Int): String =
      values.get(number).map(_.last).collect { case b: Array[Byte] => new String(b, UTF_8) }.getOrElse("")

    def messages(number: Int): Vector[Fields] =
      values.getOrElse(number, Vector.empty).collect { case b: Array[Byte] => Fields.of(b) }

    def message(number: Int): Fields = messages(number).lastOption.getOrElse(Fields.none)
  }

  private object Fields {
    val none = new Fields(Map.empty)

    def of(bytes: Array[Byte]): Fields = {
      val in = new ProtoInput().reset(bytes, 0)
      val found = mutable.Map.empty[Int, Vector[Any]]
      while (!in.isEnd) {
        val tag = in.tag()
        val number = ProtoInput.numberOf(tag)
        def add(value: Any) = found(number) = found.getOrElse(number, Vector.empty) :+ value
        ProtoInput.wireOf(tag) match {
          case ProtoInput.Varint => add(in.varint())
          case ProtoInput.Bytes => add(in.array())
          case _ => in.skip(tag)
        }
      }
      new Fields(found.toMap)
    }
  }
}

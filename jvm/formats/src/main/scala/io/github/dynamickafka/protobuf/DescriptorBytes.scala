package io.github.dynamickafka.protobuf

import java.nio.charset.StandardCharsets.UTF_8

import scala.collection.mutable

/** Parses descriptors: what `protoc --descriptor_set_out` writes, and a single file of it. Pure. */
private[dynamickafka] object DescriptorBytes {

  /** A `google.protobuf.FileDescriptorSet`. Throws if the bytes are none. */
  def files(set: Array[Byte]): Seq[FileDefinition] = Fields.of(set).messages(1).map(file)

  /** A `google.protobuf.FileDescriptorProto`. Throws if the bytes are none. */
  def file(bytes: Array[Byte]): FileDefinition = file(Fields.of(bytes))

  private def file(of: Fields): FileDefinition = FileDefinition(
    of.text(1),
    of.text(2),
    of.text(12) match {
      case "" => "proto2"
      case Syntax.Editions => Syntax.ofEdition(of.number(14))
      case name => Syntax.named(name)
    },
    of.messages(4).map(message),
    of.messages(5).map(enumOf),
    features(of.message(8).message(50))
  )

  private def message(of: Fields): MessageDefinition = {
    val options = of.message(7)
    MessageDefinition(
      of.text(1),
      of.messages(2).map(field(_, of.messages(8).map(o => features(o.message(2).message(1))))),
      of.messages(3).map(message),
      of.messages(4).map(enumOf),
      options.number(7) != 0L,
      features(options.message(12))
    )
  }

  private def field(of: Fields, oneofs: Seq[Map[String, String]]): FieldDefinition = {
    val oneof = if (of.has(9)) of.number(9).toInt else -1
    FieldDefinition(
      of.text(1),
      of.number(3).toInt,
      of.number(4).toInt,
      of.number(5).toInt,
      of.text(6),
      oneof,
      of.number(17) != 0L,
      Option.when(of.has(7))(of.text(7)),
      oneofs.lift(oneof).getOrElse(Map.empty) ++ features(of.message(8).message(21))
    )
  }

  private def enumOf(of: Fields): EnumDefinition = EnumDefinition(
    of.text(1),
    of.messages(2).map(value => value.text(1) -> value.number(2).toInt),
    features(of.message(3).message(7))
  )

  private val names: Seq[(Int, String, Map[Long, String])] = Seq(
    (1, "field_presence", Map(1L -> "EXPLICIT", 2L -> "IMPLICIT", 3L -> "LEGACY_REQUIRED")),
    (2, "enum_type", Map(1L -> "OPEN", 2L -> "CLOSED")),
    (4, "utf8_validation", Map(2L -> "VERIFY", 3L -> "NONE")),
    (5, "message_encoding", Map(1L -> "LENGTH_PREFIXED", 2L -> "DELIMITED"))
  )

  private def features(of: Fields): Map[String, String] =
    names.flatMap { case (number, name, values) => values.get(of.number(number)).map(name -> _) }.toMap

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

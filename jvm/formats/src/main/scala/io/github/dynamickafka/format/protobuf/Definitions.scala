package io.github.dynamickafka.format.protobuf

/**
 * A message, or a .proto file, of a descriptor or of its text, whose name is that of the package. The features are those that are set here,
 * by the names in `google.protobuf.FeatureSet`; of a file, also those of its syntax.
 *
 * @param isMapEntry whether it stands for the entries of a map
 * @param isImplied whether a field in the text of a .proto file declares it: a map or a group
 */
private[dynamickafka] final case class MessageDefinition(
    name: String,
    fields: Seq[FieldDefinition],
    messages: Seq[MessageDefinition],
    enums: Seq[EnumDefinition],
    isMapEntry: Boolean = false,
    features: Map[String, String] = Map.empty,
    isImplied: Boolean = false
)

/**
 * @param label optional, required or repeated, see [[FieldDefinition]]
 * @param oneof the index of the oneof that it is in, or -1
 * @param default as text, the bytes of BYTES escaped
 */
private[dynamickafka] final case class FieldDefinition(
    name: String,
    number: Int,
    label: Int,
    fieldType: FieldType,
    oneof: Int = -1,
    default: Option[String] = None,
    features: Map[String, String] = Map.empty
) {

  /** The field with `optional` before it in proto3, which a descriptor has as a oneof of its own. */
  def explicit: FieldDefinition = copy(oneof = -1, features = features.updated("field_presence", "EXPLICIT"))
}

/**
 * @param kind see [[FieldKind]]; 0: a message or an enum
 * @param name of a message or an enum; with a dot before it, from the root
 */
private[dynamickafka] final case class FieldType(kind: Int, name: String = "")

private[dynamickafka] object FieldType {

  /** The type with a name in a .proto file. */
  def named(name: String): FieldType = FieldKind.scalars.get(name).fold(FieldType(0, name))(FieldType(_))
}

/** What files are written in. Others are refused: what their fields mean without options is not known. */
private[protobuf] object Syntax {
  final val Editions = "editions"

  /** The editions with their numbers in `google.protobuf.Edition`. */
  private val editions = Map("2023" -> 1000L, "2024" -> 1001L)

  def named(name: String): String =
    if (Set("proto2", "proto3")(name)) name
    else throw ProtoSyntaxException(s"the syntax '$name' is not known")

  def ofEdition(name: String): String =
    if (editions.contains(name)) Editions else throw ProtoSyntaxException(s"the edition '$name' is not known")

  def ofEdition(number: Long): String =
    editions.collectFirst { case (name, `number`) => name }.fold(ofEdition(s"number $number"))(ofEdition)

  /** What applies in a file that sets nothing else. */
  def features(syntax: String): Map[String, String] = {
    val (presence, kind, utf8) = syntax match {
      case "proto2" => ("EXPLICIT", "CLOSED", "NONE")
      case "proto3" => ("IMPLICIT", "OPEN", "VERIFY")
      case Editions => ("EXPLICIT", "OPEN", "VERIFY")
    }
    Map("field_presence" -> presence, "enum_type" -> kind, "utf8_validation" -> utf8)
      .updated("message_encoding", "LENGTH_PREFIXED")
  }
}

/** Labels, by the numbers in `google.protobuf.FieldDescriptorProto`. */
private[dynamickafka] object FieldDefinition {

  /** An optional field without presence. */
  final val Implicit = 0
  final val Optional = 1
  final val Required = 2
  final val Repeated = 3
}

private[dynamickafka] final case class EnumDefinition(
    name: String,
    values: Seq[(String, Int)],
    features: Map[String, String] = Map.empty
)

/** The types of fields, by the numbers in `google.protobuf.FieldDescriptorProto`. */
private[dynamickafka] object FieldKind {
  final val Double = 1
  final val Float = 2
  final val Int64 = 3
  final val UInt64 = 4
  final val Int32 = 5
  final val Fixed64 = 6
  final val Fixed32 = 7
  final val Bool = 8
  final val Text = 9
  final val Group = 10
  final val Message = 11
  final val Bytes = 12
  final val UInt32 = 13
  final val Enum = 14
  final val SFixed32 = 15
  final val SFixed64 = 16
  final val SInt32 = 17
  final val SInt64 = 18

  /** The scalar types by their names in .proto files. */
  val scalars: Map[String, Int] = Map(
    "double" -> Double,
    "float" -> Float,
    "int64" -> Int64,
    "uint64" -> UInt64,
    "int32" -> Int32,
    "fixed64" -> Fixed64,
    "fixed32" -> Fixed32,
    "bool" -> Bool,
    "string" -> Text,
    "bytes" -> Bytes,
    "uint32" -> UInt32,
    "sfixed32" -> SFixed32,
    "sfixed64" -> SFixed64,
    "sint32" -> SInt32,
    "sint64" -> SInt64
  )

  private val names = scalars.map(_.swap) ++ Map(Group -> "group", Message -> "message", Enum -> "enum")

  /** How a single value is encoded. */
  def wire(kind: Int): Int = kind match {
    case Double | Fixed64 | SFixed64 => ProtoInput.Fixed64
    case Float | Fixed32 | SFixed32 => ProtoInput.Fixed32
    case Group => ProtoInput.StartGroup
    case Message | Text | Bytes => ProtoInput.Bytes
    case _ => ProtoInput.Varint
  }

  /** Whether all values of a repeated field can be encoded together. */
  def isPackable(kind: Int): Boolean = !Set(Group, Message, Text, Bytes)(kind)

  def name(kind: Int): String = names.getOrElse(kind, "unknown type")
}

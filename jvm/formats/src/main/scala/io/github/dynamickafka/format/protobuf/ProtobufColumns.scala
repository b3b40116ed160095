package io.github.dynamickafka.format.protobuf

import org.apache.spark.sql.types.{
  ArrayType,
  BinaryType,
  BooleanType,
  DataType,
  DayTimeIntervalType,
  DecimalType,
  DoubleType,
  FloatType,
  IntegerType,
  LongType,
  MapType,
  StringType,
  StructField,
  StructType,
  TimestampType
}

import io.github.dynamickafka.format.SideFormat
import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** The columns of a message, with the types that Spark's `from_protobuf` gives them. Pure. */
private[dynamickafka] object ProtobufColumns {

  /** @return the reason, if the message cannot be columns */
  def of(
      message: ProtoMessage,
      types: ProtoTypes,
      options: ProtobufOptions
  ): Either[String, StructType] =
    try
      new ProtobufColumns(types, options).struct(message, Map(message.name -> 1)) match {
        case Some(columns) => Right(columns)
        case None => Left(s"the message '${message.name}' has no fields.")
      }
    catch { case Unfit(reason) => Left(reason) }

  private final case class Unfit(reason: String) extends RuntimeException(reason)

  def isTimestamp(message: ProtoMessage): Boolean = isTime(message, "Timestamp")
  def isDuration(message: ProtoMessage): Boolean = isTime(message, "Duration")

  /** As Spark recognizes them, in any package. */
  private def isTime(message: ProtoMessage, name: String) =
    message.name.split('.').last == name && message.fields.map(_.name) == Seq("seconds", "nanos")

  /** Whether it is one of the messages that stand for a value that may be absent. */
  def isWrapper(message: ProtoMessage): Boolean = Wrapper.pattern.matcher(message.name).matches

  private val Wrapper =
    raw"google\.protobuf\.(Bool|Int32|UInt32|Int64|UInt64|String|Bytes|Float|Double)Value".r
}

private final class ProtobufColumns(types: ProtoTypes, options: ProtobufOptions) {
  import ProtobufColumns._

  /** @param depths how often each message is around this one, with itself */
  def struct(message: ProtoMessage, depths: Map[String, Int]): Option[StructType] = {
    val fields = message.fields.flatMap(f => column(message, f, depths).map(StructField(f.name, _)))
    Option.when(fields.nonEmpty)(StructType(fields))
  }

  private def column(owner: ProtoMessage, field: ProtoField, depths: Map[String, Int]): Option[DataType] =
    single(owner, field, depths).map {
      case map: MapType if field.repeated => map
      case element if field.repeated => ArrayType(element)
      case other => other
    }

  private def single(owner: ProtoMessage, field: ProtoField, depths: Map[String, Int]): Option[DataType] =
    field.kind match {
      case FieldKind.Message | FieldKind.Group =>
        ofMessage(owner, field, types.messages(field.typeName), depths)
      case 0 =>
        throw Unfit(
          s"the type of the field '${field.name}' of '${owner.name}' is not known: a descriptor needs the files " +
            "that it imports, too ('protoc --include_imports')."
        )
      case kind => Some(scalar(kind))
    }

  private def scalar(kind: Int): DataType = kind match {
    case FieldKind.Double => DoubleType
    case FieldKind.Float => FloatType
    case FieldKind.UInt64 if options.upcastUnsigned => DecimalType(20, 0)
    case FieldKind.UInt32 if options.upcastUnsigned => LongType
    case FieldKind.Int64 | FieldKind.UInt64 | FieldKind.Fixed64 | FieldKind.SFixed64 | FieldKind.SInt64 =>
      LongType
    case FieldKind.Bool => BooleanType
    case FieldKind.Text => StringType
    case FieldKind.Bytes => BinaryType
    case FieldKind.Enum => if (options.enumsAsInts) IntegerType else StringType
    case _ => IntegerType
  }

  private def ofMessage(
      owner: ProtoMessage,
      field: ProtoField,
      message: ProtoMessage,
      depths: Map[String, Int]
  ): Option[DataType] = {
    val depth = depths.getOrElse(message.name, 0)
    if (isDuration(message)) Some(DayTimeIntervalType())
    else if (isTimestamp(message)) Some(TimestampType)
    else if (options.unwrapWrappers && isWrapper(message)) Some(scalar(message.fields.head.kind))
    else if (message.isMapEntry)
      for {
        key <- message.field(1).flatMap(single(message, _, depths))
        value <- message.field(2).flatMap(single(message, _, depths))
      } yield MapType(key, value)
    else if (depth > 0 && (options.recursiveDepth < 1 || options.recursiveDepth > 10))
      throw Unfit(
        s"the message '${message.name}' contains itself, in the field '${field.name}' of '${owner.name}': set " +
          s"'${ProtobufOptions.RecursiveDepth}' from 1 to 10, or name the columns."
      )
    else if (depth > 0 && depth >= options.recursiveDepth) None
    else struct(message, depths.updated(message.name, depth + 1))
  }
}

/** Messages and columns of the formats with Protobuf. Pure. */
private[dynamickafka] object ProtobufSchemas {

  /** @return the message of the descriptor file that has been read, or the reason why there is none */
  def ofFile(format: SideFormat): Either[String, (ProtoMessage, ProtoTypes)] = {
    val set = format.descriptor.getOrElse(throw new IllegalStateException("the descriptor file was not read"))
    ProtoSchemas.ofDescriptors(set.toArray).flatMap { types =>
      val name = format.options(ProtobufOptions.MessageName).trim
      types.find(name).map(_ -> types).toRight(s"it has no message '$name', or several of this name.")
    }
  }

  /** The columns of the message of the descriptor file. */
  def columnsOfFile(format: SideFormat): Either[String, StructType] = ofFile(format).flatMap {
    case (message, types) => ProtobufColumns.of(message, types, ProtobufOptions.of(format.options))
  }

  def ofRegistry(schema: RegisteredSchema): Either[String, ProtoTypes] =
    ProtoSchemas.ofRegistry(schema.text, schema.references.map(r => r.name -> r.text))

  /** The columns of a schema in a registry: of the message that the options name, or of the first one. */
  def columnsOfRegistry(schema: RegisteredSchema, format: SideFormat): Either[String, StructType] =
    ofRegistry(schema).flatMap { types =>
      val named = format.options.get(ProtobufOptions.MessageName).map(_.trim)
      named.fold(
        types.at(Seq(0)).headOption
      )(types.find).toRight(s"it has no message${named.fold("")(n => s" '$n'")}.")
        .flatMap(ProtobufColumns.of(_, types, ProtobufOptions.of(format.options)))
    }

  /** @throws IllegalArgumentException for a type that no field has */
  def checkTypes(dataType: DataType): Unit = dataType match {
    case struct: StructType => struct.foreach(f => checkTypes(f.dataType))
    case ArrayType(element, _) => checkTypes(element)
    case MapType(key, value, _) => Seq(key, value).foreach(checkTypes)
    case BooleanType | IntegerType | LongType | FloatType | DoubleType | StringType | BinaryType | TimestampType =>
      ()
    case _: DayTimeIntervalType => ()
    case d: DecimalType if d.precision == 20 && d.scale == 0 => ()
    case other => throw new IllegalArgumentException(s"Protobuf has no ${other.sql}.")
  }
}

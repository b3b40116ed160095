package io.github.dynamickafka.format.protobuf

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Base64, Locale}

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.sql.types._

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

  /** Whether Spark recognizes a message as this time, in any package. */
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
          s"'${ProtobufOptions.RecursiveDepth.name}' from 1 to 10, or name the columns."
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
    ofDescriptors(set.toArray).flatMap { types =>
      val name = format.options(ProtobufOptions.MessageName.name).trim
      types.find(name).map(_ -> types).toRight(s"it has no message '$name', or several of this name.")
    }
  }

  def columnsOfFile(format: SideFormat): Either[String, StructType] = ofFile(format).flatMap {
    case (message, types) => ProtobufColumns.of(message, types, new ProtobufOptions(format.options))
  }

  private def ofDescriptors(set: Array[Byte]): Either[String, ProtoTypes] =
    try {
      val files = DescriptorBytes.files(set)
      if (files.forall(_.messages.isEmpty)) Left("it contains no message.") else Right(ProtoTypes.of(files))
    } catch {
      case ProtoSyntaxException(reason) => Left(s"$reason.")
      case NonFatal(_) => Left("it is not a descriptor set, as 'protoc --descriptor_set_out' writes it.")
    }

  /** @return the reason, if a file of the schema cannot be parsed */
  def ofRegistry(schema: RegisteredSchema): Either[String, ProtoTypes] =
    try Right(ProtoTypes.of((schema.references.map(_.text) :+ schema.text).map(file), WellKnownTypes.files))
    catch {
      case ProtoSyntaxException(reason) => Left(s"the Protobuf schema cannot be parsed: $reason.")
      case NonFatal(e) => Left(s"the Protobuf schema cannot be parsed: ${e.getClass.getSimpleName}.")
    }

  /** @param text a .proto file, or a descriptor of it in base 64, which some clients register and registries give back */
  private def file(text: String): MessageDefinition = {
    val compact = text.filterNot(_.isWhitespace)
    if (compact.nonEmpty && compact.forall(c => c.isLetterOrDigit || "+/=".contains(c)))
      DescriptorBytes.file(Base64.getDecoder.decode(compact))
    else ProtoText.parse(text)
  }

  /** The columns of a schema in a registry: of the message that the options name, or of the first one. */
  def columnsOfRegistry(schema: RegisteredSchema, format: SideFormat): Either[String, StructType] =
    ofRegistry(schema).flatMap { types =>
      val named = format.options.get(ProtobufOptions.MessageName.name).map(_.trim)
      named.fold(
        types.at(Seq(0)).headOption
      )(types.find).toRight(s"it has no message${named.fold("")(n => s" '$n'")}.")
        .flatMap(ProtobufColumns.of(_, types, new ProtobufOptions(format.options)))
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

/** Parses descriptors: what `protoc --descriptor_set_out` writes, and a single file of it. Pure. */
private[dynamickafka] object DescriptorBytes {

  /** A `google.protobuf.FileDescriptorSet`. Throws if the bytes are none. */
  def files(set: Array[Byte]): Seq[MessageDefinition] = Fields.of(set).messages(1).map(file)

  /** A `google.protobuf.FileDescriptorProto`. Throws if the bytes are none. */
  def file(bytes: Array[Byte]): MessageDefinition = file(Fields.of(bytes))

  private def file(descriptor: Fields): MessageDefinition = {
    val syntax = descriptor.text(12) match {
      case "" => "proto2"
      case Syntax.Editions => Syntax.ofEdition(descriptor.number(14))
      case name => Syntax.named(name)
    }
    MessageDefinition(
      descriptor.text(2),
      Nil,
      descriptor.messages(4).map(message),
      descriptor.messages(5).map(enumOf),
      features = Syntax.features(syntax) ++ features(descriptor.message(8).message(50))
    )
  }

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
    val field = FieldDefinition(
      descriptor.text(1),
      descriptor.number(3).toInt,
      descriptor.number(4).toInt,
      FieldType(descriptor.number(5).toInt, descriptor.text(6)),
      oneof,
      Option.when(descriptor.has(7))(descriptor.text(7)),
      oneofs.lift(oneof).getOrElse(Map.empty) ++ features(descriptor.message(8).message(21))
    )
    if (descriptor.number(17) != 0L) field.explicit else field
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

/** Files that .proto files import without that a registry has them, as far as messages can have their types. */
private[protobuf] object WellKnownTypes {
  private val wrappers =
    Seq("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
      .map(name => s"message ${name}Value { ${name.toLowerCase(Locale.ROOT)} value = 1; }").mkString("\n")

  private val google =
    s"""syntax = "proto3"; package google.protobuf;
       |message Timestamp { int64 seconds = 1; int32 nanos = 2; }
       |message Duration { int64 seconds = 1; int32 nanos = 2; }
       |message Any { string type_url = 1; bytes value = 2; }
       |message Empty {}
       |message FieldMask { repeated string paths = 1; }
       |message Struct { map<string, Value> fields = 1; }
       |enum NullValue { NULL_VALUE = 0; }
       |message ListValue { repeated Value values = 1; }
       |message Value { oneof kind { NullValue null_value = 1; double number_value = 2; string string_value = 3;
       |  bool bool_value = 4; Struct struct_value = 5; ListValue list_value = 6; } }
       |message SourceContext { string file_name = 1; }
       |message Option { string name = 1; Any value = 2; }
       |enum Syntax { SYNTAX_PROTO2 = 0; SYNTAX_PROTO3 = 1; SYNTAX_EDITIONS = 2; }
       |message Type { string name = 1; repeated Field fields = 2; repeated string oneofs = 3; repeated Option options = 4;
       |  SourceContext source_context = 5; Syntax syntax = 6; string edition = 7; }
       |message Field { Kind kind = 1; Cardinality cardinality = 2; int32 number = 3; string name = 4; string type_url = 6;
       |  int32 oneof_index = 7; bool packed = 8; repeated Option options = 9; string json_name = 10; string default_value = 11;
       |  enum Kind { TYPE_UNKNOWN = 0; TYPE_DOUBLE = 1; TYPE_FLOAT = 2; TYPE_INT64 = 3; TYPE_UINT64 = 4; TYPE_INT32 = 5;
       |    TYPE_FIXED64 = 6; TYPE_FIXED32 = 7; TYPE_BOOL = 8; TYPE_STRING = 9; TYPE_GROUP = 10; TYPE_MESSAGE = 11; TYPE_BYTES = 12;
       |    TYPE_UINT32 = 13; TYPE_ENUM = 14; TYPE_SFIXED32 = 15; TYPE_SFIXED64 = 16; TYPE_SINT32 = 17; TYPE_SINT64 = 18; }
       |  enum Cardinality { CARDINALITY_UNKNOWN = 0; CARDINALITY_OPTIONAL = 1; CARDINALITY_REQUIRED = 2;
       |    CARDINALITY_REPEATED = 3; } }
       |message Enum { string name = 1; repeated EnumValue enumvalue = 2; repeated Option options = 3;
       |  SourceContext source_context = 4; Syntax syntax = 5; string edition = 6; }
       |message EnumValue { string name = 1; int32 number = 2; repeated Option options = 3; }
       |message Api { string name = 1; repeated Method methods = 2; repeated Option options = 3; string version = 4;
       |  SourceContext source_context = 5; repeated Mixin mixins = 6; Syntax syntax = 7; string edition = 8; }
       |message Method { string name = 1; string request_type_url = 2; bool request_streaming = 3; string response_type_url = 4;
       |  bool response_streaming = 5; repeated Option options = 6; Syntax syntax = 7; string edition = 8; }
       |message Mixin { string name = 1; string root = 2; }
       |$wrappers
       |""".stripMargin

  private val types =
    """syntax = "proto3"; package google.type;
      |enum CalendarPeriod { CALENDAR_PERIOD_UNSPECIFIED = 0; DAY = 1; WEEK = 2; FORTNIGHT = 3; MONTH = 4; QUARTER = 5;
      |  HALF = 6; YEAR = 7; }
      |message Color { float red = 1; float green = 2; float blue = 3; google.protobuf.FloatValue alpha = 4; }
      |message Date { int32 year = 1; int32 month = 2; int32 day = 3; }
      |message DateTime { int32 year = 1; int32 month = 2; int32 day = 3; int32 hours = 4; int32 minutes = 5; int32 seconds = 6;
      |  int32 nanos = 7; oneof time_offset { google.protobuf.Duration utc_offset = 8; TimeZone time_zone = 9; } }
      |message TimeZone { string id = 1; string version = 2; }
      |enum DayOfWeek { DAY_OF_WEEK_UNSPECIFIED = 0; MONDAY = 1; TUESDAY = 2; WEDNESDAY = 3; THURSDAY = 4; FRIDAY = 5;
      |  SATURDAY = 6; SUNDAY = 7; }
      |message Decimal { string value = 1; }
      |message Expr { string expression = 1; string title = 2; string description = 3; string location = 4; }
      |message Fraction { int64 numerator = 1; int64 denominator = 2; }
      |message Interval { google.protobuf.Timestamp start_time = 1; google.protobuf.Timestamp end_time = 2; }
      |message LatLng { double latitude = 1; double longitude = 2; }
      |message LocalizedText { string text = 1; string language_code = 2; }
      |message Money { string currency_code = 1; int64 units = 2; int32 nanos = 3; }
      |enum Month { MONTH_UNSPECIFIED = 0; JANUARY = 1; FEBRUARY = 2; MARCH = 3; APRIL = 4; MAY = 5; JUNE = 6; JULY = 7;
      |  AUGUST = 8; SEPTEMBER = 9; OCTOBER = 10; NOVEMBER = 11; DECEMBER = 12; }
      |message PhoneNumber { oneof kind { string e164_number = 1; ShortCode short_code = 2; } string extension = 3;
      |  message ShortCode { string region_code = 1; string number = 2; } }
      |message PostalAddress { int32 revision = 1; string region_code = 2; string language_code = 3; string postal_code = 4;
      |  string sorting_code = 5; string administrative_area = 6; string locality = 7; string sublocality = 8;
      |  repeated string address_lines = 9; repeated string recipients = 10; string organization = 11; }
      |message Quaternion { double x = 1; double y = 2; double z = 3; double w = 4; }
      |message TimeOfDay { int32 hours = 1; int32 minutes = 2; int32 seconds = 3; int32 nanos = 4; }
      |""".stripMargin

  private val confluent =
    """syntax = "proto3"; package confluent.type;
      |message Decimal { bytes value = 1; int32 precision = 2; int32 scale = 3; }
      |""".stripMargin

  val files: Seq[MessageDefinition] = Seq(google, types, confluent).map(ProtoText.parse)
}

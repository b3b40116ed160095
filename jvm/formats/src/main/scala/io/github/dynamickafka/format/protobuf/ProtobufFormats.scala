package io.github.dynamickafka.format.protobuf

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.format.{
  DeclaredSchema,
  DecodeFailure,
  DecodedValues,
  Decoder,
  Format,
  FormatRegistry,
  FormatSetting,
  RegistryDecoder,
  SchemaText,
  SchemasById,
  SideFormat,
  SideLayout
}
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.option.OptionType.{boolean, int, text}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, WireFormat}

private[format] abstract class ProtobufFormat(name: String) extends Format(name) {
  override def refused(option: String): Option[String] = Option.when(option == "messageclassname")(
    "it names a Java class; use 'messageName', and for the format 'protobuf' 'descriptorFile'."
  )
}

private[format] object ProtobufFormat {

  /** The message of the records. */
  val MessageName: FormatSetting = FormatSetting(ProtobufOptions.MessageName, text, decidesColumns = true)

  /** The file that describes it. */
  val DescriptorFile: FormatSetting =
    FormatSetting(ProtobufOptions.DescriptorFile, text, decidesColumns = true)

  val others: Seq[FormatSetting] = Seq(
    FormatSetting.IgnoreParseErrors,
    FormatSetting(ProtobufOptions.EmitDefaults, boolean, Seq("readDefaultValues")),
    FormatSetting(ProtobufOptions.RecursiveDepth, int(min = -1), decidesColumns = true)
  ) ++ Seq(ProtobufOptions.EnumsAsInts, ProtobufOptions.UpcastUnsigned, ProtobufOptions.UnwrapWrappers)
    .map(FormatSetting(_, boolean, decidesColumns = true))
}

/** A message that a descriptor file describes. */
private[dynamickafka] object Protobuf extends ProtobufFormat("protobuf") {
  private val both = Some(
    "the format 'protobuf' requires the name of the message, and the descriptor file that 'protoc --include_imports " +
      "--descriptor_set_out' writes."
  )

  override val settings: Seq[FormatSetting] =
    Seq(ProtobufFormat.MessageName, ProtobufFormat.DescriptorFile).map(_.copy(required = both)) ++
      ProtobufFormat.others

  override def decoder(side: SideLayout): Decoder = new ProtobufDecoder(side)
}

/** A message behind the id of its schema in a registry. */
private[dynamickafka] object ProtobufConfluent extends ProtobufFormat("protobuf-confluent") {
  override val settings: Seq[FormatSetting] = ProtobufFormat.MessageName +: ProtobufFormat.others

  override def refused(option: String): Option[String] = super.refused(option).orElse(
    Option.when(option == OptionName.normalize(ProtobufOptions.DescriptorFile))(
      "the registry has the descriptors."
    )
  )

  override def registry: Option[FormatRegistry] = Some(Registry)
  override def decoder(side: SideLayout): Decoder = new ConfluentProtobufDecoder(side, SchemasById.of(side))

  private object Registry extends FormatRegistry {
    override def kind: String = RegisteredSchema.Protobuf

    override def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema] =
      ProtobufSchemas.columnsOfRegistry(schema, side).map(c => DeclaredSchema(SchemaText.nullable(c)))
  }
}

/**
 * Decodes Protobuf with the id of its schema in a registry and the path to its message in that schema. The fields of the message
 * are the columns of the same name.
 */
private[format] final class ConfluentProtobufDecoder(
    side: SideLayout,
    schemas: (String, Int) => Option[RegisteredSchema]
) extends RegistryDecoder[WrittenMessages](
      RegisteredSchema.Protobuf,
      schemas,
      ProtobufSchemas.ofRegistry(_).map(new WrittenMessages(_, side))
    ) {
  ProtobufSchemas.checkTypes(side.schema)
  private val in = new ProtoInput

  override protected def decode(
      of: WrittenMessages,
      bytes: Array[Byte],
      into: DecodedValues
  ): DecodeFailure = {
    val written = of.at(in.reset(bytes, WireFormat.HeaderLength))
    written.message(bytes, in.position) match {
      case Right(body) => body.decode(bytes, in.position, into)
      case Left(reason) =>
        into.clear()
        DecodeFailure(reason, None, unparsable = true)
    }
  }
}

/** The messages of one schema of a registry, by their paths. Not thread-safe. */
private[protobuf] final class WrittenMessages(types: ProtoTypes, side: SideLayout) {
  import WrittenMessages._

  private val wanted = side.format.options.get(ProtobufOptions.MessageName).map(_.trim.stripPrefix("."))
  private val known = new ju.HashMap[Seq[Int], Written]

  // Most records have the message of the one before.
  private var lastPath: Seq[Int] = First
  private var last: Written = _

  /** @param in where the path begins, and the message afterwards */
  def at(in: ProtoInput): Written = {
    val path =
      try indexes(in)
      catch { case ProtoInput.Malformed => Nil }
    if ((last eq null) || path != lastPath) {
      last = of(path)
      lastPath = path
    }
    last
  }

  /** The path to the message; empty if it is invalid. */
  private def indexes(in: ProtoInput): Seq[Int] = {
    val count = in.zigZag()
    if (count == 0) First
    else if (count < 0 || count > MostIndexes) Nil
    else Seq.fill(count.toInt)(in.zigZag().toInt)
  }

  private def of(path: Seq[Int]): Written = {
    val before = known.get(path)
    if (before ne null) before
    else {
      val found = Written.of(path, types, side, wanted)
      // A path is what a record says: there are as many as messages.
      if (!found.isInstanceOf[Written.Bad]) known.put(path, found)
      found
    }
  }
}

private object WrittenMessages {
  private val First: Seq[Int] = Seq(0)
  private val MostIndexes = 100
}

/** Decodes messages of a descriptor file, with the results of Spark's `from_protobuf`. */
private[format] final class ProtobufDecoder(side: SideLayout) extends Decoder {
  private val body = {
    val (message, types) = ProtobufSchemas.ofFile(side.format).fold(
      reason => throw new IllegalArgumentException(reason),
      identity
    )
    new ProtobufBody(message, types, side, strict = true)
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure = body.decode(bytes, 0, into)
}

/**
 * Decodes the messages of one type into columns. Not thread-safe.
 *
 * @param strict whether the message has to have each column; otherwise a column that it does not have is null
 */
private[format] final class ProtobufBody(
    message: ProtoMessage,
    types: ProtoTypes,
    side: SideLayout,
    strict: Boolean
) {
  private val wanted: Array[Int] = side.wanted.toArray
  private val options = ProtobufOptions.of(side.format.options)
  private val reader =
    new MessageReader(message, types, StructType(wanted.map(side.schema(_))), options.emitDefaults, strict)
  private val in = new ProtoInput

  /** @param from where the message begins */
  def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
    into.clear()
    try {
      val read = new Array[Any](wanted.length)
      reader.read(in.reset(bytes, from), 0, read)
      val made = reader.made(read)
      var i = 0
      while (i < wanted.length) {
        into.setAny(wanted(i), made(i))
        i += 1
      }
      null
    } catch {
      case MessageMismatch(field, reason) => bad(into, reason, Some(field))
      case NonFatal(_) => bad(into, s"it is not a message '${message.name}'", None)
    }
  }

  private def bad(into: DecodedValues, reason: String, field: Option[String]) = {
    into.clear()
    DecodeFailure(reason, field, unparsable = true)
  }
}

/** What the records with one schema of a registry and one path are. */
private[format] sealed trait Written {

  /** @return the decoder of the record, or why there is none */
  def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody]
}

private[format] object Written {

  final case class Bad(reason: String) extends Written {
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = Left(reason)
  }

  final case class Message(body: ProtobufBody) extends Written {
    private val found = Right(body)
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = found
  }

  /**
   * Serializers count messages in different ways, see [[ProtoTypes.at]]: a record is the message that its bytes fit. If they fit
   * several, `messageName` decides; without it, the record is a bad one.
   */
  private final case class OneOf(readings: Seq[Reading]) extends Written {
    override def message(bytes: Array[Byte], from: Int): Either[String, ProtobufBody] = {
      val fitting = readings.filter(_.fit.fits(bytes, from))
      val chosen = fitting match {
        case Seq(one) => Some(one)
        case several => Some(several.filter(_.isWanted)).collect { case Seq(one) => one }
      }
      chosen.fold[Either[String, ProtobufBody]](Left(reason))(_.written.message(bytes, from))
    }

    private def reason =
      s"its path can mean ${readings.map(r => s"'${r.name}'").mkString(" or ")}, because serializers count the " +
        "entries of maps in different ways: set 'messageName'"
  }

  /** @param isWanted whether `messageName` is this message */
  private final case class Reading(name: String, fit: MessageFit, written: Written, isWanted: Boolean)

  /** @param wanted the option `messageName` */
  def of(path: Seq[Int], types: ProtoTypes, side: SideLayout, wanted: Option[String]): Written =
    types.at(path) match {
      case Seq() => Bad("its schema does not have the message that it begins with")
      case Seq(one) => single(one, types, side, wanted)
      case several =>
        OneOf(several.map { message =>
          val isWanted = wanted.exists(isNamed(message, _))
          Reading(
            message.name,
            new MessageFit(message, types),
            single(message, types, side, wanted),
            isWanted
          )
        })
    }

  private def single(
      message: ProtoMessage,
      types: ProtoTypes,
      side: SideLayout,
      wanted: Option[String]
  ): Written =
    if (!wanted.forall(isNamed(message, _))) Bad(s"it is a message '${message.name}', not '${wanted.get}'")
    else
      try Message(new ProtobufBody(message, types, side, strict = false))
      catch {
        case MessageMismatch(_, reason) => Bad(reason)
        case NonFatal(_) => Bad("the schema it was written with cannot be resolved to that of the query")
      }

  private def isNamed(message: ProtoMessage, name: String) =
    message.name == name || message.name.endsWith(s".$name")
}

/**
 * Options of Spark's `from_protobuf`.
 *
 * @param recursiveDepth how often a message may contain itself, with the message around it; below 1: not at all
 */
private[dynamickafka] final case class ProtobufOptions(
    emitDefaults: Boolean,
    enumsAsInts: Boolean,
    upcastUnsigned: Boolean,
    unwrapWrappers: Boolean,
    recursiveDepth: Int
)

private[dynamickafka] object ProtobufOptions {
  val MessageName = "messageName"
  val DescriptorFile = "descriptorFile"
  val EmitDefaults = "emit.default.values"
  val EnumsAsInts = "enums.as.ints"
  val UpcastUnsigned = "upcast.unsigned.ints"
  val UnwrapWrappers = "unwrap.primitive.wrapper.types"
  val RecursiveDepth = "recursive.fields.max.depth"

  def of(options: Map[String, String]): ProtobufOptions = {
    def flag(name: String) = options.get(name).exists(_.trim.toBoolean)
    ProtobufOptions(
      flag(EmitDefaults),
      flag(EnumsAsInts),
      flag(UpcastUnsigned),
      flag(UnwrapWrappers),
      options.get(RecursiveDepth).fold(-1)(_.trim.toInt)
    )
  }
}

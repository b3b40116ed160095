package io.github.dynamickafka.format.protobuf

import java.{util => ju}

import scala.util.control.NonFatal

import io.github.dynamickafka.format._
import io.github.dynamickafka.option.OptionType.{boolean, int, text}
import io.github.dynamickafka.option.{OptionName, OptionType}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

private[format] abstract class ProtobufFormat(name: String) extends Format(name) {
  override def refused(option: String): Option[String] = Option.when(option == "messageclassname")(
    "it names a Java class; use 'messageName', and for the format 'protobuf' 'descriptorFile'."
  )
}

/** A message that a descriptor file describes. */
private[dynamickafka] object Protobuf extends ProtobufFormat("protobuf") {
  private val both = Some(
    "the format 'protobuf' requires the name of the message, and the descriptor file that 'protoc --include_imports " +
      "--descriptor_set_out' writes."
  )

  override val settings: Seq[FormatSetting] =
    Seq(ProtobufOptions.MessageName, ProtobufOptions.DescriptorFile).map(_.copy(required = both)) ++
      ProtobufOptions.others

  override def decoder(side: SideLayout): Decoder = {
    val (message, types) = ProtobufSchemas.ofFile(side.format).fold(
      reason => throw new IllegalArgumentException(reason),
      identity
    )
    new ProtobufBody(message, types, side, strict = true).whole
  }
}

/** A message behind the id of its schema in a registry. */
private[dynamickafka] object ProtobufConfluent extends ProtobufFormat("protobuf-confluent") {
  override val settings: Seq[FormatSetting] = ProtobufOptions.MessageName +: ProtobufOptions.others

  override def refused(option: String): Option[String] = super.refused(option).orElse(
    Option.when(option == OptionName.normalize(ProtobufOptions.DescriptorFile.name))(
      "the registry has the descriptors."
    )
  )

  override def registry: Option[FormatRegistry] = Some(Registry)
  override def decoder(side: SideLayout): Decoder = ConfluentProtobufDecoder(side, SchemasById.of(side))

  private object Registry extends FormatRegistry {
    override def kind: String = RegisteredSchema.Protobuf

    override def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema] =
      ProtobufSchemas.columnsOfRegistry(schema, side).map(c => DeclaredSchema(c.toNullable))
  }
}

/**
 * Decodes Protobuf with the id of its schema in a registry and the path to its message in that schema. The fields of the message
 * are the columns of the same name.
 */
private[format] object ConfluentProtobufDecoder {
  def apply(side: SideLayout, schemas: (String, Int) => Option[RegisteredSchema]): RegistryDecoder = {
    ProtobufSchemas.checkTypes(side.schema)
    new RegistryDecoder(
      RegisteredSchema.Protobuf,
      schemas,
      ProtobufSchemas.ofRegistry(_).map(new WrittenMessages(_, side))
    )
  }
}

/** The messages of one schema of a registry, by their paths. Not thread-safe. */
private final class WrittenMessages(types: ProtoTypes, side: SideLayout) extends RecordBody {
  private val wanted = side.format.options.get(ProtobufOptions.MessageName.name).map(_.trim.stripPrefix("."))
  private val in = new ProtoInput
  private val known = new ju.HashMap[Seq[Int], RecordBody]

  // Most records have the message of the one before.
  private val first: Seq[Int] = Seq(0)
  private var lastPath: Seq[Int] = first
  private var last: RecordBody = _

  override def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
    in.reset(bytes, from)
    val path =
      try indexes()
      catch { case ProtoInput.Malformed => Nil }
    if ((last eq null) || path != lastPath) {
      last = of(path)
      lastPath = path
    }
    last.decode(bytes, in.position, into)
  }

  /** The path to the message; empty if it is invalid. */
  private def indexes(): Seq[Int] = {
    val count = in.zigZag()
    if (count == 0) first
    else if (count < 0 || count > 100) Nil
    else Seq.fill(count.toInt)(in.zigZag().toInt)
  }

  private def of(path: Seq[Int]): RecordBody = {
    val before = known.get(path)
    if (before ne null) before
    else {
      val found = types.at(path) match {
        case Seq() => new BadBody("its schema does not have the message that it begins with")
        case Seq(one) => single(one)
        case several => new Ambiguous(several.map(m => new Reading(m, new MessageFit(m, types), single(m))))
      }
      // A path is what a record says: there are as many as messages.
      if (!found.isInstanceOf[BadBody]) known.put(path, found)
      found
    }
  }

  private def single(message: ProtoMessage): RecordBody =
    if (!wanted.forall(isNamed(message, _)))
      new BadBody(s"it is a message '${message.name}', not '${wanted.get}'")
    else
      try new ProtobufBody(message, types, side, strict = false)
      catch {
        case MessageMismatch(_, reason) => new BadBody(reason)
        case NonFatal(_) =>
          new BadBody("the schema it was written with cannot be resolved to that of the query")
      }

  private def isNamed(message: ProtoMessage, name: String) =
    message.name == name || message.name.endsWith(s".$name")

  private final class Reading(val message: ProtoMessage, val fit: MessageFit, val body: RecordBody)

  /**
   * Serializers count messages in different ways, see [[ProtoTypes.at]]: a record is the message that its bytes fit. If they fit
   * several, `messageName` decides; without it, the record is a bad one.
   */
  private final class Ambiguous(readings: Seq[Reading]) extends RecordBody {
    private val bad = new BadBody(
      s"its path can mean ${readings.map(r => s"'${r.message.name}'").mkString(" or ")}, because serializers count the " +
        "entries of maps in different ways: set 'messageName'"
    )

    override def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
      val fitting = readings.filter(_.fit.fits(bytes, from))
      val chosen =
        if (fitting.size == 1) fitting else fitting.filter(r => wanted.exists(isNamed(r.message, _)))
      (if (chosen.size == 1) chosen.head.body else bad).decode(bytes, from, into)
    }
  }
}

/**
 * Decodes the messages of one type into columns, with the results of Spark's `from_protobuf`. Not thread-safe.
 *
 * @param strict whether the message has to have each column; otherwise a column that it does not have is null
 */
private[format] final class ProtobufBody(
    message: ProtoMessage,
    types: ProtoTypes,
    side: SideLayout,
    strict: Boolean
) extends RecordBody {
  private val wanted: Array[Int] = side.wanted.toArray
  private val options = new ProtobufOptions(side.format.options)
  private val reader =
    new MessageReader(message, types, side.wantedSchema, options.emitDefaults, strict)
  private val in = new ProtoInput

  override def decode(bytes: Array[Byte], from: Int, into: DecodedValues): DecodeFailure = {
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
    DecodeFailure(reason, field)
  }
}

/** Options of Spark's `from_protobuf`. */
private[dynamickafka] final class ProtobufOptions(options: Map[String, String]) {
  import ProtobufOptions._

  val emitDefaults: Boolean = EmitDefaults.isOn(options)
  val enumsAsInts: Boolean = EnumsAsInts.isOn(options)
  val upcastUnsigned: Boolean = UpcastUnsigned.isOn(options)
  val unwrapWrappers: Boolean = UnwrapWrappers.isOn(options)

  /** How often a message may contain itself, with the message around it; below 1: not at all. */
  val recursiveDepth: Int = options.get(RecursiveDepth.name).fold(-1)(_.trim.toInt)
}

private[dynamickafka] object ProtobufOptions {
  private def ofColumns(name: String, valueType: OptionType[_]) =
    FormatSetting(name, valueType, decidesColumns = true)

  val MessageName: FormatSetting = ofColumns("messageName", text)
  val DescriptorFile: FormatSetting = ofColumns("descriptorFile", text)

  val RecursiveDepth: FormatSetting = ofColumns("recursive.fields.max.depth", int(min = -1))
  private val EmitDefaults = FormatSetting("emit.default.values", boolean, Seq("readDefaultValues"))
  private val EnumsAsInts = ofColumns("enums.as.ints", boolean)
  private val UpcastUnsigned = ofColumns("upcast.unsigned.ints", boolean)
  private val UnwrapWrappers = ofColumns("unwrap.primitive.wrapper.types", boolean)

  val others: Seq[FormatSetting] = FormatSetting.IgnoreParseErrors +:
    Seq(EmitDefaults, RecursiveDepth, EnumsAsInts, UpcastUnsigned, UnwrapWrappers)
}

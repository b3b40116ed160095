package io.github.dynamickafka.format.protobuf

import java.{util => ju}

import io.github.dynamickafka.format.{
  ConfluentHeader,
  DeclaredSchema,
  DecodeFailure,
  DecodedValues,
  Decoder,
  Format,
  FormatRegistry,
  FormatSetting,
  SchemaText,
  SchemasById,
  SideFormat,
  SideLayout
}
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.option.OptionType.{boolean, int, text}
import io.github.dynamickafka.protobuf.{ProtoInput, ProtoTypes}
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
 *
 * @param schemas the schema of an id in the registry of a cluster; None: the registry does not know the id
 */
private[format] final class ConfluentProtobufDecoder(
    side: SideLayout,
    schemas: (String, Int) => Option[RegisteredSchema]
) extends Decoder {
  import ConfluentProtobufDecoder._

  ProtobufSchemas.checkTypes(side.schema)

  private val wanted = side.format.options.get(ProtobufOptions.MessageName).map(_.trim.stripPrefix("."))
  private val schemaTypes = new ju.HashMap[(String, Int), Either[String, ProtoTypes]]
  private val bodies = new ju.HashMap[(String, Int, Seq[Int]), Written]
  private val in = new ProtoInput
  private var cluster: String = _

  // Most records have the schema and the message of the one before.
  private var lastId = 0
  private var lastPath: Seq[Int] = First
  private var last: Written = _

  override def from(next: String): Unit = if (next ne cluster) {
    cluster = next
    last = null
  }

  override def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure =
    if (!WireFormat.hasHeader(bytes)) {
      into.clear()
      ConfluentHeader.Missing
    } else {
      val id = WireFormat.id(bytes)
      val path =
        try {
          in.reset(bytes, WireFormat.HeaderLength)
          indexes()
        } catch { case ProtoInput.Malformed => Nil }
      if ((last eq null) || id != lastId || path != lastPath || (last eq Unknown)) {
        last = of(id, path)
        lastId = id
        lastPath = path
      }
      val failure = last.message(bytes, in.position) match {
        case Right(body) => body.decode(bytes, in.position, into)
        case Left(reason) =>
          into.clear()
          DecodeFailure(reason, None, unparsable = true)
      }
      if (failure eq null) null else failure.copy(schemaId = Some(id))
    }

  /** The path to the message; empty if it is invalid. */
  private def indexes(): Seq[Int] = {
    val count = in.zigZag()
    if (count == 0) First
    else if (count < 0 || count > MostIndexes) Nil
    else Seq.fill(count.toInt)(in.zigZag().toInt)
  }

  private def of(id: Int, path: Seq[Int]): Written = {
    val key = (cluster, id, path)
    val known = bodies.get(key)
    if (known ne null) known
    // Not kept, because the id may be registered later.
    else schemas(cluster, id).fold(Unknown) { schema =>
      val types = schemaTypes.computeIfAbsent((cluster, id), _ => ProtobufSchemas.ofRegistry(schema))
      val found = types.fold(Written.Bad, Written.of(path, _, side, wanted))
      // A path is what a record says: there are as many as messages.
      found match {
        case Written.Bad(_) => ()
        case _ => bodies.put(key, found)
      }
      found
    }
  }
}

private[format] object ConfluentProtobufDecoder {
  private val First: Seq[Int] = Seq(0)
  private val MostIndexes = 100
  private val Unknown: Written = Written.Bad("the schema registry does not know the id of its schema")
}

package io.github.dynamickafka.format.protobuf

import io.github.dynamickafka.format.registry.SchemasById
import io.github.dynamickafka.format.{
  DeclaredSchema,
  Decoder,
  Format,
  FormatRegistry,
  FormatSetting,
  SchemaText,
  SideFormat,
  SideLayout
}
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.option.OptionType.{boolean, int, text}
import io.github.dynamickafka.schemaregistry.RegisteredSchema

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

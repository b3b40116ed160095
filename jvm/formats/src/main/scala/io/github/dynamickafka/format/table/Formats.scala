package io.github.dynamickafka.format.table

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.avro.{Avro, AvroConfluent}
import io.github.dynamickafka.format.change.{
  CanalJson,
  DebeziumAvroConfluent,
  DebeziumJson,
  MaxwellJson,
  OggJson
}
import io.github.dynamickafka.format.json.{Json, JsonConfluent}
import io.github.dynamickafka.format.protobuf.{Protobuf, ProtobufConfluent}
import io.github.dynamickafka.format.{ClassFormat, Csv, Format, Raw, SideFormat, Text}
import io.github.dynamickafka.option.{FormatKey, OptionName, OptionTable, OptionType}
import io.github.dynamickafka.schemaregistry.{Registries, RegistryOptionSpecs}

/**
 * Formats by their names, and what options and error messages say about all of them.
 *
 * @param all in the order of the documentation
 */
private[dynamickafka] final class Formats(val all: Seq[Format]) {

  /** The formats that can be written. */
  val written: Seq[Format] = all.filter(_.writer.isDefined)

  /** The types of options that name a format: of keys and of values, in queries that read and in those that write. */
  val toRead: OptionType[Format] = oneOf(all)
  val valuesToRead: OptionType[Format] = oneOf(all, orOfMetadata = true)
  val toWrite: OptionType[Format] = oneOf(written)
  val valuesToWrite: OptionType[Format] = oneOf(written, orOfMetadata = true)

  def find(name: String): Option[Format] = all.find(_.name.equalsIgnoreCase(name.trim))

  /** The names of some formats for error messages. */
  def names(include: Format => Boolean): String = quoted(all.filter(include)).mkString(", ")

  /** Whether an option of a format, such as `protobuf.enums.as.ints`, decides the columns of a table, not only their values. */
  def decidesColumns(option: FormatKey): Boolean = all.exists(format =>
    format.name == option.format && format.settings.exists(s => s.decidesColumns && s.named(option.option))
  )

  /** @param orOfMetadata whether `metadata` is valid too, which is replaced before options are parsed, so that it is an error here */
  private def oneOf(formats: Seq[Format], orOfMetadata: Boolean = false): OptionType[Format] = {
    val more = if (orOfMetadata) Seq(Formats.OfMetadata) else Nil
    val names = formats.map(_.name)
    def refused(text: String) =
      if (more.exists(_.equalsIgnoreCase(text)))
        "it is an option of queries with 'format(\"dynamic-kafka\")'. Tables of a DynamicKafkaCatalog have the format of " +
          "the metadata without it; tables of Spark's own catalog name their format."
      else if (find(text).exists(_.isChange))
        s"it is for reading only. Changes are written as ${quoted(written.filter(_.isChange)).mkString(" or ")}."
      else OptionType.notOneOf(text, names ++ more)
    OptionType(
      ("[format](formats.md)" +: (s"${ClassFormat.Prefix}<name>" +: more).map(word => s"`$word`")).mkString(
        ", "
      ),
      text =>
        ClassFormat.parse(text).getOrElse(
          formats.find(_.name.equalsIgnoreCase(text)).toRight(refused(text))
        )
    )
  }

  private def quoted(formats: Seq[Format]) = formats.map(f => s"'${f.name}'")
}

private[dynamickafka] object Formats {

  /** The value of `format` for what the metadata says, which is put in its place before options are parsed. */
  final val OfMetadata = "metadata"

  /** The registration of a format is its place in this list. */
  val registered: Formats = new Formats(
    Seq(
      Raw,
      Text,
      Json,
      Csv,
      Avro,
      AvroConfluent,
      JsonConfluent,
      DebeziumJson,
      DebeziumAvroConfluent,
      CanalJson,
      MaxwellJson,
      OggJson,
      Protobuf,
      ProtobufConfluent
    )
  )

  /** Whether this is the name of an option about formats. */
  def isOption(name: String, table: OptionTable): Boolean =
    FormatKey.of(name, table.formats).isDefined ||
      table.find(name).exists(spec =>
        (FormatOptionSpecs.all ++ WriteOptionSpecs.classes ++ RegistryOptionSpecs.all).exists(
          _.key == spec.key
        )
      )

  /** The format of queries that set none. */
  val default: Format = Raw

  /** The columns of Spark's Kafka source. */
  val plain: FormatTable = FormatTable(SideFormat(default))
}

/**
 * The registries of clusters that the metadata gives. `cluster.<id>.registry.*` takes precedence over them, and they take precedence over
 * the settings of a table.
 *
 * @param counts whether the metadata has any effect
 * @param stated names of options of one query of a table, which take precedence over the metadata
 */
private[dynamickafka] final case class ClusterRegistries(
    counts: Boolean = false,
    stated: Set[String] = Set.empty
) {
  private lazy val kept =
    RegistryOptionSpecs.all.filter(spec =>
      stated.exists(name => spec.named(name) || isOfFormat(name, spec.key))
    )
      .map(_.key).toSet

  /** Flink's names: `avro-confluent.url`. */
  private def isOfFormat(name: String, key: String) =
    Formats.registered.all.exists(format =>
      format.hasRegistry && OptionName.normalize(name)
        .endsWith(OptionName.normalize(s"${format.name}.${key.drop(RegistryOptionSpecs.Prefix.length)}"))
    )

  /**
   * The options of the registry of a cluster.
   *
   * @param metadata what the metadata says about it
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException METADATA_INVALID
   */
  def of(metadata: Map[String, String]): Map[String, String] =
    if (!counts) Map.empty
    else {
      val found = metadata.flatMap { case (name, value) =>
        val spec = RegistryOptionSpecs.all.find(_.named(name)).getOrElse(throw Errors.metadataInvalid(
          "key 'registry'",
          s"'$name' is not an option of a registry"
        ))
        val _ = spec.parse(value, name)
        Option.unless(kept(spec.key))(spec.key -> value.trim)
      }
      Registries(found).check("", required = false)
      found
    }

  /** The registries of the values on a cluster. */
  def ofValues(format: FormatTable, metadata: Map[String, String]): Registries =
    format.value.registries.in(of(metadata))
}

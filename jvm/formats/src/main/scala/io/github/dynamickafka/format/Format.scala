package io.github.dynamickafka.format

import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.schemaregistry.RegisteredSchema

/**
 * How the bytes of keys or values are read, and, with a [[FormatWriter]], written. A format is an object in the folder of its family,
 * and is registered in [[io.github.dynamickafka.format.table.Formats]]: docs/dev/new-format.md. Sent to executors.
 *
 * @param name in options
 */
private[dynamickafka] abstract class Format(val name: String) extends Serializable {

  /**
   * Of a format that has the whole bytes as one column: the types that the column may have, the default first. Empty: the bytes contain
   * fields, which a schema describes.
   */
  def wholeTypes: Seq[DataType] = Nil
  final def hasFields: Boolean = wholeTypes.isEmpty

  /** Whether the column has the bytes as they are. */
  def isBytes: Boolean = false

  /** Whether a record can be a bad one. */
  def canFail: Boolean = hasFields

  /** Whether some fields can be decoded without the others. */
  def decodesFields: Boolean = hasFields

  /** The columns, if the format determines them. */
  def fixedSchema: Option[StructType] = None

  /** Why the format needs the option `schema` to have columns at all; None: it needs it as all formats with fields do. */
  def withoutSchema: Option[String] = None

  /** Whether a record is a change of a table's rows. For values only. */
  def isChange: Boolean = false

  /** Whether values depend on the time zone of the session. */
  def usesTimeZone: Boolean = false

  /** Whether the options of the format apply to an Avro schema in the option `schema`. */
  def readsAvroSchema: Boolean = false

  /** Whether columns can be VARIANT. */
  def hasVariants: Boolean = false

  /** The schema, as Avro's JSON, that records have if the option `schema` declares these columns, some of them NOT NULL. */
  def avroSchema(columns: StructType): Option[String] = {
    val _ = columns
    None
  }

  /** What the format knows about a record beside its fields. */
  def metadata: Seq[FormatMetadata] = Nil

  /** If the bytes begin with the id of their schema in a registry. */
  def registry: Option[FormatRegistry] = None
  final def hasRegistry: Boolean = registry.isDefined

  /** The options of the format in a query that reads. */
  def settings: Seq[FormatSetting] = Nil

  /** The option of this name, of those or, in a format that passes all options on, of any name. */
  def setting(name: String): Option[FormatSetting] = settings.find(_.named(name))

  /**
   * Why an option that Spark or Flink have for the format is refused.
   *
   * @param option normalized
   */
  def refused(option: String): Option[String] = {
    val _ = option
    None
  }

  /** Options that Spark or Flink have for the format and that have no effect when records are read. */
  def withoutEffect: Set[String] = Set.empty

  /** The options for the decoder, by Spark's names. */
  def forDecoder(set: Map[String, String]): Map[String, String] = set

  /**
   * Makes the decoder of a task.
   *
   * @throws Exception for types or options that the format does not support: it is also made on the driver
   */
  def decoder(side: SideLayout): Decoder

  /** None: the format is for reading only. */
  def writer: Option[FormatWriter] = None

  override def toString: String = name
}

/** How fields are written in a [[Format]]. */
private[dynamickafka] trait FormatWriter {

  /** The options of the format in a query that writes. */
  def settings: Seq[FormatSetting] = Nil

  /** See [[Format.setting]]. */
  def setting(name: String): Option[FormatSetting] = settings.find(_.named(name))

  /** Whether the column of a format without fields is encoded too, from the first type of the format. */
  def encodesWhole: Boolean = false

  /**
   * Why an option that Spark or Flink have for the format is refused.
   *
   * @param option normalized
   */
  def refused(option: String): Option[String] = {
    val _ = option
    None
  }

  /** The options for the encoder, by Spark's names. */
  def forEncoder(set: Map[String, String]): Map[String, String] = set

  /**
   * Makes the encoder of a task.
   *
   * @throws Exception for types or options that the format does not support: it is also made on the driver
   */
  def encoder(fields: SideSource.Fields): Encoder

  /** Why the fields cannot be written, as far as [[encoder]] does not find out. */
  def problem(fields: SideSource.Fields): Option[String] = {
    val _ = fields
    None
  }

  /** Of a format with a registry: the schema that the fields are written with. */
  def schema(fields: SideSource.Fields): Option[RegisteredSchema] = {
    val _ = fields
    None
  }
}

/** What the schemas of registries mean for a [[Format]]. */
private[dynamickafka] trait FormatRegistry {

  /** See [[io.github.dynamickafka.schemaregistry.RegisteredSchema.kind]]. */
  def kind: String

  /** Whether a record can be decoded with its schema only. */
  def isRequired: Boolean = true

  /** The columns of records with this schema, or why there are none. */
  def columns(schema: RegisteredSchema, side: SideFormat): Either[String, DeclaredSchema]

  /** Why records with the schema `written` cannot be read as `wanted`; None: they can. */
  def difference(wanted: DeclaredSchema, written: DeclaredSchema): Option[String] = {
    val types = written.columns.map(f => f.name -> f.dataType).toMap
    wanted.columns.find(f => types.get(f.name).exists(_ != f.dataType)).map(f =>
      s"'${f.name}' is ${types(f.name).sql}, not ${f.dataType.sql}"
    )
  }
}

package io.github.dynamickafka.format

import scala.annotation.unused

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.TypeCheckResult
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.types.{DataType, StructType}

import io.github.dynamickafka.extension.TargetRecord
import io.github.dynamickafka.option.{NamedClass, OptionName, OptionType}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, RegistryOptionSpecs}

/**
 * How the bytes of keys or values are read, and, with a [[FormatWriter]], written. A format is an object in the folder of its family,
 * and is registered in [[io.github.dynamickafka.format.table.Formats]]: docs/dev/adding.md. Sent to executors.
 *
 * @param name in options
 */
private[dynamickafka] abstract class Format(val name: String) extends FormatSettings with Serializable {

  /**
   * The types that the column of a format with the whole bytes as one column may have, the default first. Empty: the bytes contain
   * fields, which a schema describes.
   */
  def wholeTypes: Seq[DataType] = Nil
  final def hasFields: Boolean = wholeTypes.isEmpty

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
  def hasVariants: Boolean = false

  /** The schema, as Avro's JSON, that records have if the option `schema` declares these columns, some of them NOT NULL. */
  def avroSchema(@unused columns: StructType): Option[String] = None

  /** What the format knows about a record beside its fields. */
  def metadata: Seq[FormatMetadata] = Nil

  /** If the bytes begin with the id of their schema in a registry. */
  def registry: Option[FormatRegistry] = None
  final def hasRegistry: Boolean = registry.isDefined

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

/** The options of a format in queries that read, or in those that write. */
private[dynamickafka] trait FormatSettings {
  def settings: Seq[FormatSetting] = Nil

  /** The option of this name, of those or, in a format that passes all options on, of any name. */
  def setting(name: String): Option[FormatSetting] = settings.find(_.named(name))

  /**
   * Why an option that Spark or Flink have for the format is refused.
   *
   * @param option normalized
   */
  def refused(@unused option: String): Option[String] = None
}

/** How fields are written in a [[Format]]. */
private[dynamickafka] trait FormatWriter extends FormatSettings {

  /** Whether the column of a format without fields is encoded too, from the first type of the format. */
  def encodesWhole: Boolean = false

  /** The options for the encoder, by Spark's names. */
  def forEncoder(set: Map[String, String]): Map[String, String] = set

  /**
   * Makes the encoder of a task.
   *
   * @throws Exception for types or options that the format does not support: it is also made on the driver
   */
  def encoder(fields: SideLayout): Encoder

  /** Why the fields cannot be written, as far as [[encoder]] does not find out. */
  def problem(@unused fields: SideLayout): Option[String] = None

  /** The schema that a format with a registry writes the fields with. */
  def schema(@unused fields: SideLayout): Option[RegisteredSchema] = None
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

/**
 * An option of one format.
 *
 * @param name the name in Spark, or in Flink if Spark has no such option
 * @param valueType checks the value, which is passed on as text
 * @param aliases the names in Flink
 * @param decidesColumns whether the types of columns depend on the option, not only their values
 * @param required why a query has to set the option, if it has to
 * @param refusedInWrites why a query that writes refuses an option of reading also in the settings of a catalog, if it does: with the
 *                        option, what is written could not be read
 */
private[dynamickafka] final case class FormatSetting(
    name: String,
    valueType: OptionType[_],
    aliases: Seq[String] = Nil,
    decidesColumns: Boolean = false,
    required: Option[String] = None,
    refusedInWrites: Option[String] = None
) {
  private val keys = (name +: aliases).map(OptionName.normalize).toSet

  def named(other: String): Boolean = keys(OptionName.normalize(other))
  def isOn(options: Map[String, String]): Boolean = options.get(name).exists(_.trim.toBoolean)
}

/** The options that several formats have, and the rules for all options of formats. */
private[dynamickafka] object FormatSetting {
  import OptionType.{boolean, text}

  val IgnoreParseErrors: FormatSetting = FormatSetting("ignoreParseErrors", boolean)
  val FailOnMissingField: FormatSetting = FormatSetting("failOnMissingField", boolean)

  def texts(names: String*): Seq[FormatSetting] = names.map(FormatSetting(_, text))
  def flags(names: String*): Seq[FormatSetting] = names.map(FormatSetting(_, boolean))

  /** A character may be a space, and a literal may be empty. */
  val anything: OptionType[String] = OptionType("string", Right(_))

  private val parseErrors = Set("mode", "columnnameofcorruptrecord")

  /** Why a query that reads refuses an option that Spark or Flink have for the format. */
  def refused(format: Format, option: String): Option[String] = {
    val name = OptionName.normalize(option)
    if (parseErrors(name)) Some("use 'parseErrors', 'keyParseErrors' or 'valueParseErrors'.")
    else
      format.refused(name).orElse(ofRegistry(format, name)).orElse(
        Option.when(format.withoutEffect.map(OptionName.normalize)(name))(
          "it has no effect when records are read."
        )
      )
  }

  /** Why a query that writes refuses an option of the format. */
  def refusedInWrites(format: Format, option: String): Option[String] = {
    val name = OptionName.normalize(option)
    format.settings.find(_.named(option)).map(_.refusedInWrites)
      .orElse(Option.when(name == "mode")(None))
      .map(_.getOrElse("it has no effect when records are written."))
      .orElse(ofRegistry(format, name))
      .orElse(format.writer.flatMap(_.refused(name)))
  }

  /** Options of Flink about registries, for reading and writing. */
  private def ofRegistry(format: Format, name: String): Option[String] =
    if (!format.hasRegistry) None
    else if (name == "schema") Some("use 'schema' without a prefix.")
    else Option.when(name.endsWith(".credentialssource"))(
      s"the credentials are those of '${RegistryOptionSpecs.UserInfo.name}' or '${RegistryOptionSpecs.Token.name}'."
    )
}

/** The options of formats whose times are texts. */
private[format] object TimeSettings {
  import FormatSetting.{flags, texts}

  /** Flink's setting; sets the formats of timestamps in Spark. */
  private val standard: FormatSetting =
    FormatSetting("timestampFormat.standard", OptionType.oneOf("SQL" -> "SQL", "ISO-8601" -> "ISO-8601"))

  private val formats = texts("timeZone", "dateFormat", "timestampFormat", "timestampNTZFormat", "locale")

  val reading: Seq[FormatSetting] = formats ++ flags("enableDateTimeParsingFallback")
  val writing: Seq[FormatSetting] = formats

  /** Flink's option, of JSON only. */
  val ofFlink: Seq[FormatSetting] = Seq(standard)

  def forDecoder(set: Map[String, String]): Map[String, String] =
    (if (set.contains(standard.name)) {
       val local = s"yyyy-MM-dd${separator(set)}HH:mm:ss[.SSSSSSSSS]"
       Map("timestampFormat" -> s"$local[XXX]", "timestampNTZFormat" -> local)
     } else Map.empty[String, String]) ++ (set - standard.name)

  /** Timestamps have six digits, because Spark's own default cuts off what is below milliseconds. */
  def forEncoder(set: Map[String, String]): Map[String, String] = {
    val local = s"yyyy-MM-dd${separator(set)}HH:mm:ss.SSSSSS"
    Map("timestampFormat" -> s"${local}XXX", "timestampNTZFormat" -> local) ++ (set - standard.name)
  }

  private def separator(set: Map[String, String]) =
    if (set.get(standard.name).exists(_.trim.equalsIgnoreCase("SQL"))) " " else "'T'"
}

/** Decodes keys or values. Used by one task. Not thread-safe. */
private[dynamickafka] trait Decoder {

  /** The records that follow are of this cluster, whose registry may be another one. Called for each record. */
  def from(@unused cluster: String): Unit = ()

  /** Shows the record whose bytes are decoded. Called once, before the first record. */
  def within(@unused context: ReadContext): Unit = ()

  /** Called at the end of the task. */
  def close(): Unit = ()

  /**
   * @param bytes not null
   * @param into receives the wanted fields, also those that could be decoded of a bad record
   * @return null if the record is good
   */
  def decode(bytes: Array[Byte], into: DecodedValues): DecodeFailure
}

/**
 * Why a record is bad. Contains nothing of the record but names of the schema.
 *
 * @param field the column that could not be decoded, if it is known
 * @param unparsable whether nothing of the record could be decoded
 * @param schemaId of a format with a registry
 */
private[dynamickafka] final case class DecodeFailure(
    reason: String,
    field: Option[String] = None,
    unparsable: Boolean = true,
    schemaId: Option[Int] = None
)

/** Encodes the fields of keys or values. Used by one task. Not thread-safe. */
private[dynamickafka] trait Encoder {

  /**
   * Shows the record whose bytes are encoded. Called once, before the first row.
   *
   * @param record one object for all records; topic and cluster are null where they are not known before the row is routed
   */
  def within(@unused record: TargetRecord): Unit = ()

  /** Called at the end of the task. */
  def close(): Unit = ()

  def encode(row: InternalRow): Array[Byte]
}

/** The row cannot be encoded; the message contains nothing of it. */
private[dynamickafka] final class UnencodableException(message: String) extends RuntimeException(message)

/** What Spark's functions check before they run. */
private[format] object TypeCheck {

  /** @param check of the function's expression, by the struct of the fields and the time zone */
  def problem(fields: SideLayout)(
      check: (Expression, Option[String]) => TypeCheckResult
  ): Option[String] =
    check(BoundReference(0, fields.schema, nullable = false), fields.format.options.get("timeZone")) match {
      case TypeCheckResult.TypeCheckSuccess => None
      case TypeCheckResult.DataTypeMismatch(condition, parameters) =>
        Some(s"$condition ${parameters.map { case (k, v) => s"$k: $v" }.mkString(", ")}")
      case TypeCheckResult.TypeCheckFailure(message) => Some(message)
      case other => Some(other.toString)
    }
}

/** What a format may look at beside the bytes of a record that is read. One object shows all records of a task. */
private[dynamickafka] trait ReadContext {
  def topic: String
  def cluster: String
  def headers: Iterator[(String, Array[Byte])]
}

/**
 * Formats by classes of Kafka's interfaces `Deserializer` and `Serializer`. Formats do not depend on Kafka's clients: the connector has
 * the implementation, which is found as a service.
 */
private[dynamickafka] trait KafkaSerdes {

  /**
   * The format of a class, or why it cannot be used.
   *
   * @param option the option that names the class, which is the name of the format
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA if no column can have its type
   */
  def deserializer(option: String, className: String): Either[String, Format]

  /** See [[deserializer]]. */
  def serializer(option: String, className: String): Either[String, Format]
}

private[dynamickafka] object KafkaSerdes {
  private lazy val found: Option[KafkaSerdes] = NamedClass.registered(classOf[KafkaSerdes]).headOption

  def deserializers(option: String): OptionType[Format] = ofClass(_.deserializer(option, _))
  def serializers(option: String): OptionType[Format] = ofClass(_.serializer(option, _))

  private def ofClass(make: (KafkaSerdes, String) => Either[String, Format]): OptionType[Format] =
    OptionType("class name", name => found.toRight("there is no Kafka client.").flatMap(make(_, name)))
}

/** What a task closes at its end. */
private[format] object TaskResource {

  /** Does nothing without a task: the caller closes. */
  def closeAtEnd(resource: AutoCloseable): Unit =
    Option(TaskContext.get()).foreach(_.addTaskCompletionListener[Unit](_ => resource.close()))
}

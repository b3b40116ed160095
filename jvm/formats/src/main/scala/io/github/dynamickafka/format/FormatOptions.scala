package io.github.dynamickafka.format

import scala.collection.immutable.ArraySeq

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.schemaregistry.{RegisteredSchema, Registries}

/** What happens to a record that cannot be decoded. */
private[dynamickafka] sealed trait ParseErrors extends Product with Serializable {

  /** Whether a bad record yields no row, so that all records have to be decoded. */
  def drops: Boolean = false
}

private[dynamickafka] object ParseErrors {

  /** The query fails. */
  case object Fail extends ParseErrors

  /** What cannot be decoded is null. */
  case object Nulls extends ParseErrors

  /** The record yields no row. */
  case object Drop extends ParseErrors { override def drops: Boolean = true }

  /** As [[Nulls]], with the bytes and the reason in two columns. */
  case object Keep extends ParseErrors

  /** The record yields no row, and is written to a topic. */
  case object DeadLetter extends ParseErrors { override def drops: Boolean = true }

  /** Flink's `ignore-parse-errors`: a field is null, a record of which nothing can be parsed yields no row. */
  case object Ignore extends ParseErrors { override def drops: Boolean = true }
}

/**
 * The format of keys or of values.
 *
 * @param options the options of the format, by the names that Spark gives them
 * @param failOnMissingField whether a record without one of the fields is a bad record
 * @param registries of a format with a registry
 * @param descriptor the file of `protobuf.descriptorFile`, once it has been read
 */
private[dynamickafka] final case class SideFormat(
    format: Format,
    options: Map[String, String] = Map.empty,
    parseErrors: ParseErrors = ParseErrors.Fail,
    failOnMissingField: Boolean = false,
    registries: Registries = Registries(),
    descriptor: Option[ArraySeq[Byte]] = None
)

/**
 * The formats of a query.
 *
 * @param keyFields the columns that are read from keys, with their prefix; with `raw` and `string` the name of the only one
 * @param exceptKey whether these columns are not in the values
 * @param metadata None: the default columns
 * @param deadLetterTopic set if bad records are dead letters
 * @param deadLetterCluster the cluster of this topic; None: that of each record
 * @param changeEnvelope whether a format of changes gives envelopes instead of rows
 * @param upsert whether the stream is a table with a key, in which a null value deletes
 * @param schemaFromRegistry `schema=registry`: `schema` is not known yet
 */
private[dynamickafka] final case class FormatOptions(
    value: SideFormat,
    key: Option[SideFormat] = None,
    keyFields: Seq[String] = Nil,
    keyFieldsPrefix: String = "",
    exceptKey: Boolean = false,
    schema: Option[DeclaredSchema] = None,
    metadata: Option[Seq[MetadataItem]] = None,
    metadataPrefix: String = "",
    changeEnvelope: Boolean = false,
    schemaFromRegistry: Boolean = false,
    deadLetterTopic: Option[String] = None,
    deadLetterCluster: Option[String] = None,
    upsert: Boolean = false
) {

  /** Where bad records are written; None: nowhere. */
  def deadLetters: Option[String] =
    deadLetterTopic.filter(_ => (value +: key.toSeq).exists(_.parseErrors == ParseErrors.DeadLetter))

  /** Whether the column of a whole key is a field of the values, so that it is read from there. */
  def keyIsInValue: Boolean =
    !exceptKey && value.format.hasFields &&
      schema.forall(_.columns.exists(f => wholeKey.contains(f.name)))

  /** The name of the column that is the whole key, with `raw` and `string`. */
  def wholeKey: Option[String] =
    key.filter(!_.format.hasFields).map(_ => keyFields.headOption.getOrElse("key"))

  /** Whether the columns are those of Spark's Kafka source, then `cluster` and `stream`. */
  def isPlain: Boolean =
    value.format.isBytes && key.isEmpty && metadata.isEmpty && metadataPrefix.isEmpty
}

/**
 * The option `schema`.
 *
 * @param columns all nullable
 * @param avro the schema as JSON, if it was given as an Avro schema
 * @param registered the schema as the registry has it, with `schema=registry`
 */
private[dynamickafka] final case class DeclaredSchema(
    columns: StructType,
    avro: Option[String] = None,
    registered: Option[RegisteredSchema] = None
)

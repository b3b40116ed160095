package io.github.dynamickafka.format

import scala.collection.immutable.{ArraySeq, ListSet}

import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.option.{OptionName, OptionType}
import io.github.dynamickafka.schemaregistry.{RegisteredSchema, Registries}

/**
 * What happens to a record that cannot be decoded.
 *
 * @param drops whether a bad record yields no row, so that all records have to be decoded
 */
private[dynamickafka] sealed abstract class ParseErrors(val drops: Boolean = false)
    extends Product
    with Serializable

private[dynamickafka] object ParseErrors {

  /** The query fails. */
  case object Fail extends ParseErrors()

  /** What cannot be decoded is null. */
  case object Nulls extends ParseErrors()

  /** The record yields no row. */
  case object Drop extends ParseErrors(drops = true)

  /** What cannot be decoded is null. Two columns have the bytes and the reason. */
  case object Keep extends ParseErrors()

  /** The record yields no row, and is written to a topic. */
  case object DeadLetter extends ParseErrors(drops = true)

  /** Flink's `ignore-parse-errors`: a field is null, a record of which nothing can be parsed yields no row. */
  case object Ignore extends ParseErrors(drops = true)
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

/** An entry of the option `metadataColumns`. */
private[dynamickafka] sealed trait MetadataItem extends Product with Serializable {

  /** The name of the column, without `metadataPrefix`. */
  def name: String
}

private[dynamickafka] object MetadataItem {

  /** About the record: `offset`, `offset AS position`. */
  final case class OfRecord(column: MetadataColumn, as: Option[String] = None) extends MetadataItem {
    override def name: String = as.getOrElse(column.name)
  }

  /**
   * Metadata of the format of the values: `value.source.table`.
   *
   * @param key as the user wrote it, without `value.`
   */
  final case class OfFormat(key: String, as: Option[String] = None) extends MetadataItem {
    override def name: String = as.getOrElse(FormatMetadata.column(key))
  }

  val default: Seq[MetadataItem] = MetadataColumn.default.map(OfRecord(_))
  val ofRecord: Seq[MetadataItem] = MetadataColumn.all.map(OfRecord(_))

  private val Renamed = raw"(?i)(\S+)\s+AS\s+(\S+)".r
  private val Value = "value."

  val list: OptionType[Seq[MetadataItem]] =
    OptionType(
      "list (`;` or `,`)",
      { text =>
        val (reasons, items) = text.split("[;,]").map(_.trim).filter(_.nonEmpty).toSeq.partitionMap(item)
        reasons.headOption
          .orElse(items.map(_.name).diff(items.map(_.name).distinctBy(_.toLowerCase)).headOption.map(n =>
            s"it contains '$n' twice."
          ))
          .toLeft(items)
      }
    )

  private def item(text: String): Either[String, MetadataItem] = {
    val (source, as) = text match {
      case Renamed(found, name) => (found, Some(name))
      case _ => (text, None)
    }
    if (source.toLowerCase.startsWith(Value)) Right(OfFormat(source.drop(Value.length), as))
    else MetadataColumn.find(source).map(OfRecord(_, as)).toRight {
      val known = MetadataColumn.all.map(c => s"'${c.name}'").mkString(", ")
      s"there is no column '$source'; there are $known."
    }
  }
}

/**
 * A column about a record that is not in its decoded bytes.
 *
 * @param code what distinguishes the columns in the loop over the records
 */
private[dynamickafka] sealed abstract class MetadataColumn(
    val name: String,
    val dataType: DataType,
    val nullable: Boolean,
    val code: Int
) extends Product
    with Serializable

private[dynamickafka] object MetadataColumn {
  // `final val` without a type, so that the compiler inlines them.
  final val TopicCode = 0
  final val PartitionCode = 1
  final val OffsetCode = 2
  final val TimestampCode = 3
  final val ClusterCode = 4
  final val StreamCode = 5
  final val TimestampTypeCode = 6
  final val LeaderEpochCode = 7
  final val HeadersCode = 8
  final val KeyCode = 9
  final val ValueCode = 10

  case object Topic extends MetadataColumn("topic", StringType, false, TopicCode)
  case object Partition extends MetadataColumn("partition", IntegerType, false, PartitionCode)
  case object Offset extends MetadataColumn("offset", LongType, false, OffsetCode)
  case object Timestamp extends MetadataColumn("timestamp", TimestampType, false, TimestampCode)
  case object Cluster extends MetadataColumn("cluster", StringType, false, ClusterCode)
  case object Stream extends MetadataColumn("stream", StringType, false, StreamCode)
  case object TimestampKind extends MetadataColumn("timestampType", IntegerType, false, TimestampTypeCode)
  case object LeaderEpoch extends MetadataColumn("leaderEpoch", IntegerType, true, LeaderEpochCode)

  /** Headers as with Spark's `includeHeaders`. Their type uses no value of this object, whose list would lack the column then. */
  case object Headers extends MetadataColumn(
        "headers",
        ArrayType(new StructType().add("key", StringType).add("value", BinaryType)),
        true,
        HeadersCode
      )
  case object Key extends MetadataColumn("key", BinaryType, true, KeyCode)
  case object Value extends MetadataColumn("value", BinaryType, true, ValueCode)

  val default: Seq[MetadataColumn] = Seq(Topic, Partition, Offset, Timestamp, Cluster, Stream)
  val all: Seq[MetadataColumn] = default ++ Seq(TimestampKind, LeaderEpoch, Headers, Key, Value)

  def find(name: String): Option[MetadataColumn] = all.find(_.name.equalsIgnoreCase(name))
}

/**
 * What a format knows about a record beside its fields, by Flink's key.
 *
 * @param key in `metadataColumns` after `value.`
 */
private[dynamickafka] final case class FormatMetadata(key: String, dataType: DataType)

private[dynamickafka] object FormatMetadata {
  def find(format: Format, key: String): Option[FormatMetadata] =
    format.metadata.find(m => OptionName.normalize(m.key) == OptionName.normalize(key))

  /** What the columns of a query ask for. */
  def asked(format: Format, items: Option[Seq[MetadataItem]]): Seq[FormatMetadata] =
    items.toSeq.flatten.collect { case MetadataItem.OfFormat(key, _) => key }.flatMap(find(
      format,
      _
    )).distinct

  def column(key: String): String = key.replace('.', '_').replace('-', '_')
}

/**
 * How a record of a format of changes becomes rows.
 *
 * @param payload the columns of the changed table
 * @param metadata of the format, as far as columns ask for it
 * @param wanted indexes of columns about the change, see [[ChangeLayout.TypeIndex]]
 * @param envelope whether the fields of the values are those of [[ChangeLayout.envelope]]
 */
private[dynamickafka] final case class ChangeLayout(
    payload: StructType,
    metadata: Seq[FormatMetadata],
    wanted: Seq[Int],
    envelope: Boolean
) {
  def types: Array[DataType] = (StringType +: metadata.map(_.dataType)).toArray
}

/** What the column [[ChangeLayout.TypeColumn]] can have. */
private[dynamickafka] object ChangeKind {
  val Insert: UTF8String = UTF8String.fromString("insert")
  val Postimage: UTF8String = UTF8String.fromString("update_postimage")
  val Preimage: UTF8String = UTF8String.fromString("update_preimage")
  val Delete: UTF8String = UTF8String.fromString("delete")
  val All: Set[UTF8String] = ListSet(Insert, Postimage, Preimage, Delete)

  /** The kinds, for error messages. */
  val Names: String = All.map(kind => s"'$kind'").mkString(", ")
}

private[dynamickafka] object ChangeLayout {
  val TypeColumn = "_change_type"

  /** The column `_change_type`; those of the metadata follow. */
  val TypeIndex = 0

  def envelope(payload: StructType): StructType = new StructType()
    .add("op", StringType)
    .add("before", payload)
    .add("after", payload)
    .add("source", MapType(StringType, StringType))
    .add("ts_ms", LongType)
}

/** What a record that changes a row of a table becomes: the option `changeData`. */
private[dynamickafka] sealed trait ChangeMode extends Product with Serializable

private[dynamickafka] object ChangeMode {

  /** The rows before and after, of a format of changes. */
  case object Rows extends ChangeMode

  /** One row, of a format of changes. */
  case object Envelope extends ChangeMode

  /** The row with the key of the record, or, with a null value, its deletion, of any other format. */
  case object Upsert extends ChangeMode
}

package io.github.dynamickafka.format

import org.apache.spark.sql.types.{
  ArrayType,
  DataType,
  IntegerType,
  LongType,
  MapType,
  StringType,
  StructType,
  TimestampType
}

import io.github.dynamickafka.option.OptionName

/**
 * What a format knows about a record beside its fields, by Flink's key.
 *
 * @param key in `metadataColumns` after `value.`
 */
private[dynamickafka] final case class FormatMetadata(key: String, dataType: DataType)

private[dynamickafka] object FormatMetadata {
  private val texts = MapType(StringType, StringType)
  private val ingestion = FormatMetadata("ingestion-timestamp", TimestampType)
  private val event = FormatMetadata("event-timestamp", TimestampType)
  private val database = FormatMetadata("database", StringType)
  private val table = FormatMetadata("table", StringType)

  def of(format: Format): Seq[FormatMetadata] = format match {
    case Format.DebeziumJson => Seq(
        FormatMetadata("schema", StringType),
        ingestion,
        FormatMetadata("source.timestamp", TimestampType),
        FormatMetadata("source.database", StringType),
        FormatMetadata("source.schema", StringType),
        FormatMetadata("source.table", StringType),
        FormatMetadata("source.properties", texts)
      )
    case Format.DebeziumAvroConfluent => of(Format.DebeziumJson).filter(_.key != "schema")
    case Format.CanalJson => Seq(
        database,
        table,
        FormatMetadata("sql-type", MapType(StringType, IntegerType)),
        FormatMetadata("pk-names", ArrayType(StringType)),
        ingestion,
        event
      )
    case Format.MaxwellJson =>
      Seq(database, table, FormatMetadata("primary-key-columns", ArrayType(StringType)), ingestion)
    case Format.OggJson =>
      Seq(table, FormatMetadata("primary-keys", ArrayType(StringType)), ingestion, event)
    case _ => Nil
  }

  def find(format: Format, key: String): Option[FormatMetadata] =
    of(format).find(m => OptionName.normalize(m.key) == OptionName.normalize(key))

  /** What the columns of a query ask for. */
  def asked(options: FormatOptions): Seq[FormatMetadata] =
    options.metadata.toSeq.flatten.collect { case MetadataItem.OfFormat(key, _) => key }
      .flatMap(find(options.value.format, _)).distinct

  /** The default name of the column. */
  def column(key: String): String = key.replace('.', '_').replace('-', '_')
}

/**
 * How a record of a [[Format.Change]] becomes rows.
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

  /** The types of the columns about the change. */
  def types: Array[DataType] = (StringType +: metadata.map(_.dataType)).toArray
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

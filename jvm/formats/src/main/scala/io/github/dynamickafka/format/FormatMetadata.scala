package io.github.dynamickafka.format

import org.apache.spark.sql.types.{DataType, LongType, MapType, StringType, StructType}

import io.github.dynamickafka.option.OptionName

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
  def asked(options: FormatOptions): Seq[FormatMetadata] =
    options.metadata.toSeq.flatten.collect { case MetadataItem.OfFormat(key, _) => key }
      .flatMap(find(options.value.format, _)).distinct

  /** The default name of the column. */
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

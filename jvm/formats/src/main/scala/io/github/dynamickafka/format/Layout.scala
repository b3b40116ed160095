package io.github.dynamickafka.format

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, StructField, StructType}

import io.github.dynamickafka.schemaregistry.RegisteredSchema

/** Where the values of a column come from. */
private[dynamickafka] sealed trait ColumnOrigin extends Product with Serializable

private[dynamickafka] object ColumnOrigin {

  /** @param index in the fields of the keys, and of the values */
  final case class OfKey(index: Int) extends ColumnOrigin
  final case class OfValue(index: Int) extends ColumnOrigin
  final case class OfRecord(column: MetadataColumn) extends ColumnOrigin

  /** A column about the change that a row is a part of, see [[ChangeLayout]]. */
  final case class OfChange(index: Int) extends ColumnOrigin
  case object CorruptRecord extends ColumnOrigin
  case object DecodeError extends ColumnOrigin
}

private[dynamickafka] final case class LayoutColumn(field: StructField, origin: ColumnOrigin)

/**
 * The fields of keys or of values.
 *
 * @param schema all fields, with the names that they have in the bytes
 * @param wanted the indexes of those to decode; empty: the bytes are not looked at, unless they are changes
 * @param avro the Avro schema as JSON, if it was given
 * @param change if the format is one of changes, and is read
 * @param registered the schema as a registry has it, if it was taken from there; for writing
 */
private[dynamickafka] final case class SideLayout(
    format: SideFormat,
    schema: StructType,
    wanted: Seq[Int],
    avro: Option[String] = None,
    change: Option[ChangeLayout] = None,
    registered: Option[RegisteredSchema] = None
) {
  def types: Array[DataType] = schema.fields.map(_.dataType)
  def wantedSchema: StructType = StructType(wanted.map(schema(_)))
}

private[dynamickafka] object SideLayout {

  /** All fields are wanted. The time zone is that of the session now, as with Spark's functions. */
  def of(format: SideFormat, fields: Seq[StructField], avro: Option[String] = None): SideLayout = {
    val zone =
      if (format.format.usesTimeZone) Map("timeZone" -> SQLConf.get.sessionLocalTimeZone)
      else Map.empty[String, String]
    SideLayout(format.copy(options = zone ++ format.options), StructType(fields), fields.indices, avro)
  }
}

/**
 * The columns of a table, and what has to be decoded for them. Sent to executors.
 *
 * @param upsert whether a null value is a deletion, so that the whole key is always decoded
 */
private[dynamickafka] final case class Layout(
    columns: Seq[LayoutColumn],
    value: SideLayout,
    key: Option[SideLayout],
    upsert: Boolean = false
) {
  import ColumnOrigin._

  def schema: StructType = StructType(columns.map(_.field))

  /** The layout for a cluster about whose registry the metadata says this. */
  def in(registry: Map[String, String]): Layout = {
    def of(side: SideLayout) =
      if (!side.format.format.hasRegistry) side
      else side.copy(format = side.format.copy(registries = side.format.registries.in(registry)))
    if (registry.isEmpty) this else copy(value = of(value), key = key.map(of))
  }

  def has(metadata: MetadataColumn): Boolean = columns.exists(_.origin == OfRecord(metadata))

  /**
   * The layout with only these columns, for a query that reads no other. A field of another column is not decoded, if a bad
   * record ends the query: otherwise what is left of the record would depend on the query.
   */
  def pruned(names: Seq[String]): Layout = {
    val kept = names.flatMap(name => columns.find(_.field.name == name))
    val keeps = kept.exists(c => c.origin == CorruptRecord || c.origin == DecodeError)
    val about = kept.collect { case LayoutColumn(_, OfChange(i)) => i }
    def of(side: SideLayout, indexes: Seq[Int]) = {
      val isAsked = keeps || indexes.nonEmpty || about.nonEmpty || side.change.isDefined
      if (side.format.parseErrors.drops || (isAsked && side.format.parseErrors != ParseErrors.Fail)) side
      else
        side.copy(
          wanted = side.wanted.intersect(indexes),
          change = side.change.map(c => c.copy(wanted = c.wanted.intersect(about)))
        )
    }
    Layout(
      kept,
      of(value, kept.collect { case LayoutColumn(_, OfValue(i)) => i }),
      key.map(k => if (upsert) k else of(k, kept.collect { case LayoutColumn(_, OfKey(i)) => i })),
      upsert
    )
  }
}

package io.github.dynamickafka.format

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.node.ArrayNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.avro.Schema
import org.apache.spark.sql.avro.SchemaConverters
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.option.{FormatKey, OptionTable, RawOptions}

/**
 * The formats of clusters where they differ from that of the query: `cluster.<id>.format` and the like, and what the metadata says
 * about a stream on a cluster.
 *
 * @param query the options of the query about formats, as they are written
 * @param ofMetadata whether the metadata counts: the options of a query take precedence over it, the settings of a catalog do not
 * @param table the options of the source or the sink
 */
private[dynamickafka] final case class ClusterFormats(
    query: Map[String, String],
    ofMetadata: Boolean,
    table: OptionTable
) {
  import ClusterFormats._

  /**
   * @param options those of `cluster.<id>.`, without that prefix
   * @param metadata what the metadata says about the stream on this cluster
   * @param parse makes formats of options, as for the query
   * @return None: the format of the query
   */
  def of(
      options: Map[String, String],
      metadata: Map[String, String],
      parse: RawOptions => FormatOptions
  ): Option[FormatOptions] = {
    val own = options.filter { case (name, _) => isFormat(name, table) }
    val known =
      if (!ofMetadata || has(own, FormatOptionSpecs.ValueFormat.named)) Map.empty[String, String]
      else metadata.filter { case (name, _) =>
        table.has(name) && !name.startsWith("registry.") && !FormatOptionSpecs.KeyFields.named(name)
      }
    val ofCluster = without(known, own) ++ own
    Option.when(ofCluster.nonEmpty) {
      val all = new CaseInsensitiveStringMap((inUse(ofCluster) ++ ofCluster).asJava)
      parse(RawOptions(all, table))
    }
  }

  /** Without values: those of registries can be secrets. */
  override def toString: String = s"ClusterFormats(${query.keys.toSeq.sorted.mkString(", ")})"

  /** What remains of the query's options: a schema, and options of a format, belong to their format. */
  private def inUse(ofCluster: Map[String, String]): Map[String, String] = {
    val rest = without(query, ofCluster)
    def format(of: Map[String, String]) =
      of.collectFirst { case (name, value) if FormatOptionSpecs.ValueFormat.named(name) => normalized(value) }
    val changes = format(ofCluster).exists(!format(query).contains(_))
    val formats = (rest ++ ofCluster).collect {
      case (name, value)
          if FormatOptionSpecs.ValueFormat.named(name) || FormatOptionSpecs.KeyFormat.named(name) =>
        normalized(value)
    }.toSet
    rest.filterNot { case (name, _) =>
      (changes && FormatOptionSpecs.Schema.named(name)) ||
      FormatKey.of(name, table.formats).exists(k => !formats(k.format))
    }
  }

  private def without(all: Map[String, String], names: Map[String, String]) = {
    val keys = names.keySet.map(key)
    all.filterNot { case (name, _) => keys(key(name)) }
  }

  private def has(of: Map[String, String], named: String => Boolean) = of.keys.exists(named)
  private def key(name: String) = table.find(name).fold(name.toLowerCase(java.util.Locale.ROOT))(_.key)
}

private[dynamickafka] object ClusterFormats {

  def apply(raw: RawOptions, table: OptionTable, ofMetadata: Boolean): ClusterFormats =
    ClusterFormats(raw.asWritten.filter { case (name, _) => isFormat(name, table) }, ofMetadata, table)

  /** Whether this is an option about formats. */
  def isFormat(name: String, table: OptionTable): Boolean =
    FormatKey.of(name, table.formats).isDefined ||
      table.find(name).exists(spec => FormatOptionSpecs.ofFormats.exists(_.key == spec.key))

  private def normalized(value: String) = value.trim.toLowerCase(java.util.Locale.ROOT)
}

/** The same columns, from records in the format of one cluster. Pure. */
private[dynamickafka] object ClusterLayouts {
  import ColumnOrigin._

  /**
   * @param stream the layout of the stream, whose columns are those of the table
   * @param own the format of the cluster; its `schema` says how bytes are read, and fields become columns by name
   */
  def of(stream: Layout, own: FormatOptions): Layout = {
    val value = side(stream.value, own.value, own.schema)
    val key = stream.key.map(k => side(k, own.key.getOrElse(k.format), None))
    def index(layout: SideLayout, of: SideLayout, i: Int) =
      layout.schema.fields.indexWhere(_.name == of.schema(i).name)
    Layout(
      stream.columns.map { column =>
        column.copy(origin = column.origin match {
          case OfValue(i) => found(index(value, stream.value, i))(OfValue(_))
          case OfKey(i) => key.fold[ColumnOrigin](Absent)(k => found(index(k, stream.key.get, i))(OfKey(_)))
          case other => other
        })
      },
      value,
      key
    )
  }

  private def found(i: Int)(origin: Int => ColumnOrigin): ColumnOrigin = if (i < 0) Absent else origin(i)

  private def side(stream: SideLayout, own: SideFormat, declared: Option[DeclaredSchema]): SideLayout = {
    val columns = stream.schema.fields.map(f => f.name -> f).toMap
    // Values have the types of the columns; other fields, which are skipped, have those of the cluster.
    val fields = declared.filter(_ => own.format.hasFields).fold(stream.schema.fields.toSeq)(
      _.columns.map(f => columns.getOrElse(f.name, f))
    )
    val wanted = stream.wanted.map(stream.schema(_).name)
    val avro = declared match {
      case Some(DeclaredSchema(_, text: Some[String])) => text
      case Some(DeclaredSchema(ofCluster, _)) if own.format == Format.Avro =>
        Some(AvroSchemas.of(ofCluster).toString)
      case _ => stream.avro.filter(_ => own.format == stream.format.format)
    }
    SideLayout(
      own.copy(options = zone(stream, own) ++ own.options),
      StructType(fields.map(f => StructField(f.name, f.dataType, nullable = true))),
      fields.indices.filter(i => wanted.contains(fields(i).name)),
      avro
    )
  }

  private def zone(stream: SideLayout, own: SideFormat): Map[String, String] = own.format match {
    case Format.Json | Format.Csv =>
      Map("timeZone" -> stream.format.options.getOrElse("timeZone", SQLConf.get.sessionLocalTimeZone))
    case _ => Map.empty
  }
}

/** The Avro schema of columns that were not given as one. Pure. */
private[dynamickafka] object AvroSchemas {
  private val mapper = new ObjectMapper()

  /** A record `topLevelRecord`, as Spark names it; in the union of a nullable field, null is first. */
  def of(columns: StructType): Schema = {
    val ofSpark = SchemaConverters.toAvroType(columns, nullable = false, "topLevelRecord", "")
    val tree = mapper.readTree(ofSpark.toString)
    nullFirst(tree)
    new Schema.Parser().parse(mapper.writeValueAsString(tree))
  }

  /** Spark puts null last. Arrays in a schema are unions, fields, or the symbols of an enum, which Spark does not make. */
  private def nullFirst(node: JsonNode): Unit = {
    node match {
      case union: ArrayNode if union.size == 2 && union.get(1).isTextual && union.get(1).asText == "null" =>
        val _ = union.insert(0, union.remove(1))
      case _ => ()
    }
    node.forEach(child => nullFirst(child))
  }
}

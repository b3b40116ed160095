package io.github.dynamickafka.format.decode

import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.options.FormatOptionSpecs
import io.github.dynamickafka.format.{
  AvroSchemas,
  ChangeLayout,
  ColumnOrigin,
  DeclaredSchema,
  Format,
  FormatOptions,
  Layout,
  SideFormat,
  SideLayout
}

/** The same columns, from records in the format of one cluster. Pure. */
private[dynamickafka] object ClusterLayouts {
  import ColumnOrigin._

  /**
   * @param stream the layout of the stream, whose columns are those of the table
   * @param own the format of the cluster; its `schema` says how bytes are read, and fields become columns by name
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, if only one of the two is a format of
   *         changes
   */
  def of(stream: Layout, own: FormatOptions): Layout = {
    // Of the schema of a cluster, too, the fields of the key are not in the values.
    val ofKey = if (own.exceptKey) own.keyFields.toSet else Set.empty[String]
    val value = side(stream.value, own.value, own.schema.map(without(_, ofKey)))
    val key = stream.key.map(k => side(k, own.key.getOrElse(k.format), None))
    def index(layout: SideLayout, wanted: SideLayout, i: Int) =
      layout.schema.fields.indexWhere(_.name == wanted.schema(i).name)
    Layout(
      stream.columns.map { column =>
        column.copy(origin = column.origin match {
          case OfValue(i) => found(index(value, stream.value, i))(OfValue(_))
          case OfKey(i) => key.fold[ColumnOrigin](Absent)(k => found(index(k, stream.key.get, i))(OfKey(_)))
          case other => other
        })
      },
      value,
      key,
      stream.upsert
    )
  }

  private def without(schema: DeclaredSchema, fields: Set[String]): DeclaredSchema =
    schema.copy(
      columns = StructType(schema.columns.filterNot(f => fields(f.name))),
      avro = schema.avro.map(AvroSchemas.without(_, fields))
    )

  private def found(i: Int)(origin: Int => ColumnOrigin): ColumnOrigin = if (i < 0) Absent else origin(i)

  private def side(stream: SideLayout, own: SideFormat, declared: Option[DeclaredSchema]): SideLayout = {
    val columns = stream.schema.fields.map(f => f.name -> f).toMap
    // Values have the types of the columns; other fields, which are skipped, have those of the cluster.
    val isEnvelope = stream.change.exists(_.envelope)
    val fields = declared.filter(_ => own.format.hasFields && !isEnvelope).fold(stream.schema.fields.toSeq)(
      _.columns.map(f => columns.getOrElse(f.name, f))
    )
    val wanted = stream.wanted.map(stream.schema(_).name)
    val avro = declared match {
      case Some(ofCluster) if ofCluster.avro.isDefined => ofCluster.avro
      case _ =>
        declared.flatMap(ofCluster => own.format.avroSchema(ofCluster.columns)).orElse(
          stream.avro.filter(_ => own.format == stream.format.format)
        )
    }
    SideLayout(
      own.copy(options = zone(stream, own) ++ own.options),
      StructType(fields.map(f => StructField(f.name, f.dataType, nullable = true))),
      fields.indices.filter(i => wanted.contains(fields(i).name)),
      avro,
      change(stream, own.format).map(c => if (isEnvelope) c else c.copy(payload = StructType(fields)))
    )
  }

  private def change(stream: SideLayout, own: Format): Option[ChangeLayout] = {
    if (stream.change.isDefined != own.isChange) refuse(stream, own)
    stream.change
  }

  private def refuse(stream: SideLayout, own: Format): Nothing =
    throw Errors.invalidOption(
      FormatOptionSpecs.ValueFormat.name,
      own.name,
      s"the format of the stream is '${stream.format.format.name}', and only one of the two has changes of rows."
    )

  private def zone(stream: SideLayout, own: SideFormat): Map[String, String] =
    if (own.format.usesTimeZone)
      Map("timeZone" -> stream.format.options.getOrElse("timeZone", SQLConf.get.sessionLocalTimeZone))
    else Map.empty
}

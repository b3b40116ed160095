package io.github.dynamickafka.source

import java.io.IOException
import java.{util => ju}

import scala.collection.immutable.ArraySeq
import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.hadoop.fs.Path
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder, SupportsPushDownRequiredColumns}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.format.protobuf.{Protobuf, ProtobufOptions, ProtobufSchemas}
import io.github.dynamickafka.format.table.{Decoders, FormatOptionSpecs, FormatTable}
import io.github.dynamickafka.format.{
  ColumnOrigin,
  DeclaredSchema,
  Layout,
  LayoutColumn,
  MetadataColumn,
  NewestSchemas,
  SideFormat
}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.{MetadataWatcher, StreamSubjects}
import io.github.dynamickafka.option.SessionDefaults
import io.github.dynamickafka.source.cluster.TopologyCheck
import io.github.dynamickafka.source.read.SparkKafkaSource

/**
 * The streams as a table: with the format `raw`, the columns of Spark's Kafka source, then `cluster` and `stream`, non-null
 * strings; with other formats, the decoded columns, then those about the record.
 *
 * @param user the schema that the user gave to Spark
 * @param declared the schema of the registry with `schema=registry`, which was asked for when the table was made
 * @param answer the stream, if the metadata service has been asked for it; for batch reads
 * @param ofTable gives the options of a query those of the table; None: there are no others, and it is no table of a catalog
 */
private[dynamickafka] final class DynamicKafkaTable(
    tableSchema: StructType,
    user: Option[StructType],
    declared: Option[DeclaredSchema] = None,
    answer: () => Option[KafkaStream] = () => None,
    ofTable: Option[CaseInsensitiveStringMap => CaseInsensitiveStringMap] = None
) extends Table
    with SupportsRead {

  override def name(): String = "dynamic-kafka"

  override def schema(): StructType = tableSchema

  override def capabilities(): ju.Set[TableCapability] =
    ju.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)

  /** The options of a query of the table. */
  def options(ofQuery: CaseInsensitiveStringMap): SourceOptions = DynamicKafkaTable.parse(
    ofTable.fold(ofQuery)(_(ofQuery)),
    ofTable.isDefined,
    ofTable.fold(Set.empty[String])(_ => ofQuery.asCaseSensitiveMap.keySet.asScala.toSet)
  )

  override def newScanBuilder(ofQuery: CaseInsensitiveStringMap): ScanBuilder = {
    val parsed = DynamicKafkaTable.loaded(options(ofQuery), declared, user)
    val layout = DynamicKafkaTable.layout(parsed, user)
    refuseOtherColumns(layout.fold(DynamicKafkaTable.plain(parsed.records.includeHeaders))(_.schema), ofQuery)
    new DynamicKafkaScanBuilder(parsed, tableSchema, layout, answer)
  }

  /** Spark takes the columns from the table, and reads the values of a row by their position. */
  private def refuseOtherColumns(found: StructType, ofQuery: CaseInsensitiveStringMap): Unit =
    if (!DynamicKafkaTable.isSame(found, tableSchema)) {
      val set = ofTable.toSeq.flatMap(_ => ofQuery.asCaseSensitiveMap.asScala.toSeq.sorted)
      throw Errors.invalidOption(
        set.map(_._1).mkString("', '"),
        set.map(_._2).mkString("', '"),
        "it gives the table other columns, which are known before Spark passes the options of a query: " +
          s"${found.fieldNames.mkString(", ")}, where the table has ${tableSchema.fieldNames.mkString(", ")}. " +
          "Set it for the table, or read with 'format(\"dynamic-kafka\")'."
      )
    }
}

private[dynamickafka] object DynamicKafkaTable {

  def parse(
      options: CaseInsensitiveStringMap,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SourceOptions =
    SourceOptions.parse(
      SessionDefaults.without(options, SourceOptionSpecs.table, SinkOptionSpecs.table),
      isCatalogTable,
      ofStatement
    )

  /**
   * Checks before the start of a query that the metadata service can be created. Does not call it, because a query can
   * restart while the service is unavailable; with `unknownClusterOptions=fail`, calls it once, and uses an answer if there is one.
   */
  def check(options: SourceOptions): Unit = {
    val service =
      MetadataServices.create(options.metadata.service, SparkSession.active.sparkContext.hadoopConfiguration)
    if (options.clusters.refuseMisspelled && options.clusters.properties.perCluster.nonEmpty)
      MetadataWatcher.now(service, options.metadata)
        .foreach(TopologyCheck.refuseMisspelled(options, _))
    else service.close()
  }

  /**
   * The table with its columns, checked. Asks the metadata service and the registries only with `schema=registry`.
   *
   * @param user the schema that the user gave to Spark
   * @param answer the stream, if the metadata service has been asked for it; for batch reads
   * @param ofTable see [[DynamicKafkaTable]]
   */
  def of(
      options: SourceOptions,
      user: Option[StructType],
      answer: () => Option[KafkaStream] = () => None,
      ofTable: Option[CaseInsensitiveStringMap => CaseInsensitiveStringMap] = None
  ): DynamicKafkaTable = {
    val declared =
      Option.when(options.records.format.schemaFromRegistry)(RegistrySchemas.newest(options, user))
    new DynamicKafkaTable(
      schema(loaded(options, declared, user), user),
      user,
      declared,
      answer,
      ofTable
    )
  }

  /** The columns of a user's schema that the bytes of records have; all others are about the record. None: the format has no fields. */
  def decoded(options: SourceOptions, user: StructType): Option[StructType] =
    layout(options, Some(user)).filter(l => (l.value +: l.key.toSeq).exists(_.format.format.hasFields)).map(
      layout =>
        StructType(layout.columns.collect {
          case LayoutColumn(field, ColumnOrigin.OfKey(_) | ColumnOrigin.OfValue(_)) => field
        })
    )

  private def loaded(
      options: SourceOptions,
      declared: Option[DeclaredSchema],
      user: Option[StructType]
  ): SourceOptions = {
    val format = declared.fold(options.records.format)(options.records.format.withSchema)
    options.copy(records = options.records.copy(format = ProtobufFiles.loaded(format, user.isDefined)))
  }

  private def schema(options: SourceOptions, user: Option[StructType]): StructType =
    layout(options, user) match {
      case Some(layout) =>
        (layout.value +: layout.key.toSeq).foreach(Decoders.check)
        layout.schema
      case None =>
        val own = plain(options.records.includeHeaders)
        user.filterNot(isSame(_, own)).foreach(schema =>
          throw Errors.invalidOption(
            "schema",
            schema.simpleString,
            s"the format 'raw' has fixed columns: ${own.simpleString}. Set 'format', or remove the user-specified schema. " +
              "To write, set the stream with 'streamId' instead of 'streamIds' or 'streamPattern'."
          )
        )
        own
    }

  /** Catalogs do not keep whether a column can be null. */
  private def isSame(a: StructType, b: StructType) =
    a.map(f => f.name -> f.dataType.sql) == b.map(f => f.name -> f.dataType.sql)

  /** None: the columns of Spark's Kafka source. */
  private def layout(options: SourceOptions, user: Option[StructType]): Option[Layout] =
    Option.when(!options.records.format.isPlain)(options.records.format.layout(
      user,
      options.records.includeHeaders
    ))

  private def plain(includeHeaders: Boolean): StructType =
    SparkKafkaSource.find().schema(includeHeaders)
      .add("cluster", StringType, nullable = false)
      .add("stream", StringType, nullable = false)
}

/**
 * Spark tells it which columns a batch read needs, so that only these are decoded; it does not do so for streaming queries. The
 * columns of the format `raw` cost nothing, so they are all read.
 */
private[source] final class DynamicKafkaScanBuilder(
    options: SourceOptions,
    schema: StructType,
    private var layout: Option[Layout],
    answer: () => Option[KafkaStream]
) extends SupportsPushDownRequiredColumns {

  override def pruneColumns(required: StructType): Unit = {
    val names = required.fieldNames.toSeq
    layout = layout.map(_.pruned(names))
  }

  override def build(): Scan = {
    val headers = options.records.includeHeaders || layout.exists(_.has(MetadataColumn.Headers))
    new DynamicKafkaScan(
      options.copy(records = options.records.copy(includeHeaders = headers)),
      layout.fold(schema)(_.schema),
      layout,
      answer
    )
  }
}

/** Reads the descriptor files of the format `protobuf` on the driver; executors get their bytes. */
private[source] object ProtobufFiles {

  /**
   * @param isGiven whether the columns are given to Spark
   * @return with the files, and with the columns of the message if there are no others
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, INVALID_SCHEMA
   */
  def loaded(options: FormatTable, isGiven: Boolean): FormatTable = {
    val read =
      options.copy(value = loaded(options.value), key = options.key.map(k => k.copy(side = loaded(k.side))))
    if (read.value.format != Protobuf || read.schema.isDefined || isGiven) read
    else {
      val columns = ProtobufSchemas.columnsOfFile(read.value).fold(
        reason => throw Errors.invalidSchema(s"option '${name(read.value)}': $reason"),
        _.toNullable
      )
      read.copy(schema = Some(DeclaredSchema(columns)))
    }
  }

  private def loaded(side: SideFormat): SideFormat =
    if (side.format != Protobuf) side
    else {
      val path = side.options(ProtobufOptions.DescriptorFile.name).trim
      val conf = SparkSession.active.sessionState.newHadoopConf()
      val bytes =
        try {
          val file = new Path(path)
          Using.resource(file.getFileSystem(conf).open(file))(_.readAllBytes())
        } catch {
          case e @ (_: IOException | _: IllegalArgumentException) =>
            throw Errors.invalidOption(name(side), path, s"it cannot be read: ${FailureText.of(e)}")
        }
      side.copy(descriptor = Some(ArraySeq.unsafeWrapArray(bytes)))
    }

  private def name(side: SideFormat) = s"${side.format.name}.${ProtobufOptions.DescriptorFile.name}"
}

/** `schema=registry`: the columns are those of the newest schema of the subject, when a table is made. */
private[source] object RegistrySchemas {

  /**
   * The schema at the registry of the first cluster, in the order of the metadata. Those of all others have to be readable with
   * it.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_SCHEMA
   */
  def newest(options: SourceOptions, user: Option[StructType]): DeclaredSchema = {
    if (user.isDefined)
      throw Errors.invalidOption(
        FormatOptionSpecs.Schema.name,
        "registry",
        "a schema is also given to Spark ('.schema(...)'), but only one of the two is allowed."
      )
    NewestSchemas.common(
      options.records.format.value,
      StreamSubjects.of(options.records.registries.ofValues(options.records.format, _), options.metadata)
    )
  }
}

package io.github.dynamickafka.sink

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsWrite, TableCapability}
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.{SinkOptionSpecs, SinkOptions, SourceOptionSpecs, Subscription}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.FormatTable
import io.github.dynamickafka.format.{DeclaredSchema, MetadataColumn, NewestSchemas, SideFormat}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.StreamSubjects
import io.github.dynamickafka.option.SessionDefaults

/**
 * The table for writing to streams. Spark creates one for each query and job.
 *
 * @param options gives the options of a query those of the table
 * @param catalogTable the name of the table in a catalog, or of the stream with `format=metadata`, whose columns are all that rows
 *                     may have; None: other columns may be ignored
 * @param answer the stream, if the metadata service has been asked for it; for jobs
 */
private[dynamickafka] final class DynamicKafkaSinkTable(
    tableSchema: StructType,
    options: CaseInsensitiveStringMap => CaseInsensitiveStringMap,
    catalogTable: Option[String] = None,
    answer: () => Option[KafkaStream] = () => None
) extends SupportsWrite
    with ReportsSinkMetrics {

  private var sinks = Map.empty[String, QuerySink]

  override def name(): String = "dynamic-kafka"

  /** The description of the sink in the progress of a query. */
  override def toString: String = name()

  override def schema(): StructType = tableSchema

  override def capabilities(): ju.Set[TableCapability] = ju.EnumSet.of(
    TableCapability.BATCH_WRITE,
    TableCapability.STREAMING_WRITE,
    TableCapability.ACCEPT_ANY_SCHEMA
  )

  /** The metrics of the last batch, in `SinkProgress.metrics`. */
  override def metrics(): ju.Map[String, String] = synchronized {
    sinks.values.flatMap(_.metrics).toMap.asJava
  }

  /** Spark calls this for each batch of a query. */
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = synchronized {
    val sink = sinks.getOrElse(
      info.queryId, {
        val own =
          SessionDefaults.without(options(info.options), SinkOptionSpecs.table, SourceOptionSpecs.table)
        val ofStatement =
          catalogTable.fold(Set.empty[String])(_ => info.options.asCaseSensitiveMap.keySet.asScala.toSet)
        if (catalogTable.isDefined) DynamicKafkaSinkTable.refuseNameless(info.schema, tableSchema)
        DynamicKafkaSinkTable.check(own, info.schema, info.queryId, catalogTable, answer, ofStatement)
      }
    )
    sinks += info.queryId -> sink
    new DynamicKafkaWriteBuilder(sink)
  }
}

private[dynamickafka] object DynamicKafkaSinkTable {

  /** For a streaming query, only the options of the table contain the session defaults; for a job, both do. */
  def over(table: CaseInsensitiveStringMap)(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap =
    new CaseInsensitiveStringMap((table.asCaseSensitiveMap.asScala.filterNot { case (name, _) =>
      ofQuery.containsKey(name)
    } ++ ofQuery.asCaseSensitiveMap.asScala).asJava)

  /**
   * Checks the options, the columns, and that the metadata service can be created, before a query starts.
   *
   * @return the parsed options
   */
  def check(
      options: CaseInsensitiveStringMap,
      schema: StructType,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SinkOptions = {
    val parsed = SinkOptions.parse(options, isCatalogTable, ofStatement)
    val found = columns(schema, parsed.format)
    if (parsed.streamId.isEmpty && !found.hasStream)
      throw Errors.missingOption(
        "streamId",
        "set it to the stream to write to, or add a column 'stream' to the DataFrame."
      )
    MetadataServices.create(parsed.service, SparkSession.active.sparkContext.hadoopConfiguration).close()
    parsed
  }

  /** Spark calls the columns of an INSERT without names so, since the table takes any columns. */
  private def refuseNameless(written: StructType, table: StructType): Unit =
    if (
      written.nonEmpty && written.fieldNames.zipWithIndex.forall { case (name, i) =>
        name == s"col${i + 1}"
      } &&
      !table.fieldNames.contains("col1")
    ) {
      val names =
        table.fieldNames.filter(MetadataColumn.find(_).forall(c => c.code >= MetadataColumn.KeyCode))
      throw Errors.invalidColumn(
        "col1",
        s"this INSERT does not name its columns. Name them: INSERT INTO <table> (${names.mkString(", ")}) VALUES (...)."
      )
    }

  private def check(
      options: CaseInsensitiveStringMap,
      schema: StructType,
      queryId: String,
      catalogTable: Option[String],
      answer: () => Option[KafkaStream],
      ofStatement: Set[String]
  ): QuerySink = {
    val parsed = TargetSchemas.withSchema(check(options, schema, catalogTable.isDefined, ofStatement))
    for (table <- catalogTable; name <- InputColumns.ignored(schema, parsed.format).headOption)
      throw Errors.invalidColumn(
        name,
        s"the records of '$table' have no such column; remove or rename it."
      )
    new QuerySink(parsed, columns(schema, parsed.format), queryId, answer)
  }

  private def columns(schema: StructType, format: FormatTable): InputColumns =
    InputColumns.of(
      schema,
      SparkSession.active.conf.get("spark.sql.caseSensitive").toBoolean,
      format
    )
}

/** `schema=registry`: the columns are cast to those of the newest schema of the subject, when a query or job starts. */
private[sink] object TargetSchemas {

  /** Asks the metadata service and the registry of the first cluster, in the order of the metadata. */
  def withSchema(options: SinkOptions): SinkOptions =
    if (!options.format.schemaFromRegistry) options
    else
      options.copy(format = options.format.copy(schema = Some(ofStream(options)), schemaFromRegistry = false))

  private def ofStream(options: SinkOptions): DeclaredSchema = {
    val stream = options.streamId.getOrElse(throw Errors.missingOption(
      SinkOptionSpecs.StreamId.name,
      "set it to the stream whose schema is meant, because 'schema' is 'registry'."
    ))
    NewestSchemas.common(
      SideFormat(options.format.value.format),
      StreamSubjects.of(
        options.clusterRegistries.ofValues(options.format, _),
        options.service,
        Subscription.Ids(Seq(stream)),
        options.discovery
      ).take(1)
    )
  }
}

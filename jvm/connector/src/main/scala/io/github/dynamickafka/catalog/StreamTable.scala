package io.github.dynamickafka.catalog

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.sink.{DynamicKafkaSinkTable, StatementInfo}
import io.github.dynamickafka.source.DynamicKafkaTable
import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * Streams as a table, for reading and writing.
 *
 * @param tableName the name of the catalog and the id of the stream
 * @param options the options of reads and writes
 * @param read the table of the source
 * @param tableProperties what DESCRIBE and SHOW TBLPROPERTIES show
 * @param answer what the metadata service has answered for this statement
 */
private[dynamickafka] final class StreamTable(
    tableName: String,
    options: TableOptions,
    read: DynamicKafkaTable,
    tableProperties: Map[String, String],
    answer: () => Option[KafkaStream]
) extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {

  private val tableSchema = read.schema()
  private val none = CaseInsensitiveStringMap.empty

  /** One for all batches of a query. */
  private lazy val sink =
    new DynamicKafkaSinkTable(
      tableSchema,
      options.writing(none).asCaseSensitiveMap,
      Some(tableName),
      answer
    )

  override def name(): String = tableName

  /** The description of source and sink in the progress of a query. */
  override def toString: String = tableName

  override def schema(): StructType = tableSchema

  override def properties(): ju.Map[String, String] = tableProperties.asJava

  /** Any schema is accepted, because rows are written by the names of their columns. */
  override def capabilities(): ju.Set[TableCapability] = ju.EnumSet.of(
    TableCapability.BATCH_READ,
    TableCapability.MICRO_BATCH_READ,
    TableCapability.BATCH_WRITE,
    TableCapability.STREAMING_WRITE,
    TableCapability.ACCEPT_ANY_SCHEMA
  )

  /** Where a read with these options starts. */
  private[catalog] def starting(ofQuery: CaseInsensitiveStringMap): OffsetsPolicy =
    DynamicKafkaTable.parse(
      options.reading(ofQuery),
      isCatalogTable = true,
      StreamTable.names(ofQuery)
    ).offsets.starting

  override def newScanBuilder(ofQuery: CaseInsensitiveStringMap): ScanBuilder =
    read.newScanBuilder(options.reading(ofQuery), StreamTable.names(ofQuery))

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = {
    // The options of the query take precedence over those of the table, whatever their spelling.
    val all = options.writing(info.options)
    sink.newWriteBuilder(new StatementInfo(info, all, StreamTable.names(info.options)))
  }

  override def metrics(): ju.Map[String, String] = sink.metrics()
}

private[catalog] object StreamTable {

  /** The names of the options that one query sets. */
  def names(ofQuery: CaseInsensitiveStringMap): Set[String] = ofQuery.asCaseSensitiveMap.keySet.asScala.toSet
}

/** The options of a table together with those of one query, which take precedence. */
private[catalog] trait TableOptions {
  def reading(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap
  def writing(ofQuery: CaseInsensitiveStringMap): CaseInsensitiveStringMap
}

/** The properties of a table, from the metadata of its stream: no property of Kafka's clients, which may be secret. Pure. */
private[dynamickafka] object StreamProperties {

  def of(stream: KafkaStream, format: String): Map[String, String] = {
    val clusters = stream.getClusterMetadataMap.asScala.toSeq
    Map(
      "provider" -> "dynamic-kafka",
      "format" -> format,
      "clusters" -> clusters.map(_._1).mkString(",")
    ) ++ clusters.flatMap { case (id, cluster) =>
      Seq(s"cluster.$id.state" -> cluster.state, s"cluster.$id.topics" -> topics(cluster).mkString(","))
    }
  }

  /** The topics, or the pattern of their names. */
  def topics(cluster: ClusterMetadata): Seq[String] =
    Option(cluster.topicPattern).map(Seq(_)).getOrElse(
      (cluster.getTopics.asScala ++ cluster.getPartitions.asScala.keys).toSeq.sorted
    )
}

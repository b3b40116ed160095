package io.github.dynamickafka.catalog

import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, SupportsWrite, Table, TableCapability}
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.connector.read.streaming.ReportsSinkMetrics
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, WriteBuilder}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, OffsetsPolicy}
import io.github.dynamickafka.sink.DynamicKafkaSinkTable
import io.github.dynamickafka.source.DynamicKafkaTable

/**
 * Streams as a table, for reading and writing.
 *
 * @param tableName the name of the catalog and the id of the stream
 * @param read the table of the source
 * @param write the table of the sink, made at the first write
 * @param tableProperties what DESCRIBE and SHOW TBLPROPERTIES show
 */
private[dynamickafka] final class StreamTable(
    tableName: String,
    read: DynamicKafkaTable,
    write: => DynamicKafkaSinkTable,
    tableProperties: Map[String, String]
) extends Table
    with SupportsRead
    with SupportsWrite
    with ReportsSinkMetrics {

  /** The sink of all batches of a query. */
  private lazy val sink = write

  override def name(): String = tableName

  /** The description of source and sink in the progress of a query. */
  override def toString: String = tableName

  override def schema(): StructType = read.schema()

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
    read.options(ofQuery).offsets.starting

  override def newScanBuilder(ofQuery: CaseInsensitiveStringMap): ScanBuilder = read.newScanBuilder(ofQuery)

  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = sink.newWriteBuilder(info)

  override def metrics(): ju.Map[String, String] = sink.metrics()
}

/** The properties of a table, from the metadata of its stream: no property of Kafka's clients, which may be secret. Pure. */
private[dynamickafka] object StreamProperties {

  def of(stream: KafkaStream, format: String): Map[String, String] = {
    val clusters = stream.entries
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
    Option(cluster.topicPattern).fold(cluster.named.sorted)(Seq(_))
}

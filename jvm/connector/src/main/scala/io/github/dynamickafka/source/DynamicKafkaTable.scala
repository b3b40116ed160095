package io.github.dynamickafka.source

import java.{util => ju}

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.option.SessionDefaults
import io.github.dynamickafka.config.{SinkOptionSpecs, SourceOptionSpecs, SourceOptions, SourceOptionsParser}
import io.github.dynamickafka.metadata.registry.MetadataServices
import io.github.dynamickafka.source.spark.SparkKafkaSource

/** The streams as a table, with the columns of Spark's Kafka source, then `cluster` and `stream`, non-null strings. */
private[dynamickafka] final class DynamicKafkaTable(tableSchema: StructType) extends Table with SupportsRead {

  override def name(): String = "dynamic-kafka"

  override def schema(): StructType = tableSchema

  override def capabilities(): ju.Set[TableCapability] =
    ju.EnumSet.of(TableCapability.BATCH_READ, TableCapability.MICRO_BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () => {
    val own = SessionDefaults.without(options, SourceOptionSpecs.table, SinkOptionSpecs.table)
    new DynamicKafkaScan(SourceOptionsParser.parse(own), tableSchema): Scan
  }
}

private[dynamickafka] object DynamicKafkaTable {

  /**
   * Checks before the start of a query that the metadata service can be created. Does not call it, because a query can
   * restart while the service is unavailable.
   */
  def check(options: SourceOptions): Unit =
    MetadataServices.create(options.service, SparkSession.active.sparkContext.hadoopConfiguration).close()

  def schema(includeHeaders: Boolean): StructType =
    SparkKafkaSource.find().schema(includeHeaders)
      .add("cluster", StringType, nullable = false)
      .add("stream", StringType, nullable = false)
}

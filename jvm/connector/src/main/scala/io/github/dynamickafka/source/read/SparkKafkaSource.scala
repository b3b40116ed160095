package io.github.dynamickafka.source.read

import java.util.ServiceLoader

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.connector.catalog.{SupportsRead, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Access to Spark's Kafka source, only through public interfaces. */
private[source] final class SparkKafkaSource private (provider: Class[_ <: TableProvider]) {

  def schema(includeHeaders: Boolean): StructType =
    newProvider().inferSchema(options(Map("includeHeaders" -> includeHeaders.toString)))

  def metrics: Array[CustomMetric] = scan.supportedCustomMetrics()

  private def scan: Scan = {
    val map = options(Map.empty)
    val source = newProvider()
    source.getTable(source.inferSchema(map), Array.empty[Transform], map) match {
      case table: SupportsRead => table.newScanBuilder(map).build()
      case other =>
        throw new IllegalStateException(s"Spark's Kafka source returned a table that cannot be read: $other")
    }
  }

  private def options(map: Map[String, String]) = new CaseInsensitiveStringMap(map.asJava)

  /** A new provider for each cluster, because a provider caches its first table. */
  private def newProvider(): TableProvider = provider.getDeclaredConstructor().newInstance()
}

private[source] object SparkKafkaSource {

  /**
   * Uses `ServiceLoader` with the context class loader, which has the jars of `--packages` and Spark Connect.
   * `DataSource.lookupDataSourceV2("kafka")` would return None, because `kafka` is in
   * `spark.sql.sources.useV1SourceList`.
   */
  def find(): SparkKafkaSource = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    ServiceLoader.load(classOf[DataSourceRegister], loader).iterator.asScala.collectFirst {
      case source: TableProvider if isKafka(source) => new SparkKafkaSource((source: TableProvider).getClass)
    }.getOrElse {
      throw new ClassNotFoundException(
        "Spark's Kafka source is not on the class path: add spark-sql-kafka-0-10 of the version of Spark, or add the " +
          "Maven coordinate of this connector to spark.jars.packages, which includes it as a dependency"
      )
    }
  }

  private def isKafka(source: AnyRef): Boolean = source match {
    case register: DataSourceRegister => register.shortName() == "kafka"
    case _ => false
  }
}

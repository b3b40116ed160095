package io.github.dynamickafka

import java.util.regex.Pattern
import java.{time => jt, util => ju}

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{DataFrame, SparkSession}

import io.github.dynamickafka.config.{BuilderOptions, SourceOptionSpecs}
import io.github.dynamickafka.metadata.{KafkaMetadataService, ServiceRegistry}

/**
 * Builds a DataFrame over streams. Every method is a way to set options of the data source, which `options()` shows;
 * setting something again replaces it. Not thread-safe.
 */
final class DynamicKafkaReaderBuilder private[dynamickafka] (spark: SparkSession) {
  import SourceOptionSpecs._

  private val chosen = new BuilderOptions(table)

  /** A service that lives in this JVM: it is used as it is, and a restarted application sets it again. */
  def setKafkaMetadataService(service: KafkaMetadataService): this.type =
    setKafkaMetadataService(
      ServiceRegistry.Name,
      Map(ServiceRegistry.Handle -> ServiceRegistry.register(service))
    )

  /**
   * @param name `file`, `http`, `configmap`, `jdbc`, `static`, `single-cluster`, or the name of a class that implements
   *             `KafkaMetadataService`
   * @param arguments the options `metadataService.*` without that prefix
   */
  def setKafkaMetadataService(name: String, arguments: Map[String, String]): this.type =
    change(_.setService(name, arguments))

  def setKafkaMetadataService(name: String, arguments: ju.Map[String, String]): this.type =
    setKafkaMetadataService(name, arguments.asScala.toMap)

  def setStreamIds(ids: String*): this.type = change(_.setStreamIds(ids))
  def setStreamIds(ids: Set[String]): this.type = setStreamIds(ids.toSeq.sorted: _*)
  def setStreamIds(ids: ju.Collection[String]): this.type = setStreamIds(ids.asScala.toSeq: _*)

  /** Streams whose whole id matches. */
  def setStreamPattern(regex: String): this.type = change(_.setStreamPattern(regex))

  /** @param regex without flags: they have no place in an option. Write them into the expression, as in `(?i)orders` */
  def setStreamPattern(regex: Pattern): this.type = change(_.setStreamPattern(regex))

  def setStartingOffsets(offsets: OffsetsInitializer): this.type =
    change(_.replace(starting, offsets.startingOptions))

  /** In the forms of the option `startingOffsets`. */
  def setStartingOffsets(offsets: String): this.type =
    change(_.replace(starting, Seq(StartingOffsets.name -> offsets)))

  def setEndingOffsets(offsets: OffsetsInitializer): this.type =
    change(_.replace(ending, offsets.endingOptions))

  /** In the forms of the option `endingOffsets`. */
  def setEndingOffsets(offsets: String): this.type =
    change(_.replace(ending, Seq(EndingOffsets.name -> offsets)))

  /** The name that Flink has for `setEndingOffsets`. */
  def setBounded(offsets: OffsetsInitializer): this.type = setEndingOffsets(offsets)
  def setBounded(offsets: String): this.type = setEndingOffsets(offsets)

  /** A Kafka property of all clusters, with or without the prefix `kafka.`, or an option of the data source. */
  def setProperty(key: String, value: String): this.type = change(_.setProperty(key, value))

  def setProperties(properties: Map[String, String]): this.type = {
    properties.foreach { case (key, value) => setProperty(key, value) }
    this
  }

  def setProperties(properties: ju.Map[_, _]): this.type =
    setProperties(properties.asScala.map { case (key, value) =>
      String.valueOf(key) -> String.valueOf(value)
    }.toMap)

  /** A Kafka property of one cluster, with or without the prefix `kafka.`, or an option that a cluster can have. */
  def setClusterProperty(clusterId: String, key: String, value: String): this.type =
    change(_.setClusterProperty(clusterId, key, value))

  /** As milliseconds or with a unit: `10s`. -1: the metadata is read only at start. */
  def setMetadataDiscoveryInterval(interval: String): this.type =
    setOption(DiscoveryIntervalMs.name, interval)
  def setMetadataDiscoveryInterval(ms: Long): this.type = setMetadataDiscoveryInterval(ms.toString)
  def setMetadataDiscoveryInterval(interval: jt.Duration): this.type =
    setMetadataDiscoveryInterval(interval.toMillis)

  /** An infinite one means that the metadata is read only at start. */
  def setMetadataDiscoveryInterval(interval: Duration): this.type = interval match {
    case finite: FiniteDuration => setMetadataDiscoveryInterval(finite.toMillis)
    case _ => setMetadataDiscoveryInterval(-1L)
  }

  /** Any option of the data source, as it is. */
  def setOption(name: String, value: String): this.type = change(_.set(name, value))

  /** What has been set, as options of the data source. */
  def options(): Map[String, String] = chosen.toMap

  /** A streaming DataFrame. */
  def load(): DataFrame = spark.readStream.format(DynamicKafka.Format).options(options()).load()

  /** A batch DataFrame: what is there now, or up to the ending offsets. */
  def loadBatch(): DataFrame = spark.read.format(DynamicKafka.Format).options(options()).load()

  private def starting = Seq(StartingOffsets, StartingTimestamp, StartingOffsetsByTimestamp)
  private def ending = Seq(EndingOffsets, EndingTimestamp, EndingOffsetsByTimestamp)

  private def change(set: BuilderOptions => Unit): this.type = {
    set(chosen)
    this
  }
}

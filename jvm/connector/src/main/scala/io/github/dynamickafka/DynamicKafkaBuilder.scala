package io.github.dynamickafka

import java.{time => jt, util => ju}

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.{BuilderOptions, SourceOptionSpecs}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.service.ServiceRegistry
import io.github.dynamickafka.option.OptionTable

/**
 * The common part of the builders for reading and writing. Every method sets options of the data source, which
 * `options()` returns. A later value replaces an earlier one. Not thread-safe.
 *
 * @tparam B the builder itself, which every setter returns
 */
abstract class DynamicKafkaBuilder[B <: DynamicKafkaBuilder[B]] private[dynamickafka] (table: OptionTable) {
  self: B =>

  private val chosen = new BuilderOptions(table)

  /**
   * Sets a metadata service object of this JVM. Several queries may use the object, and it is not closed when they end.
   * An application must set it again after a restart, because the checkpoint does not contain it.
   */
  def setKafkaMetadataService(service: KafkaMetadataService): B =
    setKafkaMetadataService(
      ServiceRegistry.Spec.name,
      Map(ServiceRegistry.Handle.name -> ServiceRegistry.register(service))
    )

  /** Sets a metadata service of the connector, such as `FileMetadataService("streams.yaml")`. */
  def setKafkaMetadataService(service: BuiltInMetadataService): B =
    setKafkaMetadataService(service.spec.name, service.arguments)

  /**
   * Sets the metadata service by name. The options are checked by `load()`, `start()` or `save()`.
   *
   * @param name `file`, `http`, `configmap`, `strimzi`, `jdbc`, `kafka-topic`, `static`, `single-cluster`, or the name of a class that
   *             implements `KafkaMetadataService`
   * @param arguments the options `metadataService.*` without that prefix
   */
  def setKafkaMetadataService(name: String, arguments: Map[String, String]): B =
    change(_.setService(name, arguments))

  def setKafkaMetadataService(name: String, arguments: ju.Map[String, String]): B =
    setKafkaMetadataService(name, arguments.asScala.toMap)

  /**
   * Sets a Kafka property of all clusters, with or without the prefix `kafka.`, or an option of the data source.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException UNKNOWN_OPTION if the key is neither
   */
  def setProperty(key: String, value: String): B = change(_.setProperty(key, value))

  def setProperties(properties: Map[String, String]): B =
    change(options => properties.foreach { case (key, value) => options.setProperty(key, value) })

  def setProperties(properties: ju.Map[_, _]): B =
    setProperties(properties.asScala.map { case (key, value) =>
      String.valueOf(key) -> String.valueOf(value)
    }.toMap)

  /**
   * Sets a Kafka property of one cluster, with or without the prefix `kafka.`, or an option that can be set for one
   * cluster. Takes precedence over the metadata and over properties of all clusters.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if the cluster id is
   *         invalid, UNKNOWN_OPTION if the key is unknown
   */
  def setClusterProperty(clusterId: String, key: String, value: String): B =
    change(_.setClusterProperty(clusterId, key, value))

  /**
   * Sets the interval between two polls of the metadata service, in milliseconds or with a unit as in `10s`. The
   * default is 30 seconds. -1: the metadata is read only at the start of the query.
   */
  def setMetadataDiscoveryInterval(interval: String): B =
    setOption(SourceOptionSpecs.DiscoveryIntervalMs.name, interval)
  def setMetadataDiscoveryInterval(ms: Long): B = setMetadataDiscoveryInterval(ms.toString)
  def setMetadataDiscoveryInterval(interval: jt.Duration): B =
    setMetadataDiscoveryInterval(interval.toMillis)

  /** With an infinite duration, the metadata is read only at the start of the query. */
  def setMetadataDiscoveryInterval(interval: Duration): B = interval match {
    case finite: FiniteDuration => setMetadataDiscoveryInterval(finite.toMillis)
    case _ => setMetadataDiscoveryInterval(-1L)
  }

  /** Sets any option of the data source, without a check of its name or value. */
  def setOption(name: String, value: String): B = change(_.set(name, value))

  /**
   * The options of the data source that were set.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION if two names differ only
   *         in case, which Spark treats as one option
   */
  def options(): Map[String, String] = chosen.toMap

  private[dynamickafka] def change(set: BuilderOptions => Unit): B = {
    set(chosen)
    this
  }
}

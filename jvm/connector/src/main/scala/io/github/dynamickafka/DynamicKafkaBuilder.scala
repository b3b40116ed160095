package io.github.dynamickafka

import java.{time => jt, util => ju}

import scala.concurrent.duration.{Duration, FiniteDuration}
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.option.OptionTable
import io.github.dynamickafka.config.{BuilderOptions, SourceOptionSpecs}
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.metadata.registry.ServiceRegistry

/**
 * What the builders of reads and of writes have in common. Every method is a way to set options of the data source, which
 * `options()` shows; setting something again replaces it. Not thread-safe.
 *
 * @tparam B the builder itself, which every setter returns
 */
abstract class DynamicKafkaBuilder[B <: DynamicKafkaBuilder[B]] private[dynamickafka] (table: OptionTable) {
  self: B =>

  private val chosen = new BuilderOptions(table)

  /** A service that lives in this JVM: it is used as it is, and a restarted application sets it again. */
  def setKafkaMetadataService(service: KafkaMetadataService): B =
    setKafkaMetadataService(
      ServiceRegistry.Spec.name,
      Map(ServiceRegistry.Handle.name -> ServiceRegistry.register(service))
    )

  /**
   * @param name `file`, `http`, `configmap`, `jdbc`, `static`, `single-cluster`, or the name of a class that implements
   *             `KafkaMetadataService`
   * @param arguments the options `metadataService.*` without that prefix
   */
  def setKafkaMetadataService(name: String, arguments: Map[String, String]): B =
    change(_.setService(name, arguments))

  def setKafkaMetadataService(name: String, arguments: ju.Map[String, String]): B =
    setKafkaMetadataService(name, arguments.asScala.toMap)

  /** A Kafka property of all clusters, with or without the prefix `kafka.`, or an option of the data source. */
  def setProperty(key: String, value: String): B = change(_.setProperty(key, value))

  def setProperties(properties: Map[String, String]): B =
    change(options => properties.foreach { case (key, value) => options.setProperty(key, value) })

  def setProperties(properties: ju.Map[_, _]): B =
    setProperties(properties.asScala.map { case (key, value) =>
      String.valueOf(key) -> String.valueOf(value)
    }.toMap)

  /** A Kafka property of one cluster, with or without the prefix `kafka.`, or an option that a cluster can have. */
  def setClusterProperty(clusterId: String, key: String, value: String): B =
    change(_.setClusterProperty(clusterId, key, value))

  /** As milliseconds or with a unit: `10s`. -1: the metadata is read only at start. */
  def setMetadataDiscoveryInterval(interval: String): B =
    setOption(SourceOptionSpecs.DiscoveryIntervalMs.name, interval)
  def setMetadataDiscoveryInterval(ms: Long): B = setMetadataDiscoveryInterval(ms.toString)
  def setMetadataDiscoveryInterval(interval: jt.Duration): B =
    setMetadataDiscoveryInterval(interval.toMillis)

  /** An infinite one means that the metadata is read only at start. */
  def setMetadataDiscoveryInterval(interval: Duration): B = interval match {
    case finite: FiniteDuration => setMetadataDiscoveryInterval(finite.toMillis)
    case _ => setMetadataDiscoveryInterval(-1L)
  }

  /** Any option of the data source, as it is. */
  def setOption(name: String, value: String): B = change(_.set(name, value))

  /** What has been set, as options of the data source. */
  def options(): Map[String, String] = chosen.toMap

  private[dynamickafka] def change(set: BuilderOptions => Unit): B = {
    set(chosen)
    this
  }
}

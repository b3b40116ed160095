package io.github.dynamickafka.kafka

import java.{util => ju}

import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.ByteArraySerializer

/**
 * How the producers of one cluster are created.
 *
 * @param limits the properties that are time limits of the connector's, and none of the user's
 */
private[dynamickafka] final class ProducerSettings(
    cluster: String,
    properties: Map[String, String],
    limits: Set[String] = Set.empty
) extends ClientSettings(cluster, properties) {

  def and(more: (String, String)*): ProducerSettings =
    new ProducerSettings(cluster, properties ++ more, limits -- more.map(_._1))

  /** With these time limits, except for those that the user has set. */
  def limitedTo(more: (String, String)*): ProducerSettings = {
    val unset = more.filter { case (name, _) => limits(name) || !properties.contains(name) }
    new ProducerSettings(cluster, properties ++ unset, limits ++ unset.map(_._1))
  }

  /** Without the delay that collects records, unless the user has set one. */
  def forRealTime: ProducerSettings = {
    val linger = ProducerConfig.LINGER_MS_CONFIG
    if (properties.get(linger) == ClientDefaults.producerBatches.toMap.get(linger)) and(linger -> "0")
    else this
  }

  /** Kafka's limit for what a producer does before it sends a record. */
  def maxBlockMs: Long =
    properties.get(ProducerConfig.MAX_BLOCK_MS_CONFIG).flatMap(_.trim.toLongOption).getOrElse(60000L)

  /** Whether the size of a batch differs from the sizes of its records. */
  def compresses: Boolean =
    properties.get(ProducerConfig.COMPRESSION_TYPE_CONFIG).exists(!_.trim.equalsIgnoreCase("none"))

  def forProducer: ju.Map[String, AnyRef] = clientProperties(
    "dynamic-kafka-sink",
    defaults = Map.empty,
    fixed = Map(
      ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName,
      ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName
    )
  )
}

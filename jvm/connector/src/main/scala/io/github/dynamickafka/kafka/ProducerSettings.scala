package io.github.dynamickafka.kafka

import java.{util => ju}

import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.ByteArraySerializer

/** How the producers of one cluster are created. */
private[dynamickafka] final class ProducerSettings(cluster: String, properties: Map[String, String])
    extends ClientSettings(cluster, properties) {

  def and(more: (String, String)*): ProducerSettings = new ProducerSettings(cluster, properties ++ more)

  def forProducer: ju.Map[String, AnyRef] = clientProperties(
    "dynamic-kafka-sink",
    defaults = Map.empty,
    fixed = Map(
      ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName,
      ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName
    )
  )
}

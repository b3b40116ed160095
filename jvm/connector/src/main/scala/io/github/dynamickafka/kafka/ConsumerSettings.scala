package io.github.dynamickafka.kafka

import java.{util => ju}

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.serialization.ByteArrayDeserializer

/** How the consumers of one cluster are created. */
private[dynamickafka] final class ConsumerSettings(cluster: String, properties: Map[String, String])
    extends ClientSettings(cluster, properties) {

  /** For a consumer that is assigned partitions and offsets, and keeps no positions of its own. */
  def forConsumer: ju.Map[String, AnyRef] = clientProperties(
    "dynamic-kafka",
    // Reading a topic that was deleted must not recreate it.
    defaults = Map(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG -> "false"),
    fixed = Map(
      ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG -> "false",
      ConsumerConfig.AUTO_OFFSET_RESET_CONFIG -> "none"
    )
  )
}

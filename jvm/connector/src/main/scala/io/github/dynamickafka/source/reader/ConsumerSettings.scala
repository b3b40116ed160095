package io.github.dynamickafka.source.reader

import java.util.concurrent.atomic.AtomicLong

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.serialization.ByteArrayDeserializer

import io.github.dynamickafka.config.Redaction

/**
 * The settings of the consumers of one cluster. Consumers with equal settings are interchangeable. Serialized to
 * executors. Contains secrets, which `toString` omits.
 *
 * @param properties without the prefix `kafka.`
 */
private[source] final class ConsumerSettings(val cluster: String, val properties: Map[String, String])
    extends Serializable {

  override val hashCode: Int = (cluster, properties).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ConsumerSettings =>
      hashCode == that.hashCode && cluster == that.cluster && properties == that.properties
    case _ => false
  }

  /** The properties of a consumer with assigned partitions and positions, which commits no offsets. */
  def forConsumer: java.util.Map[String, AnyRef] = {
    val bytes = classOf[ByteArrayDeserializer].getName
    val all = new java.util.HashMap[String, AnyRef]
    // A unique default, because two consumers with the same client id in a JVM cannot both register their JMX beans.
    all.put(
      ConsumerConfig.CLIENT_ID_CONFIG,
      s"dynamic-kafka-$cluster-${ConsumerSettings.count.incrementAndGet()}"
    )
    // Reading a deleted topic must not recreate it.
    all.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, "false")
    properties.foreach { case (name, value) => all.put(name, value) }
    all.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, bytes)
    all.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, bytes)
    all.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false")
    all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none")
    all
  }

  override def toString: String = s"ConsumerSettings($cluster: ${Redaction.show(properties)})"
}

private[source] object ConsumerSettings {
  private val count = new AtomicLong
}

package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicLong

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.serialization.ByteArrayDeserializer

/**
 * How the consumers of one cluster are made. Consumers of equal settings can stand for each other; where anything
 * differs (an address, a password) there are others. Goes to executors; holds secrets, and `toString` prints none.
 *
 * @param properties with Kafka's names
 */
private[dynamickafka] final class ConsumerSettings(val cluster: String, val properties: Map[String, String])
    extends Serializable {

  override val hashCode: Int = (cluster, properties).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ConsumerSettings =>
      hashCode == that.hashCode && cluster == that.cluster && properties == that.properties
    case _ => false
  }

  /** For a consumer that is told what to read and from where, and keeps no positions of its own. */
  def forConsumer: java.util.Map[String, AnyRef] = {
    val bytes = classOf[ByteArrayDeserializer].getName
    val all = new java.util.HashMap[String, AnyRef]
    // Without a name, one from a counter: two consumers of one name in a JVM quarrel over their JMX beans.
    all.put(
      ConsumerConfig.CLIENT_ID_CONFIG,
      s"dynamic-kafka-$cluster-${ConsumerSettings.count.incrementAndGet()}"
    )
    // A topic that was deleted must not be made anew by being read.
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

private[dynamickafka] object ConsumerSettings {
  private val count = new AtomicLong
}

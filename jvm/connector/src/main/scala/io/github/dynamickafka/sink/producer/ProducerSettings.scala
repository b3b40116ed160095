package io.github.dynamickafka.sink.producer

import java.util.concurrent.atomic.AtomicLong
import java.{util => ju}

import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.ByteArraySerializer

import io.github.dynamickafka.config.Redaction

/**
 * The settings of the producers of one cluster. Producers with equal settings are interchangeable. Serialized to
 * executors. Contains secrets, which `toString` omits.
 *
 * @param properties without the prefix `kafka.`
 */
private[sink] final class ProducerSettings(val cluster: String, val properties: Map[String, String])
    extends Serializable {

  override val hashCode: Int = (cluster, properties).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ProducerSettings =>
      hashCode == that.hashCode && cluster == that.cluster && properties == that.properties
    case _ => false
  }

  def bootstrapServers: String = properties.getOrElse("bootstrap.servers", "")

  def and(more: (String, String)*): ProducerSettings = new ProducerSettings(cluster, properties ++ more)

  def forProducer: ju.Map[String, AnyRef] = {
    val all = new ju.HashMap[String, AnyRef]
    // A unique default, because two producers with the same client id in a JVM cannot both register their JMX beans.
    all.put(
      ProducerConfig.CLIENT_ID_CONFIG,
      s"dynamic-kafka-sink-$cluster-${ProducerSettings.count.incrementAndGet()}"
    )
    properties.foreach { case (name, value) => all.put(name, value) }
    all.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, classOf[ByteArraySerializer].getName)
    all.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, classOf[ByteArraySerializer].getName)
    all
  }

  override def toString: String = s"ProducerSettings($cluster: ${Redaction.show(properties)})"
}

private[sink] object ProducerSettings {
  private val count = new AtomicLong
}

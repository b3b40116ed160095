package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicLong
import java.{util => ju}

import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.ByteArraySerializer

/**
 * How the producers of one cluster are made. Producers of equal settings can stand for each other. Goes to executors;
 * holds secrets, and `toString` prints none.
 *
 * @param properties with Kafka's names
 */
private[dynamickafka] final class ProducerSettings(val cluster: String, val properties: Map[String, String])
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
    // Without a name, one from a counter: two clients of one name in a JVM quarrel over their JMX beans.
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

private[dynamickafka] object ProducerSettings {
  private val count = new AtomicLong
}

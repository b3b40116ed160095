package io.github.dynamickafka.kafka

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.AdminClientConfig
import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.config.ConfigDef
import org.apache.kafka.common.config.ConfigDef.Type

/** What Kafka's own clients tell about their properties. */
private[dynamickafka] object KafkaProperties {

  private val types: Map[String, Type] = Seq(
    AdminClientConfig.configDef(),
    ConsumerConfig.configDef(),
    ProducerConfig.configDef()
  ).flatMap((definition: ConfigDef) => definition.configKeys.asScala)
    .map { case (name, key) => name -> key.`type` }
    .toMap

  private val ofAdmin = AdminClientConfig.configNames().asScala.toSet
  private val ofConsumer = ConsumerConfig.configNames().asScala.toSet
  private val ofProducer = ProducerConfig.configNames().asScala.toSet

  val names: Seq[String] = types.keys.toSeq.sorted

  def isKnown(name: String): Boolean = types.contains(name.toLowerCase(Locale.ROOT))

  /**
   * Whether a name without the prefix `kafka.` can be meant as a Kafka property. Log-in modules, config providers
   * and the like have properties that Kafka does not know, all of them with a dot.
   */
  def isPlausible(name: String): Boolean = isKnown(name) || name.contains('.')

  /** Kafka's properties in Kafka's case, so that two spellings of one property meet; others to the letter. */
  def canonical(name: String): String = if (isKnown(name)) name.toLowerCase(Locale.ROOT) else name

  /** Kafka itself hides the value. */
  def isPassword(name: String): Boolean = typeOf(name).contains(Type.PASSWORD)

  // Kafka warns of a property that another kind of client has; of one that nobody knows it may be told.
  def suitsAdmin(name: String): Boolean = ofAdmin(name) || !isKnown(name)
  def suitsConsumer(name: String): Boolean = ofConsumer(name) || !isKnown(name)
  def suitsProducer(name: String): Boolean = ofProducer(name) || !isKnown(name)

  /** The type that Kafka declares for a property of its clients. */
  def typeOf(name: String): Option[Type] = types.get(name.toLowerCase(Locale.ROOT))
}

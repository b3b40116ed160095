package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicLong
import java.{util => ju}

import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.kafka.common.serialization.{ByteArrayDeserializer, ByteArraySerializer}
import org.apache.spark.kafka010.DynamicKafkaTokens

import io.github.dynamickafka.base.Redaction

/**
 * How the clients of one cluster are created. Clients of equal settings are interchangeable: where anything differs (an
 * address, a password), the cluster gets other clients. Sent to executors; holds secrets, and `toString` prints none.
 *
 * @param cluster id of the cluster
 * @param properties with Kafka's names
 * @param defaults for properties that are not set, where they differ from Kafka's
 */
private[dynamickafka] abstract class ClientSettings(
    val cluster: String,
    val properties: Map[String, String],
    defaults: Map[String, String]
) extends Serializable {

  /** With the defaults, which make no difference where a property is set. */
  @transient private lazy val all = defaults ++ properties

  override val hashCode: Int = (getClass.getName, cluster, all).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ClientSettings =>
      hashCode == that.hashCode && getClass == that.getClass && cluster == that.cluster && all == that.all
    case _ => false
  }

  def bootstrapServers: String = properties.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "")

  /** The value of a property that is set, or that differs from Kafka's default. */
  def value(property: String): Option[String] = all.get(property)

  def number(property: String): Option[Long] = value(property).flatMap(_.trim.toLongOption)

  /**
   * What the constructor of a client takes.
   *
   * @param fixed properties that cannot be set
   */
  protected def clientProperties(
      clientIdPrefix: String,
      fixed: Map[String, String]
  ): ju.Map[String, AnyRef] = {
    val made = new ju.HashMap[String, AnyRef]
    // Each client gets a name of its own: two clients of one name in a JVM share their JMX beans.
    made.put(
      CommonClientConfigs.CLIENT_ID_CONFIG,
      s"$clientIdPrefix-$cluster-${ClientSettings.count.incrementAndGet()}"
    )
    (all ++ fixed).foreach { case (name, value) => made.put(name, value) }
    made
  }

  override def toString: String = s"${getClass.getSimpleName}($cluster: ${Redaction.show(all)})"
}

private object ClientSettings {
  private val count = new AtomicLong
}

private[dynamickafka] final class ConsumerSettings(
    cluster: String,
    properties: Map[String, String],
    defaults: Map[String, String] = ClientDefaults.consumerFetch.toMap + ClientDefaults.autoCreate
) extends ClientSettings(cluster, properties, defaults) {

  /** Whether the latest offset of a partition is its last stable offset, instead of the end of the log. */
  def readsCommitted: Boolean =
    properties.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG).exists(_.trim.equalsIgnoreCase("read_committed"))

  def readingUncommitted: ConsumerSettings =
    of(properties + (ConsumerConfig.ISOLATION_LEVEL_CONFIG -> "read_uncommitted"))

  /** Settings for a consumer that waits for records: brokers reply as soon as there are any. */
  def forRealTime: ConsumerSettings =
    new ConsumerSettings(cluster, properties, defaults + ClientDefaults.realTimeWait)

  /** The settings with Spark's delegation token for the cluster, if this process has one. A renewed token makes other settings. */
  def withToken: ConsumerSettings = of(DynamicKafkaTokens.in(properties))

  private def of(properties: Map[String, String]) = new ConsumerSettings(cluster, properties, defaults)

  /** The properties of a consumer that is assigned partitions and offsets, and keeps no positions of its own. */
  def forConsumer: ju.Map[String, AnyRef] = clientProperties(
    "dynamic-kafka",
    fixed = Map(
      ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG -> classOf[ByteArrayDeserializer].getName,
      ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG -> "false",
      ConsumerConfig.AUTO_OFFSET_RESET_CONFIG -> "none"
    )
  )
}

/** How the producers of one cluster are created. */
private[dynamickafka] final class ProducerSettings(
    cluster: String,
    properties: Map[String, String],
    defaults: Map[String, String] = ClientDefaults.producerBatches.toMap
) extends ClientSettings(cluster, properties, defaults) {

  def and(more: (String, String)*): ProducerSettings =
    new ProducerSettings(cluster, properties ++ more, defaults)

  /** The settings with other defaults. */
  def or(more: (String, String)*): ProducerSettings =
    new ProducerSettings(cluster, properties, defaults ++ more)

  /** The settings without the delay that collects records. */
  def forRealTime: ProducerSettings = or(ProducerConfig.LINGER_MS_CONFIG -> "0")

  /** Kafka's limit for what a producer does before it sends a record. */
  def maxBlockMs: Long = number(ProducerConfig.MAX_BLOCK_MS_CONFIG).getOrElse(60000L)

  /** Whether the size of a batch differs from the sizes of its records. */
  def compresses: Boolean =
    properties.get(ProducerConfig.COMPRESSION_TYPE_CONFIG).exists(!_.trim.equalsIgnoreCase("none"))

  def forProducer: ju.Map[String, AnyRef] = clientProperties(
    "dynamic-kafka-sink",
    fixed = Map(
      ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName,
      ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG -> classOf[ByteArraySerializer].getName
    )
  )
}

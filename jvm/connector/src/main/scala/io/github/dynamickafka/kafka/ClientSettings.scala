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
 */
private[dynamickafka] abstract class ClientSettings(val cluster: String, val properties: Map[String, String])
    extends Serializable {

  override val hashCode: Int = (getClass.getName, cluster, properties).hashCode

  override def equals(other: Any): Boolean = other match {
    case that: ClientSettings =>
      hashCode == that.hashCode && getClass == that.getClass && cluster == that.cluster &&
      properties == that.properties
    case _ => false
  }

  def bootstrapServers: String = properties.getOrElse(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, "")

  /**
   * What the constructor of a client takes.
   *
   * @param defaults for properties that are not set
   * @param fixed properties that cannot be set
   */
  protected def clientProperties(
      clientIdPrefix: String,
      defaults: Map[String, String],
      fixed: Map[String, String]
  ): ju.Map[String, AnyRef] = {
    val all = new ju.HashMap[String, AnyRef]
    // Each client gets a name of its own: two clients of one name in a JVM share their JMX beans.
    all.put(
      CommonClientConfigs.CLIENT_ID_CONFIG,
      s"$clientIdPrefix-$cluster-${ClientSettings.count.incrementAndGet()}"
    )
    (defaults ++ properties ++ fixed).foreach { case (name, value) => all.put(name, value) }
    all
  }

  override def toString: String = s"${getClass.getSimpleName}($cluster: ${Redaction.show(properties)})"
}

private object ClientSettings {
  private val count = new AtomicLong
}

private[dynamickafka] final class ConsumerSettings(cluster: String, properties: Map[String, String])
    extends ClientSettings(cluster, properties) {

  /** Whether the latest offset of a partition is its last stable offset, instead of the end of the log. */
  def readsCommitted: Boolean =
    properties.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG).exists(_.trim.equalsIgnoreCase("read_committed"))

  def readingUncommitted: ConsumerSettings =
    new ConsumerSettings(cluster, properties + (ConsumerConfig.ISOLATION_LEVEL_CONFIG -> "read_uncommitted"))

  /** Settings for a consumer that waits for records: brokers reply as soon as there are any. What the user has set remains. */
  def forRealTime: ConsumerSettings = {
    val (name, waiting) = ClientDefaults.realTimeWait
    if (properties.get(name) == ClientDefaults.consumerFetch.toMap.get(name))
      new ConsumerSettings(cluster, properties + (name -> waiting))
    else this
  }

  /** The settings with Spark's delegation token for the cluster, if this process has one. A renewed token makes other settings. */
  def withToken: ConsumerSettings = new ConsumerSettings(cluster, DynamicKafkaTokens.in(properties))

  /** The properties of a consumer that is assigned partitions and offsets, and keeps no positions of its own. */
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

  /** The settings with these time limits, except for those that the user has set. */
  def limitedTo(more: (String, String)*): ProducerSettings = {
    val unset = more.filter { case (name, _) => limits(name) || !properties.contains(name) }
    new ProducerSettings(cluster, properties ++ unset, limits ++ unset.map(_._1))
  }

  /** The settings without the delay that collects records, unless the user has set one. */
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

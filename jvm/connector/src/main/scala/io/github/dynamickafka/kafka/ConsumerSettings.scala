package io.github.dynamickafka.kafka

import java.{util => ju}

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.kafka010.DynamicKafkaTokens

/** How the consumers of one cluster are created. */
private[dynamickafka] final class ConsumerSettings(cluster: String, properties: Map[String, String])
    extends ClientSettings(cluster, properties) {

  /** Whether the latest offset of a partition is its last stable offset, instead of the end of the log. */
  def readsCommitted: Boolean =
    properties.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG).exists(_.trim.equalsIgnoreCase("read_committed"))

  def readingUncommitted: ConsumerSettings =
    new ConsumerSettings(cluster, properties + (ConsumerConfig.ISOLATION_LEVEL_CONFIG -> "read_uncommitted"))

  /**
   * For a consumer that waits for records: brokers reply as soon as there are any, and a poll returns few of them, so that other
   * clusters have their turn. Not where the user has set something else than the defaults.
   */
  def forRealTime: ConsumerSettings = {
    val replaced = ClientDefaults.consumerFetch.toMap
    val waiting = ClientDefaults.realTimeFetch.filter { case (name, _) =>
      properties.get(name) == replaced.get(name)
    }
    new ConsumerSettings(cluster, properties ++ waiting)
  }

  /** With Spark's delegation token for the cluster, if this process has one: a token that is renewed makes other settings. */
  def withToken: ConsumerSettings = new ConsumerSettings(cluster, DynamicKafkaTokens.in(properties))

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

package io.github.dynamickafka.source.cluster

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.IsolationLevel

import io.github.dynamickafka.base.AttemptLimit
import io.github.dynamickafka.config.ClusterProperties
import io.github.dynamickafka.kafka.{ClientDefaults, ConsumerSettings, ProducerSettings}

/**
 * The configuration for connecting to one cluster and reading from it. If it changes, all clients of the cluster are
 * recreated.
 *
 * @param committedGroup the consumer group of `committed` offsets
 * @param requestTimeoutMs the time limit for all requests of one trigger
 */
private[dynamickafka] final case class ClusterConfig(
    properties: ClusterProperties,
    committedGroup: Option[String],
    requestTimeoutMs: Long
) {
  def bootstrapServers: String = properties.bootstrapServers

  /** What the latest offset of a partition is: the end of the log, or the last stable offset. */
  val isolation: IsolationLevel =
    if (
      properties.client.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG).exists(_.equalsIgnoreCase(
        "read_committed"
      ))
    ) IsolationLevel.READ_COMMITTED
    else IsolationLevel.READ_UNCOMMITTED

  /** The time limit of one attempt with one client; see [[AttemptLimit]]. */
  def attemptMs: Long = AttemptLimit.ms(requestTimeoutMs)

  /** Of dead letters, as far as the properties of consumers have what producers need. */
  def producer: ProducerSettings =
    new ProducerSettings(properties.clusterId, ClientDefaults.producer(properties.client))

  /**
   * The settings of consumers with assigned partitions. They commit no offsets, so they have a group only if the user
   * set one, for brokers that require it.
   */
  lazy val consumer: ConsumerSettings = new ConsumerSettings(properties.clusterId, properties.client)
}

package io.github.dynamickafka.source.cluster

import org.apache.kafka.clients.consumer.ConsumerConfig

import io.github.dynamickafka.config.ClusterProperties
import io.github.dynamickafka.kafka.ConsumerSettings

/**
 * How one cluster is reached and read. Two equal ones can share clients; where anything differs, everything is
 * made anew.
 *
 * @param reader options of Spark's Kafka source that are no client properties
 * @param committedGroup the group that `committed` starting offsets are read from
 * @param requestTimeoutMs limit for all answers of one trigger
 */
private[source] final case class ClusterConfig(
    properties: ClusterProperties,
    reader: Map[String, String],
    committedGroup: Option[String],
    requestTimeoutMs: Long
) {
  def bootstrapServers: String = properties.bootstrapServers
  def readCommitted: Boolean =
    properties.client.get(ConsumerConfig.ISOLATION_LEVEL_CONFIG).exists(_.equalsIgnoreCase("read_committed"))

  /**
   * As consumers that are told what to read. They commit nothing, so they have a group only where the user named one,
   * for brokers that want to know it.
   */
  lazy val consumer: ConsumerSettings = new ConsumerSettings(
    properties.clusterId,
    properties.groupIdPrefix.map(ConsumerConfig.GROUP_ID_CONFIG -> _).toMap ++ properties.client
  )

  /** As options of Spark's own Kafka source. */
  def spark: Map[String, String] = properties.sparkOptions ++ reader
}

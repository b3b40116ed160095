package io.github.dynamickafka.config

import io.github.dynamickafka.kafka.{ClientDefaults, Redaction}

/**
 * How one cluster is written to; the precedence is that of [[ClusterProperties]]. Holds secrets; `toString` prints none.
 *
 * @param client the properties of the producers, with Kafka's names
 * @param admin the properties of an admin client on the driver
 */
private[dynamickafka] final case class ProducerProperties private (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  override def toString: String = s"ProducerProperties($clusterId: ${Redaction.show(client)})"
}

private[dynamickafka] object ProducerProperties {

  /** @param chosen what options and metadata set for this cluster; see [[ClusterScope.producer]] */
  private[config] def apply(
      clusterId: String,
      chosen: Map[String, String],
      options: ClusterOptions
  ): ProducerProperties = new ProducerProperties(
    clusterId,
    ClientDefaults.producer(chosen),
    ClientDefaults.admin(chosen, options.requestTimeoutMs)
  )
}

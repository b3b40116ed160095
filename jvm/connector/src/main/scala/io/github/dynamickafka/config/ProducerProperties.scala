package io.github.dynamickafka.config

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.kafka.ClientDefaults

/**
 * The Kafka properties of one cluster for writing, with the precedence of [[ClusterProperties]]. Contains secrets,
 * which `toString` omits.
 *
 * @param client the properties of the producers, without the prefix `kafka.`
 * @param admin the properties of the admin clients on the driver
 */
private[dynamickafka] final case class ProducerProperties private (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  /** With other properties of the admin client. */
  def withAdmin(more: Map[String, String]): ProducerProperties =
    new ProducerProperties(clusterId, client, admin ++ more)

  override def toString: String = s"ProducerProperties($clusterId: ${Redaction.show(client)})"
}

private[dynamickafka] object ProducerProperties {

  /**
   * @param chosen what options and metadata set for this cluster; see [[ClusterScope.producer]]
   * @param reporting adds what reports the metrics of a client
   */
  private[config] def apply(
      clusterId: String,
      chosen: Map[String, String],
      options: ClusterOptions,
      reporting: Map[String, String] => Map[String, String]
  ): ProducerProperties = new ProducerProperties(
    clusterId,
    reporting(ClientDefaults.producer(chosen)),
    reporting(ClientDefaults.admin(chosen, options.requestTimeoutMs))
  )
}

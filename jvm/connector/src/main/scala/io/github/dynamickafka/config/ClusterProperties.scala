package io.github.dynamickafka.config

import io.github.dynamickafka.config.option.OptionName
import io.github.dynamickafka.kafka.{ClientDefaults, GroupIds, Redaction}

/**
 * How one cluster is reached: the Kafka properties that hold for it. For each property, the first of these counts:
 *
 *  1. the option `cluster.<id>.kafka.<property>`, or `cluster.<id>.<property>`
 *  1. what the metadata service says about the cluster
 *  1. the option `kafka.<property>`
 *  1. the option `clientIdPrefix`, and the defaults of [[ClientDefaults]]
 *
 * Holds secrets; `toString` prints none. Two equal values lead to equal consumers.
 *
 * @param client the properties of the consumers, with Kafka's names
 * @param admin the properties of an admin client on the driver
 * @param groupId the consumer group as the user named it, which `committed` reads; the consumers' own is in `client`
 * @param groupIdPrefix for the consumers' group ids where the user has named no group
 */
private[dynamickafka] final case class ClusterProperties private (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String],
    groupId: Option[String],
    groupIdPrefix: Option[String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  /** As options of Spark's own Kafka source. */
  def sparkOptions: Map[String, String] =
    client.map { case (name, value) => s"${OptionName.Kafka}$name" -> value } ++
      groupIdPrefix.filter(_ => groupId.isEmpty).map("groupIdPrefix" -> _)

  override def toString: String = s"ClusterProperties($clusterId: ${Redaction.show(client)})"
}

private[dynamickafka] object ClusterProperties {
  val BootstrapServers = "bootstrap.servers"
  private val GroupId = "group.id"

  /** @param chosen what options and metadata set for this cluster; see [[ClusterScope.consumer]] */
  private[config] def apply(
      clusterId: String,
      chosen: Map[String, String],
      options: ClusterOptions
  ): ClusterProperties = {
    val group = chosen.get(GroupId).filter(_.nonEmpty)
    val client = ClientDefaults.consumer(chosen)
    new ClusterProperties(
      clusterId,
      group.fold(client)(g => client + (GroupId -> GroupIds.distinct(g, clusterId, client))),
      ClientDefaults.admin(chosen, options.requestTimeoutMs),
      group,
      options.groupIdPrefix.map(prefix => s"$prefix-$clusterId")
    )
  }
}

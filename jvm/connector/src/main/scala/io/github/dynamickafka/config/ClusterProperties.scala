package io.github.dynamickafka.config

import io.github.dynamickafka.config.option.{ClusterKeys, OptionName, OptionSpec, OptionTable, Suggestions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientDefaults, GroupIds, KafkaProperties, Redaction}
import io.github.dynamickafka.topology.OffsetsPolicy

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
  private val ClientId = "client.id"

  /**
   * @param knownIds the ids of all clusters that are known, this one among them: they decide which option belongs to
   *                 which cluster
   * @param metadata the properties that the metadata service gives for this cluster
   */
  def resolve(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      metadata: Map[String, String]
  ): ClusterProperties = {
    val chosen = this.chosen(options, clusterId, knownIds, metadata)
    val group = chosen.get(GroupId).filter(_.nonEmpty)
    val client = ClientDefaults.consumer(chosen)
    ClusterProperties(
      clusterId,
      group.fold(client)(g => client + (GroupId -> GroupIds.distinct(g, clusterId, client))),
      ClientDefaults.admin(chosen, options.requestTimeoutMs),
      group,
      options.groupIdPrefix.map(prefix => s"$prefix-$clusterId")
    )
  }

  /** What has been set for this cluster, by whomever; parameters as for [[resolve]]. */
  private[config] def chosen(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      metadata: Map[String, String]
  ): Map[String, String] = {
    val own = ownKeys(options, clusterId, knownIds).flatMap { case (name, value) =>
      property(clusterId, name, options.table).map(_ -> value)
    }
    val named = options.clientIdPrefix.map(prefix => ClientId -> s"$prefix-$clusterId").toMap
    val ignored = this.ignored(metadata, options.table)
    named ++ canonical(options.shared) ++ (canonical(metadata) -- ignored) ++ canonical(own)
  }

  /** Properties of the metadata that have no place in this query; others that use the cluster may need them. */
  def ignored(
      metadata: Map[String, String],
      table: OptionTable = SourceOptionSpecs.table
  ): Seq[String] =
    canonical(metadata).keys.filter(table.unsupported.kafkaPropertyNames).toSeq.sorted

  /** The text of `cluster.<id>.<name>` for an option of this connector. */
  def connectorOption(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      name: String
  ): Option[String] =
    ownKeys(options, clusterId, knownIds).collectFirst {
      case (key, value) if OptionName.normalize(key) == OptionName.normalize(name) => value
    }

  /** As [[connectorOption]], parsed. */
  def connectorValue[T](
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      spec: OptionSpec[T]
  ): Option[T] =
    connectorOption(options, clusterId, knownIds, spec.name)
      .map(spec.parse(_, s"${OptionName.Cluster}$clusterId.${spec.name}"))

  /** As [[connectorValue]]; JSON without cluster level is about this cluster, and none can be about another. */
  def offsets(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      spec: OptionSpec[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    connectorValue(options, clusterId, knownIds, spec)
      .map(ClusterKeys.offsetsOf(clusterId, _, s"${OptionName.Cluster}$clusterId.${spec.name}"))

  /** Keys of `cluster.*` options that are about no cluster that is known: one may come, or the id is mistyped. */
  def unmatched(options: ClusterOptions, knownIds: Iterable[String]): Seq[String] =
    options.perCluster.keys.filter(ClusterKeys.split(
      _,
      knownIds,
      options.table
    ).isEmpty).toSeq.sorted.map(OptionName.Cluster + _)

  private def ownKeys(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String]
  ): Map[String, String] =
    options.perCluster.flatMap { case (key, value) =>
      ClusterKeys.split(key, knownIds, options.table).collect { case (`clusterId`, name) => name -> value }
    }

  /** The Kafka property that a name below `cluster.<id>.` means; None: it is an option of this connector. */
  private def property(clusterId: String, name: String, table: OptionTable): Option[String] =
    OptionName
      .afterPrefix(name, OptionName.Kafka)
      .orElse(Option.when(table.find(name).isEmpty)(checked(clusterId, name, table)))

  /** The name itself, if it can mean anything below `cluster.<id>.`. */
  def checked(clusterId: String, name: String, table: OptionTable): String =
    if (table.find(name).isDefined || KafkaProperties.isPlausible(name)) name
    else {
      val known = table.perCluster.map(_.name) ++ KafkaProperties.names
      throw Errors.unknownOption(
        s"${OptionName.Cluster}$clusterId.$name",
        Suggestions.closest(name, known).map(s => s"${OptionName.Cluster}$clusterId.$s")
      )
    }

  private def canonical(properties: Map[String, String]): Map[String, String] =
    properties.toSeq.sorted.map { case (name, value) => KafkaProperties.canonical(name) -> value }.toMap
}

package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.OffsetsPolicy

/**
 * The Kafka properties of one cluster. Precedence of each property, highest first:
 *
 *  1. the option `cluster.<id>.kafka.<property>`, or `cluster.<id>.<property>`
 *  1. the entry of the cluster in the metadata
 *  1. the option `kafka.<property>`
 *  1. the option `clientIdPrefix`, and the defaults of [[ClientDefaults]]
 *
 * Contains secrets, which `toString` omits. Equal values result in equal consumers.
 *
 * @param client the properties of the consumers, without the prefix `kafka.`
 * @param admin the properties of the admin clients on the driver
 * @param groupId the consumer group that the user set, which `committed` reads; `client` has the group of the consumers
 * @param groupIdPrefix the prefix of the consumers' group ids if the user set no group
 */
private[dynamickafka] final case class ClusterProperties private (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String],
    groupId: Option[String],
    groupIdPrefix: Option[String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  /** The properties as options of Spark's Kafka source. */
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
   * @param knownIds the ids of all known clusters, including this one: they determine which option belongs to which
   *                 cluster
   * @param metadata the properties of this cluster in the metadata
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

  /**
   * The properties that are set for this cluster in options or metadata, without defaults. Parameters as in
   * [[resolve]].
   */
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

  /** Properties of the metadata that this query does not support. Other users of the cluster may need them. */
  def ignored(
      metadata: Map[String, String],
      table: OptionTable = SourceOptionSpecs.table
  ): Seq[String] =
    canonical(metadata).keys.filter(table.unsupported.kafkaPropertyNames).toSeq.sorted

  /** The text of the option `cluster.<id>.<name>` of this connector. */
  def connectorOption(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      name: String
  ): Option[String] =
    ownKeys(options, clusterId, knownIds).collectFirst {
      case (key, value) if OptionName.normalize(key) == OptionName.normalize(name) => value
    }

  /** The parsed value of [[connectorOption]]. */
  def connectorValue[T](
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      spec: OptionSpec[T]
  ): Option[T] =
    connectorOption(options, clusterId, knownIds, spec.name)
      .map(spec.parse(_, s"${OptionName.Cluster}$clusterId.${spec.name}"))

  /**
   * Like [[connectorValue]]. JSON without cluster level applies to this cluster; JSON for another cluster is an error.
   */
  def offsets(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String],
      spec: OptionSpec[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    connectorValue(options, clusterId, knownIds, spec)
      .map(ofCluster(clusterId, _, s"${OptionName.Cluster}$clusterId.${spec.name}"))

  /** Keys of `cluster.*` options of no known cluster: the cluster may be added later, or the id has a typo. */
  def unmatched(options: ClusterOptions, knownIds: Iterable[String]): Seq[String] =
    options.perCluster.keys.filter(ClusterKeys.split(
      _,
      knownIds,
      options.table
    ).isEmpty).toSeq.sorted.map(OptionName.Cluster + _)

  private[config] def ofCluster(
      clusterId: String,
      policy: OffsetsPolicy,
      writtenAs: String
  ): OffsetsPolicy = {
    def own(byCluster: OffsetsPolicy.ByCluster) = {
      byCluster.keys.find(id => id != clusterId && id != OffsetsPolicy.AnyCluster).foreach { other =>
        throw Errors.invalidOption(
          writtenAs,
          other,
          s"the JSON may only contain offsets of cluster '$clusterId'."
        )
      }
      byCluster.map { case (_, topics) => clusterId -> topics }
    }
    policy match {
      case OffsetsPolicy.Exact(byCluster) => OffsetsPolicy.Exact(own(byCluster))
      case OffsetsPolicy.TimestampByPartition(byCluster) => OffsetsPolicy.TimestampByPartition(own(byCluster))
      case other => other
    }
  }

  private def ownKeys(
      options: ClusterOptions,
      clusterId: String,
      knownIds: Iterable[String]
  ): Map[String, String] =
    options.perCluster.flatMap { case (key, value) =>
      ClusterKeys.split(key, knownIds, options.table).collect { case (`clusterId`, name) => name -> value }
    }

  /** The Kafka property of a name after `cluster.<id>.`; None if the name is an option of this connector. */
  private def property(clusterId: String, name: String, table: OptionTable): Option[String] =
    OptionName
      .afterPrefix(name, OptionName.Kafka)
      .orElse(Option.when(table.find(name).isEmpty)(checked(clusterId, name, table)))

  /** Returns the name if it is valid after `cluster.<id>.`, or throws. */
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

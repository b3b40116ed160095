package io.github.dynamickafka.config

import java.security.SecureRandom

import org.apache.commons.codec.digest.{HmacAlgorithms, HmacUtils}

import io.github.dynamickafka.base.Redaction
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientDefaults, KafkaProperties}
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.option._
import io.github.dynamickafka.page.{ClientMetricsReporter, GaugeNames}

/**
 * The options of one query as they apply to the clusters that are known at one moment. Cluster ids can contain each
 * other, so the known ids decide which cluster a `cluster.<id>.` option belongs to; that is resolved once, here.
 * Immutable.
 *
 * @param ids ids of all known clusters
 */
private[dynamickafka] final class ClusterScope(options: ClusterOptions, val ids: Set[String]) {
  import ClusterScope._

  /** What `cluster.<id>.` options set, by cluster id; names as the user wrote them. */
  private val own: Map[String, Map[String, String]] = options.properties.perCluster.toSeq.flatMap {
    case (key, value) =>
      ClusterKeys.split(key, ids, options.properties.table).map { case (id, name) => id -> (name -> value) }
  }.groupMap(_._1)(_._2).map { case (id, set) => id -> set.toMap }

  /** @param metadata the properties that the metadata service gives for this cluster */
  def consumer(id: String, metadata: Map[String, String]): ClusterProperties = {
    val chosen = properties(id, metadata)
    val group = chosen.get(GroupId).filter(_.nonEmpty)
    val client = reporting(id, ClientDefaults.consumer(chosen))
    val ofConsumers =
      group.map(GroupIds.distinct(_, id, client)).orElse(options.clients.groupIdPrefix.map(prefix =>
        s"$prefix-$id"
      ))
    new ClusterProperties(id, client ++ ofConsumers.map(GroupId -> _), admin(id, chosen), group)
  }

  /** @param metadata the properties that the metadata service gives for this cluster */
  def producer(id: String, metadata: Map[String, String]): ClusterProperties = {
    val chosen = properties(id, metadata)
    new ClusterProperties(id, reporting(id, ClientDefaults.producer(chosen)), admin(id, chosen), None)
  }

  private def admin(id: String, chosen: Map[String, String]) =
    reporting(id, ClientDefaults.admin(chosen, options.requestTimeoutMs))

  /** Adds the reporter of the clients' metrics to the properties of a client. */
  private def reporting(id: String, client: Map[String, String]): Map[String, String] =
    options.clients.metrics.fold(client)(query =>
      ClientMetricsReporter.in(client, query, GaugeNames.clusters(ids + id)(id))
    )

  /** The value of `cluster.<id>.<option>`, if it is set. */
  def value[T](id: String, spec: OptionSpec[T]): Option[T] =
    of(id)
      .collectFirst { case (key, value) if spec.named(key) => value }
      .map(spec.parse(_, s"${OptionName.Cluster}$id.${spec.name}"))

  /** The value of an option for offsets, as [[value]]: JSON without the level of the cluster is about this cluster. */
  def offsets(id: String, spec: OptionSpec[OffsetsPolicy]): Option[OffsetsPolicy] =
    value(id, spec).map(ClusterOffsets(id, _, s"${OptionName.Cluster}$id.${spec.name}"))

  /** Keys of `cluster.*` options that belong to no known cluster: one may appear, or the id is mistyped. */
  def unmatched: Seq[String] =
    options.properties.perCluster.keys.filter(ClusterKeys.split(
      _,
      ids,
      options.properties.table
    ).isEmpty).toSeq.sorted
      .map(OptionName.Cluster + _)

  /** The Kafka properties that are set for this cluster, the highest precedence first: option, metadata, `kafka.`. */
  private def properties(id: String, metadata: Map[String, String]): Map[String, String] = {
    val named = options.clients.idPrefix.map(prefix => ClientId -> s"$prefix-$id").toMap
    val PropertyOptions(shared, _, table) = options.properties
    def set(some: Map[String, String]) =
      canonical(some.flatMap { case (name, value) => property(id, name, table).map(_ -> value) })
    // The name with `kafka.` takes precedence, so that the order of a hash table decides nothing.
    val (whole, short) = of(id).partition(o => OptionName.afterPrefix(o._1, OptionName.Kafka).isDefined)
    named ++ canonical(shared) ++ (canonical(metadata) -- ignored(
      metadata,
      table
    )) ++ set(short) ++ set(whole)
  }

  private def of(id: String): Map[String, String] = own.getOrElse(id, Map.empty[String, String])
}

private[dynamickafka] object ClusterScope {
  private val ClientId = "client.id"
  private val GroupId = "group.id"

  /** Properties of the metadata that have no place in this query; other users of the cluster may need them. */
  def ignored(metadata: Map[String, String], table: OptionTable = SourceOptionSpecs.table): Seq[String] =
    canonical(metadata).keys.filter(table.unsupported.kafkaPropertyNames).toSeq.sorted

  /** The option that sets a property of one cluster, with or without `kafka.`, or an option of the cluster. */
  def option(id: String, key: String, table: OptionTable): String = {
    if (!ClusterKeys.isClusterId(id))
      throw Errors.invalidOption(
        s"${OptionName.Cluster}$id.$key",
        Redaction.Redacted,
        s"'$id' is not a valid cluster id: ${ClusterKeys.Rule}."
      )
    val property = OptionName.afterPrefix(key, OptionName.Kafka)
    property.foreach(table.checkProperty(_, s"${OptionName.Cluster}$id.$key"))
    val isOurs = property.isDefined || table.find(key).isDefined
    s"${OptionName.Cluster}$id.${if (isOurs) "" else OptionName.Kafka}${checked(id, key, table)}"
  }

  /**
   * The name itself, if it can mean anything below `cluster.<id>.`.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException UNKNOWN_OPTION, INVALID_OPTION
   */
  private def checked(id: String, name: String, table: OptionTable): String =
    if (FormatKey.of(name, table.formats).isDefined)
      throw Errors.invalidOption(
        s"${OptionName.Cluster}$id.$name",
        Redaction.Redacted,
        "the records of a stream have one format on all clusters: a stream whose clusters have different formats is two streams, each " +
          s"with a query of its own. A registry of one cluster is set with '${OptionName.Cluster}$id.registry.<option>'."
      )
    else if (table.find(name).isDefined || KafkaProperties.isPlausible(name)) name
    else {
      val known = table.perCluster.map(_.name) ++ KafkaProperties.names
      throw Errors.unknownOption(
        s"${OptionName.Cluster}$id.$name",
        Suggestions.closest(name, known).map(s => s"${OptionName.Cluster}$id.$s")
      )
    }

  /**
   * Checks the values of the properties that are set by options, before a query starts.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION
   */
  private[config] def checkValues(raw: RawOptions): Unit = {
    val ofClusters = raw.cluster.toSeq.flatMap { case (key, value) =>
      // The id may contain dots.
      val names = key.indices.filter(key(_) == '.').map(dot => key.drop(dot + 1))
      names.find(KafkaProperties.isJudged).map(name =>
        (OptionName.Cluster + key.stripSuffix(name), name, value)
      )
    }
    (raw.kafka.toSeq.map { case (name, value) => (OptionName.Kafka, name, value) } ++ ofClusters)
      .groupMap(_._1)(o => o._2 -> o._3).toSeq.sortBy(_._1).foreach { case (prefix, all) =>
        val set = all.toMap
        KafkaProperties.problems(set).headOption.foreach { case (name, reason) =>
          val shown = if (Redaction.isSafe(name, set(name))) set(name) else Redaction.Redacted
          throw Errors.invalidOption(prefix + name, shown, s"$reason.")
        }
      }
  }

  /** The Kafka property that a name below `cluster.<id>.` means; None: it is an option of this connector. */
  private def property(id: String, name: String, table: OptionTable): Option[String] =
    OptionName
      .afterPrefix(name, OptionName.Kafka)
      .orElse(Option.when(table.find(name).isEmpty)(checked(id, name, table)))

  private def canonical(properties: Map[String, String]): Map[String, String] =
    properties.toSeq.sorted.map { case (name, value) => KafkaProperties.canonical(name) -> value }.toMap
}

/**
 * The Kafka properties of one cluster. Precedence of each property, highest first:
 *
 *  1. the option `cluster.<id>.kafka.<property>`, or `cluster.<id>.<property>`
 *  1. the entry of the cluster in the metadata
 *  1. the option `kafka.<property>`
 *  1. the option `clientIdPrefix`, and [[io.github.dynamickafka.kafka.ClientDefaults]], some of which apply where a client is made
 *
 * Contains secrets, which `toString` omits. Equal values result in equal clients.
 *
 * @param client the properties of the consumers, or of the producers, without the prefix `kafka.`
 * @param admin the properties of the admin clients on the driver
 * @param groupId the consumer group that the user set, which `committed` reads; `client` has the group of the consumers
 */
private[dynamickafka] final case class ClusterProperties private[config] (
    clusterId: String,
    client: Map[String, String],
    admin: Map[String, String],
    groupId: Option[String]
) {
  def bootstrapServers: String = client.getOrElse(ClusterProperties.BootstrapServers, "")

  override def toString: String = s"ClusterProperties($clusterId: ${Redaction.show(client)})"
}

private[dynamickafka] object ClusterProperties {
  val BootstrapServers = "bootstrap.servers"
}

/**
 * Consumer group ids that are unique for a cluster and its Kafka properties.
 *
 * The executors of Spark cache consumers by group id and topic partition. If a cached consumer has different
 * properties, the task fails with a message that contains all properties, including passwords. So the group id that a
 * user sets for several clusters must differ by cluster, and must change when the properties of a cluster change.
 */
private[dynamickafka] object GroupIds {

  /** Random for each process, so that a group id in Kafka or in a log cannot be used to guess passwords. */
  private val key: Array[Byte] = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    bytes
  }

  def distinct(groupId: String, clusterId: String, properties: Map[String, String]): String = {
    val parts = clusterId +: properties.toSeq.sorted.flatMap { case (name, value) => Seq(name, value) }
    // The length makes the encoding of the list unambiguous.
    val text = parts.map(part => s"${part.length}:$part").mkString
    s"$groupId-$clusterId-${new HmacUtils(HmacAlgorithms.HMAC_SHA_256, key).hmacHex(text).take(8)}"
  }
}

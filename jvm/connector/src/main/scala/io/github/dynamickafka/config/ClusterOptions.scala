package io.github.dynamickafka.config

import io.github.dynamickafka.metadata.UnreachableReplayPolicy
import io.github.dynamickafka.option.{OptionSpecs, OptionTable, OptionType, RawOptions}

/** Clusters that are slow, unreachable or without some of their records. */
private[config] trait ClusterSpecs extends OptionSpecs {
  import OptionType._

  val ClientMetrics = option("clientMetrics", boolean, "false")(
    "Whether metrics of Kafka's clients are [gauges](operations.md#metrics-of-kafkas-clients)."
  )

  val ClusterFailurePolicy = option("clusterFailurePolicy", oneOf("fail" -> false, "skip" -> true), "fail")(
    "An unreachable cluster fails the query (`fail`), or keeps its offsets and is retried while the others are " +
      "read (`skip`)."
  )

  val ClusterFailureTimeoutMs = option(
    "clusterFailureTimeoutMs",
    duration(min = 1, minusOne = Some("forever")),
    "-1"
  )(
    "With `clusterFailurePolicy=skip`: how long a cluster may be unreachable, or a partition without offsets, " +
      "before the query fails. `-1`: forever."
  )

  val ClusterRequestTimeoutMs = option("clusterRequestTimeoutMs", duration(min = 1), "60000")(
    "The time limit for all requests of the driver to one cluster in a trigger, and for a call of the metadata service. Tasks " +
      "that read have `spark.network.timeout` (120 s by default), tasks that write the producer's timeouts."
  )

  val ClusterSnapshotMaxAgeMs = option("clusterSnapshotMaxAgeMs", duration(min = 0), "1000")(
    "How old the latest offsets of a cluster may be that a trigger uses. `0`: each trigger [waits for all " +
      "clusters](semantics.md#unreachable-clusters)."
  )

  val UnreachableReplay = option(
    "unreachableReplayPolicy",
    oneOf[UnreachableReplayPolicy](
      "fail" -> UnreachableReplayPolicy.Fail,
      "skip" -> UnreachableReplayPolicy.Skip,
      "defer" -> UnreachableReplayPolicy.Defer
    ),
    "fail"
  )(
    "What happens at a [restart](semantics.md#restart) to a logged batch that was not completed and needs an " +
      "unreachable cluster: `fail` fails the query; `skip` gives up the records of a cluster that the metadata no " +
      "longer has; `defer` reads the records later."
  )

  val DeferWithState = option(
    "deferWithState",
    boolean,
    "false",
    requires = without(UnreachableReplay, "defer")
  )(
    "Whether `unreachableReplayPolicy=defer` also applies with stateful operators, which drop deferred records " +
      "older than the watermark."
  )

  val FailOnDataLoss = option("failOnDataLoss", boolean, "true")(
    "Whether a query fails when unread records expired, or their topic was deleted or recreated. If `false`, it " +
      "logs a warning and reads what is available."
  )
}

/** The names of Kafka's clients. */
private[config] trait ClientSpecs extends OptionSpecs {
  import OptionType._

  val ClientIdPrefix = optional("clientIdPrefix", text, "a unique id for each client")(
    "The `client.id` of all clients, with `-<cluster id>` appended, for quotas and request logs of brokers."
  )

  val GroupIdPrefix = optional("groupIdPrefix", text, "no group")(
    "The group id of consumers, with `-<cluster id>` appended. Consumers need no group."
  )
}

/** Connections to the clusters, and the handling of clusters that are unreachable or without some of their records. */
private[dynamickafka] final case class ClusterOptions(
    requestTimeoutMs: Long,
    unreachable: UnreachableOptions,
    properties: PropertyOptions,
    clients: ClientOptions,
    snapshotMaxAgeMs: Long,
    failOnDataLoss: Boolean,
    refuseMisspelled: Boolean
) {

  /** The options with the prefix of the gauges of a query. */
  def named(prefix: String): ClusterOptions =
    copy(clients = clients.copy(metrics = clients.metrics.map(_ => prefix)))

  override def toString: String = s"ClusterOptions(requestTimeoutMs=$requestTimeoutMs)"
}

private[dynamickafka] object ClusterOptions {
  import SourceOptionSpecs._

  def apply(raw: RawOptions, table: OptionTable): ClusterOptions = ClusterOptions(
    raw.get(ClusterRequestTimeoutMs),
    UnreachableOptions(
      raw.get(ClusterFailurePolicy),
      raw.get(ClusterFailureTimeoutMs),
      raw.get(UnreachableReplay),
      raw.get(DeferWithState)
    ),
    PropertyOptions(raw.kafka, raw.cluster, table),
    ClientOptions(
      raw.find(ClientIdPrefix),
      raw.find(GroupIdPrefix),
      Option.when(raw.get(ClientMetrics))("query")
    ),
    raw.get(ClusterSnapshotMaxAgeMs),
    raw.get(FailOnDataLoss),
    raw.get(UnknownClusterOptions)
  )
}

/** @param timeoutMs how long a skipped cluster may be unreachable, or -1 */
private[dynamickafka] final case class UnreachableOptions(
    skip: Boolean,
    timeoutMs: Long,
    replay: UnreachableReplayPolicy,
    deferWithState: Boolean
)

/**
 * @param shared the `kafka.*` options without that prefix
 * @param perCluster the `cluster.*` options without that prefix, names as the user wrote them
 * @param table the options of the source or the sink, to distinguish options from Kafka properties
 */
private[dynamickafka] final case class PropertyOptions(
    shared: Map[String, String],
    perCluster: Map[String, String],
    table: OptionTable
) {

  /** Omits values, which may be secrets. */
  override def toString: String = s"PropertyOptions(${(shared.keySet ++ perCluster.keySet).mkString(", ")})"
}

/** @param metrics the prefix of the gauges of Kafka's clients; None: there are none */
private[dynamickafka] final case class ClientOptions(
    idPrefix: Option[String],
    groupIdPrefix: Option[String],
    metrics: Option[String]
)

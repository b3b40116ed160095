package io.github.dynamickafka.config

import io.github.dynamickafka.metadata.UnreachableReplayPolicy
import io.github.dynamickafka.option.{OptionSpecs, OptionTable, OptionType, RawOptions}

/** Clusters that are slow, unreachable or without some of their records. */
private[config] trait ClusterSpecs extends OptionSpecs {
  import OptionType._

  val ClientMetrics = option("clientMetrics", boolean, "false")(
    "Whether metrics of Kafka's own clients are [gauges](operations.md#metrics-of-kafkas-clients) in Spark's metrics system, on the " +
      "driver and on executors. A query with this option has clients of its own."
  )

  val ClusterFailurePolicy = option("clusterFailurePolicy", oneOf("fail" -> false, "skip" -> true), "fail")(
    "What happens when a cluster is unreachable: `fail` fails the query; `skip` keeps the offsets of the cluster, " +
      "continues with the other clusters and retries."
  )

  val ClusterFailureTimeoutMs = option(
    "clusterFailureTimeoutMs",
    duration(min = 1, minusOne = Some("forever")),
    "-1"
  )(
    "With `clusterFailurePolicy=skip`: how long a cluster may be unreachable, or a partition without offsets, before the " +
      "query fails. `-1`: forever."
  )

  val ClusterRequestTimeoutMs = option("clusterRequestTimeoutMs", duration(min = 1), "60000")(
    "The time limit for all requests of the driver to one cluster in a trigger, and for one call of the metadata " +
      "service. The timeouts of the driver's Kafka clients are derived from it. Tasks do not use it: a task of the " +
      "source fails if a cluster returns no data for `spark.network.timeout` (120 s by default), and a task of the sink " +
      "uses the timeouts of the Kafka producer."
  )

  val ClusterSnapshotMaxAgeMs = option("clusterSnapshotMaxAgeMs", duration(min = 0), "1000")(
    "How old the latest offsets of a cluster may be that a trigger uses. Clusters are asked ahead of the next trigger, so " +
      "that no trigger waits for a slow one. `0`: each trigger asks and waits for all clusters; `processAllAvailable` is " +
      "exact only with this."
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
    "What happens at a restart when a batch that was logged but not completed requires a cluster that is unreachable: " +
      "`fail` fails the query; `skip` skips the records of a cluster that is no longer in the metadata, which are lost, " +
      "and logs their offsets; `defer` completes the batch without the records of the cluster, and reads them later, when " +
      "it is reachable. A sink that had already received the batch gets deferred records twice; the sink of this " +
      "connector with `exactly-once` does not. `defer` needs `clusterFailurePolicy=skip` to continue without a cluster " +
      "that is still in the metadata."
  )

  val DeferWithState = option(
    "deferWithState",
    boolean,
    "false",
    requires = without(UnreachableReplay, "defer")
  )(
    "Whether `unreachableReplayPolicy=defer` also applies to a query with stateful operators. They receive deferred records " +
      "late, and drop those that are older than the watermark."
  )

  val FailOnDataLoss = option("failOnDataLoss", boolean, "true")(
    "Whether the query fails when unread records are lost: because they have expired, or because their topic was " +
      "deleted or recreated. If `false`, the query logs a warning and continues with the records that are available."
  )
}

/** The names of Kafka's clients. */
private[config] trait ClientSpecs extends OptionSpecs {
  import OptionType._

  val ClientIdPrefix = optional("clientIdPrefix", text, "a unique id for each client")(
    "The prefix of the `client.id` of all clients; `-<cluster id>` is appended. All clients of a cluster then share one " +
      "`client.id`, for example for the quotas and request logs of the brokers. Has no effect on a cluster with " +
      "`kafka.client.id`."
  )

  val GroupIdPrefix = optional("groupIdPrefix", text, "no group")(
    "The prefix of the group id of consumers; `-<cluster id>` is appended. Consumers commit no offsets and need no " +
      "group, so without this option they have none. Has no effect on a cluster with `kafka.group.id`."
  )
}

/**
 * Connections to the clusters, and the handling of unreachable clusters.
 *
 * @param shared the `kafka.*` options without that prefix
 * @param perCluster the `cluster.*` options without that prefix, names as the user wrote them
 * @param table the options of the source or the sink, to distinguish options from Kafka properties
 * @param clientMetrics the prefix of the gauges of Kafka's clients; None: there are none
 */
private[dynamickafka] final case class ClusterOptions(
    skipUnreachable: Boolean,
    failureTimeoutMs: Long,
    requestTimeoutMs: Long,
    unreachableReplay: UnreachableReplayPolicy,
    groupIdPrefix: Option[String],
    shared: Map[String, String],
    perCluster: Map[String, String],
    clientIdPrefix: Option[String] = None,
    table: OptionTable = SourceOptionSpecs.table,
    snapshotMaxAgeMs: Long = 1000L,
    clientMetrics: Option[String] = None,
    refuseMisspelled: Boolean = false
) {

  /** With the prefix of the gauges of a query. */
  def named(prefix: String): ClusterOptions = copy(clientMetrics = clientMetrics.map(_ => prefix))

  override def toString: String = s"ClusterOptions(requestTimeoutMs=$requestTimeoutMs)"
}

private[dynamickafka] object ClusterOptions {
  import SourceOptionSpecs._

  def apply(raw: RawOptions, table: OptionTable): ClusterOptions = ClusterOptions(
    skipUnreachable = raw.get(ClusterFailurePolicy),
    failureTimeoutMs = raw.get(ClusterFailureTimeoutMs),
    requestTimeoutMs = raw.get(ClusterRequestTimeoutMs),
    unreachableReplay = raw.get(UnreachableReplay),
    groupIdPrefix = raw.find(GroupIdPrefix),
    shared = raw.kafka,
    perCluster = raw.cluster,
    clientIdPrefix = raw.find(ClientIdPrefix),
    table = table,
    snapshotMaxAgeMs = raw.get(ClusterSnapshotMaxAgeMs),
    clientMetrics = Option.when(raw.get(ClientMetrics))("query"),
    refuseMisspelled = raw.get(UnknownClusterOptions)
  )
}

package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpec, OptionType}
import io.github.dynamickafka.topology.UnreachableReplayPolicy

/** The options of [[SourceOptionSpecs]] about clusters that are slow or unreachable. */
private[dynamickafka] trait ClusterOptionSpecs {
  import OptionType._

  val ClientMetrics: OptionSpec[Boolean] = OptionSpec(
    "clientMetrics",
    boolean,
    Some(false),
    "`false`",
    "Whether metrics of Kafka's own clients are [gauges](operations.md#metrics-of-kafkas-clients) in Spark's metrics system, on the " +
      "driver and on executors. A query with this option has clients of its own."
  )

  val ClusterFailurePolicy: OptionSpec[Boolean] = OptionSpec(
    "clusterFailurePolicy",
    oneOf("fail" -> false, "skip" -> true),
    Some(false),
    "`fail`",
    "What happens when a cluster is unreachable: `fail` fails the query; `skip` keeps the offsets of the cluster, " +
      "continues with the other clusters and retries."
  )

  val ClusterFailureTimeoutMs: OptionSpec[Long] = OptionSpec(
    "clusterFailureTimeoutMs",
    duration(min = 1, minusOne = Some("forever")),
    Some(-1L),
    "`-1`",
    "With `clusterFailurePolicy=skip`: how long a cluster may be unreachable, or a partition without offsets, before the " +
      "query fails. `-1`: forever."
  )

  val ClusterRequestTimeoutMs: OptionSpec[Long] = OptionSpec(
    "clusterRequestTimeoutMs",
    duration(min = 1),
    Some(60000L),
    "`60000`",
    "The time limit for all requests of the driver to one cluster in a trigger, and for one call of the metadata " +
      "service. The timeouts of the driver's Kafka clients are derived from it. Tasks do not use it: a task of the " +
      "source fails if a cluster returns no data for `spark.network.timeout` (120 s by default), and a task of the sink " +
      "uses the timeouts of the Kafka producer."
  )

  val UnknownClusterOptions: OptionSpec[Boolean] = OptionSpec(
    "unknownClusterOptions",
    oneOf("warn" -> false, "fail" -> true),
    Some(false),
    "`warn`",
    "What an option `cluster.<id>.` does whose id the metadata does not have. `warn` logs a warning at each change of the metadata, " +
      "because such a cluster may be added later. `fail` refuses an id that is one of the metadata with a typing error, " +
      "when the DataFrame is created; it calls the metadata service then, and does not fail if that has no answer."
  )

  val ClusterSnapshotMaxAgeMs: OptionSpec[Long] = OptionSpec(
    "clusterSnapshotMaxAgeMs",
    duration(min = 0),
    Some(1000L),
    "`1000`",
    "How old the latest offsets of a cluster may be that a trigger uses. Clusters are asked ahead of the next trigger, so " +
      "that no trigger waits for a slow one. `0`: each trigger asks and waits for all clusters; `processAllAvailable` is " +
      "exact only with this."
  )

  val UnreachableReplay: OptionSpec[UnreachableReplayPolicy] = OptionSpec(
    "unreachableReplayPolicy",
    oneOf[UnreachableReplayPolicy](
      "fail" -> UnreachableReplayPolicy.Fail,
      "skip" -> UnreachableReplayPolicy.Skip,
      "defer" -> UnreachableReplayPolicy.Defer
    ),
    Some(UnreachableReplayPolicy.Fail),
    "`fail`",
    "What happens at a restart when a batch that was logged but not completed requires a cluster that is unreachable: " +
      "`fail` fails the query; `skip` skips the records of a cluster that is no longer in the metadata, which are lost, " +
      "and logs their offsets; `defer` completes the batch without the records of the cluster, and reads them later, when " +
      "it is reachable. A sink that had already received the batch gets deferred records twice; the sink of this " +
      "connector with `exactly-once` does not. `defer` needs `clusterFailurePolicy=skip` to continue without a cluster " +
      "that is still in the metadata."
  )

  val DeferWithState: OptionSpec[Boolean] = OptionSpec(
    "deferWithState",
    boolean,
    Some(false),
    "`false`",
    "Whether `unreachableReplayPolicy=defer` also applies to a query with stateful operators. They receive deferred records " +
      "late, and drop those that are older than the watermark."
  )
}

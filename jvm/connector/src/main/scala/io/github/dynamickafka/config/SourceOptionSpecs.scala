package io.github.dynamickafka.config

import java.util.concurrent.TimeUnit

import scala.util.matching.Regex

import io.github.dynamickafka.format.table.{FormatOptionSpecs, Formats, WriteOptionSpecs}
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.option.{OptionSpec, OptionTable, OptionType}
import io.github.dynamickafka.page.PageOptionSpecs
import io.github.dynamickafka.topology.UnreachableReplayPolicy

/** The options of the source: the only declaration for parsing, suggestions and `docs/options.md`. */
private[dynamickafka] object SourceOptionSpecs extends ClusterOptionSpecs
    with PositionOptionSpecs
    with ReplacedClusterOptionSpecs
    with FormatOptionSpecs {
  import OptionType._

  val MetadataService: OptionSpec[String] = OptionSpec(
    "metadataService",
    text,
    None,
    "required",
    s"The metadata service that describes the streams: ${MetadataServiceSpecs.names("`")}, or the name of a class that " +
      "implements `KafkaMetadataService`. Its arguments are the options `metadataService.<argument>`."
  )

  val StreamIds: OptionSpec[Seq[String]] = OptionSpec(
    "streamIds",
    names,
    None,
    "this or `streamPattern`",
    "The ids of the streams to read."
  )

  val StreamPattern: OptionSpec[Regex] = OptionSpec(
    "streamPattern",
    regex,
    None,
    "this or `streamIds`",
    "A Java regular expression. The query reads every stream whose whole id matches; streams are added and removed " +
      "as the set of matching ids changes."
  )

  val DiscoveryIntervalMs: OptionSpec[Long] = OptionSpec(
    "streamMetadataDiscoveryIntervalMs",
    duration(min = 1, minusOne = Some("only at the start of the query")),
    Some(30000L),
    "`30000`",
    "The interval between two polls of the metadata service. `-1`: the metadata is read only at the start of the query."
  )

  val DiscoveryFailureThreshold: OptionSpec[Int] = OptionSpec(
    "streamMetadataDiscoveryFailureThreshold",
    int(min = 0),
    Some(10),
    "`10`",
    "The number of consecutive failures of the metadata service that the query tolerates, using the last valid metadata " +
      "meanwhile. One more consecutive failure fails the query."
  )

  val RemovedClusterRetentionMs: OptionSpec[Long] = OptionSpec(
    "streamMetadataRemovedClusterRetentionMs",
    duration(min = 0, minusOne = Some("forever")),
    Some(-1L),
    "`-1`",
    "How long the offsets of a removed cluster or topic are retained. If it is added again within this time, reading " +
      "resumes from these offsets. `-1`: forever; `0`: the batch that removes it drops the offsets."
  )

  val RemovedClusterPolicy: OptionSpec[Boolean] = OptionSpec(
    "removedClusterPolicy",
    oneOf("stop" -> false, "drain" -> true),
    Some(false),
    "`stop`",
    "What happens when a cluster or topic is removed from the metadata: `stop` stops reading it with the next batch; " +
      "`drain` reads it up to its latest offsets at the time of the removal."
  )

  val MaxRemovedClusters: OptionSpec[Int] = OptionSpec(
    "maxRemovedClustersPerChange",
    int(min = -1).map(n => if (n < 0) Int.MaxValue else n),
    None,
    "half of the clusters that the query reads, rounded down, at least 1",
    "The maximum number of clusters that the answer of the metadata service may lack, compared to the clusters that the " +
      "query reads. An answer that lacks more counts as a failure of the service, and nothing is removed. `-1`: no limit. " +
      "Clusters with `state: removed` in the metadata, and clusters that the service reports as inactive, do not count."
  )

  val RemovalConfirmations: OptionSpec[Int] = OptionSpec(
    "removalConfirmations",
    int(min = 1),
    Some(2),
    "`2`",
    "The number of consecutive valid answers of the metadata service that have to lack a cluster or topic before it is " +
      "removed. An answer that contains it starts the count again. Clusters with `state: removed` in the metadata, clusters " +
      "that the service reports as inactive, and partitions are removed by the first answer."
  )

  val AllowMissingStreams: OptionSpec[Boolean] = OptionSpec(
    "allowMissingStreams",
    boolean,
    Some(false),
    "`false`",
    "Whether a subscribed stream that the metadata service does not return, or returns without a cluster, counts as " +
      "removed; the same applies to a `streamPattern` that matches no stream. If `false`, this counts as a failure of " +
      "the service, and nothing is removed."
  )

  val AllowDuplicateClusters: OptionSpec[Boolean] = OptionSpec(
    "allowDuplicateClusters",
    boolean,
    Some(false),
    "`false`",
    "Whether two cluster ids may refer to Kafka clusters with the same `cluster.id` and share a topic. Intended for " +
      "different clusters that report the same `cluster.id`, for example behind proxies. If they are the same cluster, " +
      "the topic is read twice."
  )

  val FailOnDataLoss: OptionSpec[Boolean] = OptionSpec(
    "failOnDataLoss",
    boolean,
    Some(true),
    "`true`",
    "Whether the query fails when unread records are lost: because they have expired, or because their topic was " +
      "deleted or recreated. If `false`, the query logs a warning and continues with the records that are available."
  )

  val MaxOffsetsPerTrigger: OptionSpec[Long] = OptionSpec(
    "maxOffsetsPerTrigger",
    long(min = 1),
    None,
    "no limit",
    "The maximum number of records in a batch, over all clusters, distributed over the partitions in proportion to " +
      "their lag. Set for one cluster: the maximum number of records of that cluster.",
    perCluster = true
  )

  val MaxBytesPerTrigger: OptionSpec[Long] = OptionSpec(
    "maxBytesPerTrigger",
    bytes(min = 1),
    None,
    "no limit",
    "The maximum size of the records in a batch, over all clusters: keys, values and headers without compression, by the mean size of the " +
      "records that tasks have read. See [semantics](semantics.md#limits-in-bytes). With `maxOffsetsPerTrigger`, the smaller one applies."
  )

  val MinOffsetsPerTrigger: OptionSpec[Long] = OptionSpec(
    "minOffsetsPerTrigger",
    long(min = 1),
    None,
    "-",
    "The minimum number of records, over all clusters, that starts a batch. The first batch, `Trigger.AvailableNow` and " +
      "a change of the topology do not wait for this number."
  )

  val MaxTriggerDelay: OptionSpec[Long] = OptionSpec(
    "maxTriggerDelay",
    duration(min = 1),
    Some(TimeUnit.MINUTES.toMillis(15)),
    "`15m`",
    "With `minOffsetsPerTrigger`: the maximum time to wait for this number of records."
  )

  val Alignment: OptionSpec[Boolean] = OptionSpec(
    "alignment",
    oneOf("none" -> false, "timestamp" -> true),
    Some(false),
    "`none`",
    "`timestamp`: the clusters of a streaming query advance together in record time, so that a watermark drops no records of " +
      "a cluster that lags behind the others. A batch reads only records whose time is less than that of the oldest " +
      "cluster with unread records, plus `alignmentMaxDrift`."
  )

  val AlignmentMaxDrift: OptionSpec[Long] = OptionSpec(
    "alignmentMaxDrift",
    duration(min = 1),
    None,
    "required with `alignment=timestamp`",
    "How far a cluster may be read ahead of the oldest one, in record time. At most the delay of the watermark."
  )

  val AlignmentIdleTimeout: OptionSpec[Long] = OptionSpec(
    "alignmentIdleTimeout",
    duration(min = 0),
    Some(30000L),
    "`30s`",
    "With `alignment=timestamp`: how long the other clusters wait for a cluster that has no unread records, or that does not " +
      "respond."
  )

  val MinPartitions: OptionSpec[Int] = OptionSpec(
    "minPartitions",
    int(min = 1),
    None,
    "-",
    "The minimum number of tasks of a batch, over all clusters, if the batch has at least as many records. Large offset " +
      "ranges are split."
  )

  val MaxRecordsPerPartition: OptionSpec[Long] = OptionSpec(
    "maxRecordsPerPartition",
    long(min = 1),
    None,
    "-",
    "The maximum number of records of one task. Larger offset ranges are split."
  )

  val HistoryFilesPerTrigger: OptionSpec[Int] = OptionSpec(
    "historyFilesPerTrigger",
    int(min = 1),
    Some(100),
    "`100`",
    "The maximum number of files of the `history` of streams in a batch, over all streams. A new query reads these files " +
      "before Kafka. Batch reads do not read them."
  )

  val RealTimeTasks: OptionSpec[Int] = OptionSpec(
    "realTimeTasks",
    int(min = 1),
    None,
    "Spark's default parallelism",
    "Real-time mode: the maximum number of tasks of a batch. Each task occupies a core as long as the query runs. Requires " +
      "Spark 4.1 or later."
  )

  val RealTimeMinBatchMs: OptionSpec[Long] = OptionSpec(
    "realTimeMinBatchMs",
    long(min = 0),
    Some(250L),
    "`250`",
    "Real-time mode: how many milliseconds a batch lasts at least before a change of the topology ends it. Requires Spark 4.1 or " +
      "later."
  )

  val IncludeHeaders: OptionSpec[Boolean] = OptionSpec(
    "includeHeaders",
    boolean,
    Some(false),
    "`false`",
    "Whether rows contain the record headers, in the column `headers`."
  )

  val ClientIdPrefix: OptionSpec[String] = OptionSpec(
    "clientIdPrefix",
    text,
    None,
    "a unique id for each client",
    "The prefix of the `client.id` of all clients; `-<cluster id>` is appended. All clients of a cluster then share one " +
      "`client.id`, for example for the quotas and request logs of the brokers. Has no effect on a cluster with " +
      "`kafka.client.id`."
  )

  val GroupIdPrefix: OptionSpec[String] = OptionSpec(
    "groupIdPrefix",
    text,
    None,
    "no group",
    "The prefix of the group id of consumers; `-<cluster id>` is appended. Consumers commit no offsets and need no " +
      "group, so without this option they have none. Has no effect on a cluster with `kafka.group.id`."
  )

  val CommitOffsets: OptionSpec[Boolean] = OptionSpec(
    "commitOffsets",
    boolean,
    Some(false),
    "`false`",
    "Whether the offsets of each completed batch are committed to a consumer group on each cluster, for lag monitoring " +
      "tools: to the group `commitGroupId`, or to `kafka.group.id` if it is not set. A query always resumes from its " +
      "checkpoint, not from these offsets."
  )

  val CommitGroupId: OptionSpec[String] = OptionSpec(
    "commitGroupId",
    text,
    None,
    "-",
    "The consumer group that `startingOffsets=committed` reads from and `commitOffsets` commits to, with the same name on each cluster. If it is not set, `kafka.group.id` is used."
  )

  private def all: Seq[OptionSpec[_]] = Seq(
    MetadataService,
    StreamIds,
    StreamPattern,
    StartingOffsets,
    StartingTimestamp,
    StartingOffsetsByTimestamp,
    CommittedOffsetsFallback,
    NewClusterStartingOffsets,
    NewTopicStartingOffsets,
    EndingOffsets,
    EndingTimestamp,
    EndingOffsetsByTimestamp,
    DiscoveryIntervalMs,
    DiscoveryFailureThreshold,
    RemovedClusterRetentionMs,
    RemovedClusterPolicy,
    MaxRemovedClusters,
    RemovalConfirmations,
    AllowMissingStreams,
    AllowDuplicateClusters,
    UnknownClusterOptions,
    ReplacedPolicy,
    MirrorMakerSourceAlias,
    MirrorMakerReplicationPolicy,
    ClientMetrics,
    ClusterFailurePolicy,
    ClusterFailureTimeoutMs,
    ClusterRequestTimeoutMs,
    ClusterSnapshotMaxAgeMs,
    UnreachableReplay,
    DeferWithState,
    FailOnDataLoss,
    MaxOffsetsPerTrigger,
    MaxBytesPerTrigger,
    MinOffsetsPerTrigger,
    MaxTriggerDelay,
    Alignment,
    AlignmentMaxDrift,
    AlignmentIdleTimeout,
    MinPartitions,
    MaxRecordsPerPartition,
    HistoryFilesPerTrigger,
    RealTimeTasks,
    RealTimeMinBatchMs,
    IncludeHeaders,
    ClientIdPrefix,
    GroupIdPrefix,
    CommitOffsets,
    CommitGroupId
  ) ++ PageOptionSpecs.all ++ ofFormats

  val table: OptionTable = new OptionTable(
    all,
    RefusedOptions.OfSource,
    Formats.registered.all.map(_.name) ++ FormatOptionSpecs.classes.map(_.name),
    WriteOptionSpecs.writesOnly,
    KafkaProperties.isKnown,
    Seq(ReplicationPolicyProperty)
  )
}

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

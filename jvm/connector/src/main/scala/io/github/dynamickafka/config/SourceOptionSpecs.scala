package io.github.dynamickafka.config

import java.util.concurrent.TimeUnit

import scala.util.matching.Regex

import io.github.dynamickafka.offset.OffsetsPolicy

/** Every option of the source. Parsing, suggestions and `docs/options.md` come from here and nowhere else. */
private[dynamickafka] object SourceOptionSpecs {
  import OptionType._

  val MetadataService: OptionSpec[String] = OptionSpec(
    "metadataService",
    text,
    None,
    "required",
    "Who knows the streams: `file`, `http`, `configmap`, `jdbc`, `static`, `single-cluster`, or the name of a class " +
      "that implements `KafkaMetadataService`. Its arguments are the options `metadataService.<argument>`."
  )

  val StreamIds: OptionSpec[Seq[String]] = OptionSpec(
    "streamIds",
    names,
    None,
    "this or `streamPattern`",
    "The streams to read."
  )

  val StreamPattern: OptionSpec[Regex] = OptionSpec(
    "streamPattern",
    regex,
    None,
    "this or `streamIds`",
    "Reads every stream whose whole id matches. Streams enter and leave as they match."
  )

  val StartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "startingOffsets",
    startingOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "Where a new query starts, in streaming as in batch; a query with a checkpoint goes on where it was. JSON gives " +
      "offsets by cluster, topic and partition, `{\"blue\": {\"orders\": {\"0\": 42}}}` (-2 earliest, -1 latest); " +
      "the level of the cluster can be left out where there is one cluster. `committed` reads the offsets of " +
      "`commitGroupId`, else of `kafka.group.id`.",
    perCluster = true
  )

  val StartingTimestamp: OptionSpec[Long] = OptionSpec(
    "startingTimestamp",
    epochMs,
    None,
    "-",
    "Starts every partition at its first record of this time or later, at its end where there is none. Goes before " +
      "`startingOffsetsByTimestamp` and `startingOffsets`.",
    perCluster = true
  )

  val StartingOffsetsByTimestamp: OptionSpec[OffsetsPolicy] = OptionSpec(
    "startingOffsetsByTimestamp",
    timestamps,
    None,
    "-",
    "As `startingTimestamp`, by cluster, topic and partition: `{\"blue\": {\"orders\": {\"0\": 1767225600000}}}`. " +
      "Goes before `startingOffsets`.",
    perCluster = true
  )

  val CommittedOffsetsFallback: OptionSpec[Option[OffsetsPolicy]] = OptionSpec(
    "committedOffsetsFallback",
    oneOf("fail" -> None, "earliest" -> Some(OffsetsPolicy.Earliest), "latest" -> Some(OffsetsPolicy.Latest)),
    Some(None),
    "`fail`",
    "Where `committed` starts a partition for which the group has no offset."
  )

  val NewClusterStartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "newClusterStartingOffsets",
    enteringOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "Where a cluster starts that appears while the query runs. `earliest` skips nothing that was published before " +
      "its discovery."
  )

  val NewTopicStartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "newTopicStartingOffsets",
    enteringOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "As `newClusterStartingOffsets`, for a topic that appears in a cluster that is already read. New partitions " +
      "of a known topic are always read from their beginning."
  )

  val EndingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "endingOffsets",
    endingOffsets,
    None,
    "streaming: no end; batch: `latest`",
    "Where reading ends; -1 is latest in JSON. A streaming query stays up and idles at its ends, and with " +
      "`Trigger.AvailableNow` it ends there. `latest` is what is there when the query, or the cluster, first starts. " +
      "A partition that is not named has no end.",
    perCluster = true
  )

  val EndingTimestamp: OptionSpec[Long] = OptionSpec(
    "endingTimestamp",
    epochMs,
    None,
    "-",
    "Ends every partition before its first record of this time or later; until there is one, a streaming query reads " +
      "on. Goes before `endingOffsetsByTimestamp` and `endingOffsets`.",
    perCluster = true
  )

  val EndingOffsetsByTimestamp: OptionSpec[OffsetsPolicy] = OptionSpec(
    "endingOffsetsByTimestamp",
    timestamps,
    None,
    "-",
    "As `endingTimestamp`, by cluster, topic and partition. Goes before `endingOffsets`.",
    perCluster = true
  )

  val DiscoveryIntervalMs: OptionSpec[Long] = OptionSpec(
    "streamMetadataDiscoveryIntervalMs",
    duration(min = 1, minusOne = Some("only at start")),
    Some(30000L),
    "`30000`",
    "How often the metadata service is asked what has changed; `-1`: only at start."
  )

  val DiscoveryFailureThreshold: OptionSpec[Int] = OptionSpec(
    "streamMetadataDiscoveryFailureThreshold",
    int(min = 0),
    Some(10),
    "`10`",
    "Consecutive failures of the metadata service that are tolerated, with the last good answer in use; the next " +
      "one fails the query."
  )

  val RemovedClusterRetentionMs: OptionSpec[Long] = OptionSpec(
    "streamMetadataRemovedClusterRetentionMs",
    duration(min = 0, minusOne = Some("for ever")),
    Some(-1L),
    "`-1`",
    "How long the offsets of a removed cluster or topic are kept, so that it resumes exactly there if it comes back; " +
      "`-1`: for ever, `0`: they are forgotten by the batch that retires it."
  )

  val RemovedClusterPolicy: OptionSpec[Boolean] = OptionSpec(
    "removedClusterPolicy",
    oneOf("stop" -> false, "drain" -> true),
    Some(false),
    "`stop`",
    "What happens to a cluster or topic that leaves the metadata: `stop` reads no more of it, `drain` reads it up to " +
      "the end that it has at that moment."
  )

  val AllowMissingStreams: OptionSpec[Boolean] = OptionSpec(
    "allowMissingStreams",
    boolean,
    Some(false),
    "`false`",
    "Whether a stream of `streamIds` that the metadata service does not know counts as removed. Otherwise it counts " +
      "as a failure of the service, and nothing is removed."
  )

  val AllowDuplicateClusters: OptionSpec[Boolean] = OptionSpec(
    "allowDuplicateClusters",
    boolean,
    Some(false),
    "`false`",
    "Whether two cluster ids may lead to the same Kafka cluster and share a topic, which is then read twice. For " +
      "different clusters that tell the same `cluster.id`, for example behind proxies."
  )

  val ClusterFailurePolicy: OptionSpec[Boolean] = OptionSpec(
    "clusterFailurePolicy",
    oneOf("fail" -> false, "skip" -> true),
    Some(false),
    "`fail`",
    "What happens when a cluster cannot be reached: `fail` fails the query, `skip` keeps the cluster's offsets, goes " +
      "on with the others and asks it again."
  )

  val ClusterFailureTimeoutMs: OptionSpec[Long] = OptionSpec(
    "clusterFailureTimeoutMs",
    duration(min = 1, minusOne = Some("never")),
    Some(-1L),
    "`-1`",
    "With `clusterFailurePolicy=skip`: how long a cluster may be away before the query fails; `-1`: for ever."
  )

  val ClusterRequestTimeoutMs: OptionSpec[Long] = OptionSpec(
    "clusterRequestTimeoutMs",
    duration(min = 1),
    Some(60000L),
    "`60000`",
    "How long one cluster may take for its answers in a trigger, and the metadata service for one call. Kafka's " +
      "own time-outs on the driver are derived from it. Tasks have other limits: `spark.network.timeout` in reads, " +
      "those of Kafka's producer in writes."
  )

  val UnreachableReplayPolicy: OptionSpec[Boolean] = OptionSpec(
    "unreachableReplayPolicy",
    oneOf("fail" -> false, "skip" -> true),
    Some(false),
    "`fail`",
    "What happens at a restart when a batch that was logged but not finished needs a cluster that cannot be " +
      "reached: `skip` gives its records up and logs their offsets as lost."
  )

  val FailOnDataLoss: OptionSpec[Boolean] = OptionSpec(
    "failOnDataLoss",
    boolean,
    Some(true),
    "`true`",
    "Whether the query fails when records that it has not read are gone: expired, or their topic was deleted or made " +
      "anew."
  )

  val MaxOffsetsPerTrigger: OptionSpec[Long] = OptionSpec(
    "maxOffsetsPerTrigger",
    long(min = 1),
    None,
    "no limit",
    "The most records of a batch, over all clusters together, shared by how far each partition is behind. For one " +
      "cluster: the most records of that cluster.",
    perCluster = true
  )

  val MinOffsetsPerTrigger: OptionSpec[Long] = OptionSpec(
    "minOffsetsPerTrigger",
    long(min = 1),
    None,
    "-",
    "The fewest records, over all clusters together, that start a batch. The first batch, `AvailableNow` and a change " +
      "of the topology don't wait for them."
  )

  val MaxTriggerDelay: OptionSpec[Long] = OptionSpec(
    "maxTriggerDelay",
    duration(min = 1),
    Some(TimeUnit.MINUTES.toMillis(15)),
    "`15m`",
    "With `minOffsetsPerTrigger`: the longest wait for them."
  )

  val MinPartitions: OptionSpec[Int] = OptionSpec(
    "minPartitions",
    int(min = 1),
    None,
    "-",
    "The fewest tasks of a batch, over all clusters together, where there are as many records: large ranges of " +
      "offsets are split."
  )

  val MaxRecordsPerPartition: OptionSpec[Long] = OptionSpec(
    "maxRecordsPerPartition",
    long(min = 1),
    None,
    "-",
    "The most records of one task: larger ranges of offsets are split."
  )

  val IncludeHeaders: OptionSpec[Boolean] = OptionSpec(
    "includeHeaders",
    boolean,
    Some(false),
    "`false`",
    "Whether rows have the column `headers`."
  )

  val ClientIdPrefix: OptionSpec[String] = OptionSpec(
    "clientIdPrefix",
    text,
    None,
    "a name of its own for each client",
    "How the `client.id` of all clients starts; `-<cluster id>` follows. All clients of a cluster share it then, which is " +
      "what quotas and request logs of brokers go by. Without effect on a cluster with `kafka.client.id`."
  )

  val GroupIdPrefix: OptionSpec[String] = OptionSpec(
    "groupIdPrefix",
    text,
    None,
    "no group",
    "How the group ids of consumers start; `-<cluster id>` follows. Consumers commit nothing and need no group, so " +
      "without it they have none. Without effect on a cluster with `kafka.group.id`."
  )

  val CommitOffsets: OptionSpec[Boolean] = OptionSpec(
    "commitOffsets",
    boolean,
    Some(false),
    "`false`",
    "Whether the offsets of each finished batch are committed on each cluster, for tools that show lag: to the group " +
      "`commitGroupId`, else to `kafka.group.id`. The checkpoint stays what counts."
  )

  val CommitGroupId: OptionSpec[String] = OptionSpec(
    "commitGroupId",
    text,
    None,
    "-",
    "The consumer group that `startingOffsets=committed` reads and `commitOffsets` writes, the same name on each " +
      "cluster. Without it, `kafka.group.id` is the group."
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
    AllowMissingStreams,
    AllowDuplicateClusters,
    ClusterFailurePolicy,
    ClusterFailureTimeoutMs,
    ClusterRequestTimeoutMs,
    UnreachableReplayPolicy,
    FailOnDataLoss,
    MaxOffsetsPerTrigger,
    MinOffsetsPerTrigger,
    MaxTriggerDelay,
    MinPartitions,
    MaxRecordsPerPartition,
    IncludeHeaders,
    ClientIdPrefix,
    GroupIdPrefix,
    CommitOffsets,
    CommitGroupId
  )

  val table: OptionTable = new OptionTable(all, UnsupportedOptions.OfSource)
}

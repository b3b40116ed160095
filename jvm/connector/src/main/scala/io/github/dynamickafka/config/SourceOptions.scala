package io.github.dynamickafka.config

import scala.collection.immutable.SortedMap
import scala.util.matching.Regex

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.format.table.{ClusterRegistries, FormatTable, Formats}
import io.github.dynamickafka.option.OptionTable
import io.github.dynamickafka.page.PageSettings
import io.github.dynamickafka.topology.{OffsetsPolicy, ReplacedClusterPolicy, UnreachableReplayPolicy}

/**
 * The parsed and checked options of a query. Contains Kafka properties, so `toString` shows only the subscription.
 *
 * @param page where the query is shown; None: it is not
 * @param remembered as the user wrote them, what the checkpoint stores of them
 */
private[dynamickafka] final case class SourceOptions(
    service: ServiceOptions,
    subscription: Subscription,
    discovery: DiscoveryOptions,
    offsets: OffsetsOptions,
    clusters: ClusterOptions,
    limits: LimitOptions,
    failOnDataLoss: Boolean,
    includeHeaders: Boolean,
    removedClusterRetentionMs: Long,
    drainRemovedClusters: Boolean,
    allowDuplicateClusters: Boolean,
    replacedClusters: ReplacedClusterPolicy = ReplacedClusterPolicy.Fail,
    deferWithState: Boolean = false,
    alignment: Option[AlignmentOptions] = None,
    format: FormatTable = Formats.plain,
    clusterRegistries: ClusterRegistries = ClusterRegistries(),
    realTime: RealTimeOptions = RealTimeOptions(),
    page: Option[PageSettings] = None,
    remembered: SortedMap[String, String] = SortedMap.empty
) {
  override def toString: String = s"SourceOptions(${subscription.text})"
}

private[dynamickafka] object SourceOptions {

  /** Throws an error for the first option that is unknown, missing or invalid. */
  def parse(options: CaseInsensitiveStringMap): SourceOptions = SourceOptionsParser.parse(options)
}

/**
 * The metadata service.
 *
 * @param name `file`, `http`, ..., or a class name
 * @param arguments the `metadataService.*` options without that prefix, keys as the user wrote them
 */
private[dynamickafka] final case class ServiceOptions(name: String, arguments: Map[String, String]) {
  override def toString: String = s"ServiceOptions($name)"
}

private[dynamickafka] sealed trait Subscription extends Product with Serializable {
  def includes(stream: String): Boolean

  /** For users, in progress, UI and logs. */
  def text: String
}
private[dynamickafka] object Subscription {
  final case class Ids(ids: Seq[String]) extends Subscription {
    override def includes(stream: String): Boolean = ids.contains(stream)
    override def text: String = s"streams: ${ids.mkString(", ")}"
  }

  /** Streams whose whole id matches. */
  final case class Pattern(regex: Regex) extends Subscription {
    override def includes(stream: String): Boolean = regex.matches(stream)
    override def text: String = s"pattern: $regex"
    override def equals(other: Any): Boolean = other match {
      case Pattern(r) => r.regex == regex.regex
      case _ => false
    }
    override def hashCode: Int = regex.regex.hashCode
  }
}

/**
 * How the metadata service is polled.
 *
 * @param intervalMs the interval between polls; -1: the metadata is read only at the start of the query
 * @param failureThreshold the number of consecutive failures that are tolerated
 * @param callTimeoutMs the time limit of one call of the service
 * @param maxRemovedClusters the number of clusters that an answer may lack; None: half of those in use, at least one
 * @param removalConfirmations the number of consecutive answers that have to lack a cluster or topic to remove it
 */
private[dynamickafka] final case class DiscoveryOptions(
    intervalMs: Long,
    failureThreshold: Int,
    callTimeoutMs: Long,
    allowMissingStreams: Boolean,
    maxRemovedClusters: Option[Int] = None,
    removalConfirmations: Int = 2
)

/**
 * Starting and stopping offsets. Values of one cluster, in `cluster.<id>.*` options or in the metadata, take
 * precedence.
 *
 * @param committedFallback the position that `committed` uses for a partition without a committed offset; None: fails
 * @param commitGroupId the group that `committed` reads; None: the `kafka.group.id` of each cluster
 * @param commit whether the offsets of completed batches are committed to this group
 */
private[dynamickafka] final case class OffsetsOptions(
    starting: OffsetsPolicy,
    newCluster: OffsetsPolicy,
    newTopic: OffsetsPolicy,
    ending: Option[OffsetsPolicy],
    committedFallback: Option[OffsetsPolicy] = None,
    commitGroupId: Option[String] = None,
    commit: Boolean = false
) {

  /** Adds the fallback of the query to a `committed` policy of one cluster or of the metadata. */
  def withFallback(policy: OffsetsPolicy): OffsetsPolicy = policy match {
    case OffsetsPolicy.Committed(None) => OffsetsPolicy.Committed(committedFallback)
    case other => other
  }
}

/**
 * Connections to the clusters, and the handling of unreachable clusters.
 *
 * @param skipUnreachable `clusterFailurePolicy=skip`
 * @param failureTimeoutMs `clusterFailureTimeoutMs`; -1: no limit
 * @param requestTimeoutMs `clusterRequestTimeoutMs`: the limit for all requests to one cluster in one trigger
 * @param unreachableReplay `unreachableReplayPolicy`
 * @param shared the `kafka.*` options without that prefix
 * @param perCluster the `cluster.*` options without that prefix, names as the user wrote them
 * @param table the options of the source or the sink, to distinguish options from Kafka properties
 * @param snapshotMaxAgeMs `clusterSnapshotMaxAgeMs`; 0: each trigger asks
 * @param clientMetrics the prefix of the gauges of Kafka's clients; None: there are none
 * @param refuseMisspelled `unknownClusterOptions=fail`
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
    snapshotMaxAgeMs: Long = 0L,
    clientMetrics: Option[String] = None,
    refuseMisspelled: Boolean = false
) {

  /** With the prefix of the gauges of a query. */
  def named(prefix: String): ClusterOptions = copy(clientMetrics = clientMetrics.map(_ => prefix))

  override def toString: String = s"ClusterOptions(requestTimeoutMs=$requestTimeoutMs)"
}

private[dynamickafka] final case class LimitOptions(
    maxOffsetsPerTrigger: Option[Long],
    minOffsetsPerTrigger: Option[Long],
    maxTriggerDelayMs: Long,
    minPartitions: Option[Int],
    maxRecordsPerPartition: Option[Long],
    historyFilesPerTrigger: Int = 100,
    maxBytesPerTrigger: Option[Long] = None
)

/**
 * How clusters advance together in record time.
 *
 * @param maxDriftMs how far a cluster may be read ahead of the oldest one
 * @param idleTimeoutMs how long the others wait for a cluster without unread records, or without a response
 */
private[dynamickafka] final case class AlignmentOptions(maxDriftMs: Long, idleTimeoutMs: Long)

/**
 * Real-time mode.
 *
 * @param tasks the number of tasks of a batch; None: Spark's default parallelism
 * @param minBatchMs how long a batch lasts at least, if a change ends it
 * @param refused the first option that is set and that this mode does not have, with its value
 */
private[dynamickafka] final case class RealTimeOptions(
    tasks: Option[Int] = None,
    minBatchMs: Long = 250L,
    refused: Option[(String, String)] = None
)

package io.github.dynamickafka.config

import scala.util.matching.Regex

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.config.option.OptionTable
import io.github.dynamickafka.topology.OffsetsPolicy

/** What the query asked for, parsed and checked. Holds Kafka properties, so `toString` tells only the subscription. */
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
    allowDuplicateClusters: Boolean
) {
  override def toString: String = s"SourceOptions($subscription)"
}

private[dynamickafka] object SourceOptions {

  /** Throws a named error for the first option that is unknown, missing or wrong. */
  def parse(options: CaseInsensitiveStringMap): SourceOptions = SourceOptionsParser.parse(options)
}

/**
 * @param name `file`, `http`, ..., or a class name
 * @param arguments the `metadataService.*` options without that prefix, keys as the user wrote them
 */
private[dynamickafka] final case class ServiceOptions(name: String, arguments: Map[String, String]) {
  override def toString: String = s"ServiceOptions($name)"
}

private[dynamickafka] sealed trait Subscription extends Product with Serializable
private[dynamickafka] object Subscription {
  final case class Ids(ids: Seq[String]) extends Subscription

  /** Streams whose whole id matches. */
  final case class Pattern(regex: Regex) extends Subscription {
    override def equals(other: Any): Boolean = other match {
      case Pattern(r) => r.regex == regex.regex
      case _ => false
    }
    override def hashCode: Int = regex.regex.hashCode
  }
}

/**
 * @param intervalMs between polls; -1: only at start
 * @param failureThreshold consecutive failures that are tolerated
 * @param callTimeoutMs limit of one call of the service
 */
private[dynamickafka] final case class DiscoveryOptions(
    intervalMs: Long,
    failureThreshold: Int,
    callTimeoutMs: Long,
    allowMissingStreams: Boolean
)

/**
 * Where what is new starts. Per-cluster values from the metadata or from `cluster.<id>.startingOffsets` win.
 *
 * @param committedFallback what `committed` means for a partition without an offset, wherever it is written; None:
 *                          it fails
 * @param commitGroupId the group that `committed` reads; None: the `kafka.group.id` of each cluster
 * @param commit whether finished batches are committed to that group
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

  /** For a policy of one cluster or of the metadata: `committed` falls back as the query says. */
  def withFallback(policy: OffsetsPolicy): OffsetsPolicy = policy match {
    case OffsetsPolicy.Committed(None) => OffsetsPolicy.Committed(committedFallback)
    case other => other
  }
}

/**
 * How clusters are reached.
 *
 * @param skipUnreachable `clusterFailurePolicy=skip`
 * @param failureTimeoutMs `clusterFailureTimeoutMs`; -1: never
 * @param requestTimeoutMs limit for all answers of one cluster in one trigger
 * @param skipUnreachableReplay `unreachableReplayPolicy=skip`
 * @param shared the `kafka.*` options without that prefix
 * @param perCluster the `cluster.*` options without that prefix, letter case and hyphens as the user wrote them
 * @param table the options that there are, to tell one from a Kafka property
 */
private[dynamickafka] final case class ClusterOptions(
    skipUnreachable: Boolean,
    failureTimeoutMs: Long,
    requestTimeoutMs: Long,
    skipUnreachableReplay: Boolean,
    groupIdPrefix: Option[String],
    shared: Map[String, String],
    perCluster: Map[String, String],
    clientIdPrefix: Option[String] = None,
    table: OptionTable = SourceOptionSpecs.table
) {
  override def toString: String = s"ClusterOptions(requestTimeoutMs=$requestTimeoutMs)"
}

private[dynamickafka] final case class LimitOptions(
    maxOffsetsPerTrigger: Option[Long],
    minOffsetsPerTrigger: Option[Long],
    maxTriggerDelayMs: Long,
    minPartitions: Option[Int],
    maxRecordsPerPartition: Option[Long]
)

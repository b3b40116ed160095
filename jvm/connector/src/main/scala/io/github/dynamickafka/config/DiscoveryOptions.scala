package io.github.dynamickafka.config

import io.github.dynamickafka.metadata.ReplacedClusterPolicy
import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}

/** How the metadata service is polled, and what happens to what its answers lack. */
private[config] trait DiscoverySpecs extends OptionSpecs {
  import OptionType._

  val DiscoveryIntervalMs = option(
    "streamMetadataDiscoveryIntervalMs",
    duration(min = 1, minusOne = Some("only at the start of the query")),
    "30000"
  )(
    "The interval between polls of the metadata service. `-1`: only at the start of the query."
  )

  val DiscoveryFailureThreshold = option("streamMetadataDiscoveryFailureThreshold", int(min = 0), "10")(
    "How many consecutive failures of the metadata service a query tolerates. One more fails it."
  )

  val RemovedClusterRetentionMs = option(
    "streamMetadataRemovedClusterRetentionMs",
    duration(min = 0, minusOne = Some("forever")),
    "-1"
  )(
    "How long a removed cluster or topic keeps its offsets, at which it resumes if it is added again. `-1`: " +
      "forever; `0`: not at all."
  )

  val RemovedClusterPolicy = option("removedClusterPolicy", oneOf("stop" -> false, "drain" -> true), "stop")(
    "What is read of a cluster or topic that the metadata removes: nothing from the next batch on (`stop`), or " +
      "all up to its latest offsets at that time (`drain`)."
  )

  val MaxRemovedClusters = optional(
    "maxRemovedClustersPerChange",
    int(min = -1).map(n => if (n < 0) Int.MaxValue else n),
    "half of the clusters that the query reads, rounded down, at least 1"
  )(
    "How many of the clusters that the query reads an answer of the metadata service may lack; with more it is " +
      "a [failure](semantics.md#incomplete-answers). `-1`: no limit."
  )

  val RemovalConfirmations = option("removalConfirmations", int(min = 1), "2")(
    "How many consecutive valid answers of the metadata service have to lack a cluster or topic before it is " +
      "[removed](semantics.md#incomplete-answers)."
  )

  val AllowMissingStreams = option("allowMissingStreams", boolean, "false")(
    "Whether a subscribed stream that the metadata service does not return, or returns without a cluster, and a " +
      "`streamPattern` without a match count as removed."
  )

  val AllowDuplicateClusters = option("allowDuplicateClusters", boolean, "false")(
    "Whether two cluster ids may share a topic and lead to Kafka clusters with the same `cluster.id` " +
      "([DUPLICATE_CLUSTER](errors.md#duplicate_cluster)). One cluster under two ids is read twice."
  )

  val UnknownClusterOptions = option("unknownClusterOptions", oneOf("warn" -> false, "fail" -> true), "warn")(
    "An option `cluster.<id>.` whose id the metadata does not have is a warning in the log. With `fail`, it is an error if it " +
      "looks misspelt ([UNKNOWN_CLUSTER](errors.md#unknown_cluster))."
  )

  private[config] def discovery(raw: RawOptions): DiscoveryOptions = DiscoveryOptions(
    intervalMs = raw.get(DiscoveryIntervalMs),
    failureThreshold = raw.get(DiscoveryFailureThreshold),
    callTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
    allowMissingStreams = raw.get(AllowMissingStreams),
    maxRemovedClusters = raw.find(MaxRemovedClusters),
    removalConfirmations = raw.get(RemovalConfirmations)
  )

  private[config] def changes(raw: RawOptions, replaced: ReplacedClusterPolicy): ClusterChangeOptions =
    ClusterChangeOptions(
      raw.get(RemovedClusterRetentionMs),
      raw.get(RemovedClusterPolicy),
      replaced,
      raw.get(AllowDuplicateClusters)
    )
}

private[dynamickafka] final case class DiscoveryOptions(
    intervalMs: Long,
    failureThreshold: Int,
    callTimeoutMs: Long,
    allowMissingStreams: Boolean,
    maxRemovedClusters: Option[Int] = None,
    removalConfirmations: Int = 2
) {

  /** The options without polling: the metadata is read once. */
  def once: DiscoveryOptions = copy(intervalMs = -1L)
}

/**
 * What follows when the metadata remove, replace or repeat clusters.
 *
 * @param retentionMs how long what is removed keeps its offsets, or -1
 * @param drainRemoved whether what is removed is read up to its latest offsets at that time
 * @param allowDuplicates whether two ids may lead to the same Kafka cluster
 */
private[dynamickafka] final case class ClusterChangeOptions(
    retentionMs: Long = -1L,
    drainRemoved: Boolean = false,
    replaced: ReplacedClusterPolicy = ReplacedClusterPolicy.Fail,
    allowDuplicates: Boolean = false
)

package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpecs, OptionType, RawOptions}

/** How the metadata service is polled, and what happens to what its answers lack. */
private[config] trait DiscoverySpecs extends OptionSpecs {
  import OptionType._

  val DiscoveryIntervalMs = option(
    "streamMetadataDiscoveryIntervalMs",
    duration(min = 1, minusOne = Some("only at the start of the query")),
    "30000"
  )(
    "The interval between two polls of the metadata service. `-1`: the metadata is read only at the start of the query."
  )

  val DiscoveryFailureThreshold = option("streamMetadataDiscoveryFailureThreshold", int(min = 0), "10")(
    "The number of consecutive failures of the metadata service that the query tolerates, using the last valid metadata " +
      "meanwhile. One more consecutive failure fails the query."
  )

  val RemovedClusterRetentionMs = option(
    "streamMetadataRemovedClusterRetentionMs",
    duration(min = 0, minusOne = Some("forever")),
    "-1"
  )(
    "How long the offsets of a removed cluster or topic are retained. If it is added again within this time, reading " +
      "resumes from these offsets. `-1`: forever; `0`: the batch that removes it drops the offsets."
  )

  val RemovedClusterPolicy = option("removedClusterPolicy", oneOf("stop" -> false, "drain" -> true), "stop")(
    "What happens when a cluster or topic is removed from the metadata: `stop` stops reading it with the next batch; " +
      "`drain` reads it up to its latest offsets at the time of the removal."
  )

  val MaxRemovedClusters = optional(
    "maxRemovedClustersPerChange",
    int(min = -1).map(n => if (n < 0) Int.MaxValue else n),
    "half of the clusters that the query reads, rounded down, at least 1"
  )(
    "The maximum number of clusters that the answer of the metadata service may lack, compared to the clusters that the " +
      "query reads. An answer that lacks more counts as a failure of the service, and nothing is removed. `-1`: no limit. " +
      "Clusters with `state: removed` in the metadata, and clusters that the service reports as inactive, do not count."
  )

  val RemovalConfirmations = option("removalConfirmations", int(min = 1), "2")(
    "The number of consecutive valid answers of the metadata service that have to lack a cluster or topic before it is " +
      "removed. An answer that contains it starts the count again. Clusters with `state: removed` in the metadata, clusters " +
      "that the service reports as inactive, and partitions are removed by the first answer."
  )

  val AllowMissingStreams = option("allowMissingStreams", boolean, "false")(
    "Whether a subscribed stream that the metadata service does not return, or returns without a cluster, counts as " +
      "removed; the same applies to a `streamPattern` that matches no stream. If `false`, this counts as a failure of " +
      "the service, and nothing is removed."
  )

  val AllowDuplicateClusters = option("allowDuplicateClusters", boolean, "false")(
    "Whether two cluster ids may refer to Kafka clusters with the same `cluster.id` and share a topic. Intended for " +
      "different clusters that report the same `cluster.id`, for example behind proxies. If they are the same cluster, " +
      "the topic is read twice."
  )

  val UnknownClusterOptions = option("unknownClusterOptions", oneOf("warn" -> false, "fail" -> true), "warn")(
    "What an option `cluster.<id>.` does whose id the metadata does not have. `warn` logs a warning at each change of the metadata, " +
      "because such a cluster may be added later. `fail` refuses an id that is one of the metadata with a typing error, " +
      "when the DataFrame is created; it calls the metadata service then, and does not fail if that has no answer."
  )

  private[config] def discovery(raw: RawOptions): DiscoveryOptions = DiscoveryOptions(
    intervalMs = raw.get(DiscoveryIntervalMs),
    failureThreshold = raw.get(DiscoveryFailureThreshold),
    callTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
    allowMissingStreams = raw.get(AllowMissingStreams),
    maxRemovedClusters = raw.find(MaxRemovedClusters),
    removalConfirmations = raw.get(RemovalConfirmations)
  )
}

private[dynamickafka] final case class DiscoveryOptions(
    intervalMs: Long,
    failureThreshold: Int,
    callTimeoutMs: Long,
    allowMissingStreams: Boolean,
    maxRemovedClusters: Option[Int] = None,
    removalConfirmations: Int = 2
)

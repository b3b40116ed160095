package io.github.dynamickafka.config

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.option.{ClusterKeys, OptionSpec, RawOptions}

/**
 * The options that decide what the next batch of a query reads. They are stored in its checkpoint for the command `plan`, so
 * no option that may contain a secret is among them.
 */
private[config] object RememberedOptions {
  import SourceOptionSpecs._

  private val ofQuery: Seq[OptionSpec[_]] = Seq(
    StreamIds,
    StreamPattern,
    NewClusterStartingOffsets,
    NewTopicStartingOffsets,
    RemovedClusterPolicy,
    RemovedClusterRetentionMs,
    MaxRemovedClusters,
    AllowMissingStreams,
    ReplacedPolicy,
    MaxOffsetsPerTrigger,
    MinOffsetsPerTrigger,
    Alignment
  )
  private val ofCluster: Set[OptionSpec[_]] =
    Set(StartingOffsets, StartingTimestamp, StartingOffsetsByTimestamp, MaxOffsetsPerTrigger)

  /** Those that are set, under their documented names, with the values that the user wrote. */
  def apply(raw: RawOptions): SortedMap[String, String] = {
    val declared = ofQuery.flatMap(spec => raw.written(spec).map(spec.name -> _.value))
    val clusters = raw.cluster.toSeq.flatMap { case (key, value) =>
      ClusterKeys.endsWithOption(key, table).collect {
        case (id, spec) if ofCluster(spec) => s"cluster.$id.${spec.name}" -> value
      }
    }
    SortedMap.from(declared ++ clusters)
  }
}

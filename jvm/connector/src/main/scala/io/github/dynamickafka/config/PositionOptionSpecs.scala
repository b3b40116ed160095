package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpec, OptionType}
import io.github.dynamickafka.topology.OffsetsPolicy

/** The options of the source about where it starts and stops. */
private[dynamickafka] trait PositionOptionSpecs {
  import OffsetsTypes._
  import OptionType._

  val StartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "startingOffsets",
    startingOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "The start position of a new query, for streaming and batch queries. A query with a checkpoint resumes from its " +
      "checkpoint. JSON specifies offsets by cluster, topic and partition, `{\"blue\": {\"orders\": {\"0\": 42}}}`, " +
      "where -2 is earliest and -1 is latest; the cluster level is optional if there is only one cluster. `committed` " +
      "uses the committed offsets of the group `commitGroupId`, or of `kafka.group.id` if it is not set. `class:<name>`: " +
      "[a class of your own](extending.md#offsets) determines the offsets.",
    perCluster = true
  )

  val StartingTimestamp: OptionSpec[Long] = OptionSpec(
    "startingTimestamp",
    epochMs,
    None,
    "-",
    "The start position as a timestamp: each partition starts at its first record with this timestamp or a later one, " +
      "or at its latest offset if there is no such record. Takes precedence over `startingOffsetsByTimestamp` and " +
      "`startingOffsets`.",
    perCluster = true
  )

  val StartingOffsetsByTimestamp: OptionSpec[OffsetsPolicy] = OptionSpec(
    "startingOffsetsByTimestamp",
    timestamps,
    None,
    "-",
    "Same as `startingTimestamp`, by cluster, topic and partition: `{\"blue\": {\"orders\": {\"0\": 1767225600000}}}`. " +
      "Takes precedence over `startingOffsets`.",
    perCluster = true
  )

  val CommittedOffsetsFallback: OptionSpec[Option[OffsetsPolicy]] = OptionSpec(
    "committedOffsetsFallback",
    oneOf("fail" -> None, "earliest" -> Some(OffsetsPolicy.Earliest), "latest" -> Some(OffsetsPolicy.Latest)),
    Some(None),
    "`fail`",
    "The position that `committed` uses for a partition without a committed offset of the group. `fail` fails the query."
  )

  val NewClusterStartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "newClusterStartingOffsets",
    enteringOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "The start position of a cluster that is added while the query runs. `earliest` includes records that were " +
      "produced before the cluster was discovered."
  )

  val NewTopicStartingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "newTopicStartingOffsets",
    enteringOffsets,
    Some(OffsetsPolicy.Earliest),
    "`earliest`",
    "The start position of a topic that is added to a cluster that the query already reads. New partitions of a " +
      "known topic are always read from their earliest offset."
  )

  val EndingOffsets: OptionSpec[OffsetsPolicy] = OptionSpec(
    "endingOffsets",
    endingOffsets,
    None,
    "streaming: none; batch: `latest`",
    "The stopping offsets. In JSON, -1 is latest. A streaming query keeps running, without reading more records, when " +
      "it has reached them, and terminates with `Trigger.AvailableNow`. `latest` is resolved once, when the query or " +
      "the cluster first starts. A partition that JSON does not name has no stopping offset. `class:<name>`: as in " +
      "`startingOffsets`.",
    perCluster = true
  )

  val EndingTimestamp: OptionSpec[Long] = OptionSpec(
    "endingTimestamp",
    epochMs,
    None,
    "-",
    "The stopping position as a timestamp: each partition stops before its first record with this timestamp or a later " +
      "one. Until there is such a record, a streaming query keeps reading. Takes precedence over " +
      "`endingOffsetsByTimestamp` and `endingOffsets`.",
    perCluster = true
  )

  val EndingOffsetsByTimestamp: OptionSpec[OffsetsPolicy] = OptionSpec(
    "endingOffsetsByTimestamp",
    timestamps,
    None,
    "-",
    "Same as `endingTimestamp`, by cluster, topic and partition. Takes precedence over `endingOffsets`.",
    perCluster = true
  )
}

/** The types of options that specify positions. */
private[dynamickafka] object OffsetsTypes {

  /** The start position. `committed` has no fallback here: [[io.github.dynamickafka.config.SourceOptionsParser]] adds it. */
  val startingOffsets: OptionType[OffsetsPolicy] =
    OptionType(
      "`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`, JSON, `class:<name>`",
      text => OffsetsFunctions.parse(text).getOrElse(OffsetsParser.starting(text))
    )

  /** Like [[startingOffsets]], without JSON and functions: clusters and topics that are added later cannot be named in advance. */
  val enteringOffsets: OptionType[OffsetsPolicy] =
    OptionType("`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`", OffsetsParser.entering(_))

  val endingOffsets: OptionType[OffsetsPolicy] =
    OptionType(
      "`latest`, `committed`, `timestamp:<epoch ms>`, JSON, `class:<name>`",
      text => OffsetsFunctions.parse(text).getOrElse(OffsetsParser.ending(text))
    )

  val timestamps: OptionType[OffsetsPolicy] = OptionType("JSON of epoch ms", OffsetsParser.timestamps)
}

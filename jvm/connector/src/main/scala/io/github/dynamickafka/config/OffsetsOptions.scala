package io.github.dynamickafka.config

import java.util.Locale

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.option.{OptionSpec, OptionSpecs, OptionType, RawOptions}

/** Where a query starts and stops. */
private[config] trait PositionSpecs extends OptionSpecs {
  import OptionType._

  /** `committed` has no fallback here: [[OffsetsOptions]] adds it. */
  private val startingOffsets = OptionType[OffsetsPolicy](
    "`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`, JSON, `class:<name>`",
    text => OffsetsFunctions.parse(text).getOrElse(OffsetsParser.starting(text))
  )

  /** Without JSON and functions: clusters and topics that are added later cannot be named in advance. */
  private val enteringOffsets = OptionType[OffsetsPolicy](
    "`earliest`, `latest`, `committed`, `timestamp:<epoch ms>`",
    OffsetsParser.entering
  )

  private val endingOffsets = OptionType[OffsetsPolicy](
    "`latest`, `committed`, `timestamp:<epoch ms>`, JSON, `class:<name>`",
    text => OffsetsFunctions.parse(text).getOrElse(OffsetsParser.ending(text))
  )

  private val timestamps = OptionType[OffsetsPolicy]("JSON of epoch ms", OffsetsParser.timestamps)
  private val timestamp = epochMs.map[OffsetsPolicy](OffsetsPolicy.Timestamp)

  val StartingOffsets = option("startingOffsets", startingOffsets, "earliest", perCluster = true)(
    "The start position of a new query, for streaming and batch queries. A query with a checkpoint resumes from its " +
      "checkpoint. JSON specifies offsets by cluster, topic and partition, `{\"blue\": {\"orders\": {\"0\": 42}}}`, " +
      "where -2 is earliest and -1 is latest; the cluster level is optional if there is only one cluster. `committed` " +
      "uses the committed offsets of the group `commitGroupId`, or of `kafka.group.id` if it is not set. `class:<name>`: " +
      "[a class of your own](extending.md#offsets) determines the offsets."
  )

  val StartingTimestamp = optional("startingTimestamp", timestamp, perCluster = true)(
    "The start position as a timestamp: each partition starts at its first record with this timestamp or a later one, " +
      "or at its latest offset if there is no such record. Takes precedence over `startingOffsetsByTimestamp` and " +
      "`startingOffsets`."
  )

  val StartingOffsetsByTimestamp = optional("startingOffsetsByTimestamp", timestamps, perCluster = true)(
    "Same as `startingTimestamp`, by cluster, topic and partition: `{\"blue\": {\"orders\": {\"0\": 1767225600000}}}`. " +
      "Takes precedence over `startingOffsets`."
  )

  val CommittedOffsetsFallback: OptionSpec[Option[OffsetsPolicy]] = option(
    "committedOffsetsFallback",
    oneOf[Option[OffsetsPolicy]](
      "fail" -> None,
      "earliest" -> Some(OffsetsPolicy.Earliest),
      "latest" -> Some(OffsetsPolicy.Latest)
    ),
    "fail"
  )(
    "The position that `committed` uses for a partition without a committed offset of the group. `fail` fails the query."
  )

  val NewClusterStartingOffsets = option("newClusterStartingOffsets", enteringOffsets, "earliest")(
    "The start position of a cluster that is added while the query runs. `earliest` includes records that were " +
      "produced before the cluster was discovered."
  )

  val NewTopicStartingOffsets = option("newTopicStartingOffsets", enteringOffsets, "earliest")(
    "The start position of a topic that is added to a cluster that the query already reads. New partitions of a " +
      "known topic are always read from their earliest offset."
  )

  val EndingOffsets = optional(
    "endingOffsets",
    endingOffsets,
    "streaming: none; batch: `latest`",
    perCluster = true
  )(
    "The stopping offsets. In JSON, -1 is latest. A streaming query keeps running, without reading more records, when " +
      "it has reached them, and terminates with `Trigger.AvailableNow`. `latest` is resolved once, when the query or " +
      "the cluster first starts. A partition that JSON does not name has no stopping offset. `class:<name>`: as in " +
      "`startingOffsets`."
  )

  val EndingTimestamp = optional("endingTimestamp", timestamp, perCluster = true)(
    "The stopping position as a timestamp: each partition stops before its first record with this timestamp or a later " +
      "one. Until there is such a record, a streaming query keeps reading. Takes precedence over " +
      "`endingOffsetsByTimestamp` and `endingOffsets`."
  )

  val EndingOffsetsByTimestamp = optional("endingOffsetsByTimestamp", timestamps, perCluster = true)(
    "Same as `endingTimestamp`, by cluster, topic and partition. Takes precedence over `endingOffsets`."
  )

  /** The options of one position, the highest precedence first. */
  val Starting: Seq[OptionSpec[OffsetsPolicy]] =
    Seq(StartingTimestamp, StartingOffsetsByTimestamp, StartingOffsets)
  val Ending: Seq[OptionSpec[OffsetsPolicy]] = Seq(EndingTimestamp, EndingOffsetsByTimestamp, EndingOffsets)

  private[config] def position(raw: RawOptions, of: Seq[OptionSpec[OffsetsPolicy]]): Option[OffsetsPolicy] =
    of.iterator.flatMap(raw.find(_)).nextOption()

  /** Names of the options of the query and of clusters that are `committed`. */
  private[config] def committed(raw: RawOptions): Seq[String] = {
    val ofQuery = Seq(
      StartingOffsets -> position(raw, Starting),
      NewClusterStartingOffsets -> raw.find(NewClusterStartingOffsets),
      NewTopicStartingOffsets -> raw.find(NewTopicStartingOffsets),
      EndingOffsets -> position(raw, Ending)
    ).collect { case (spec, Some(policy)) => spec.name -> policy }
    val ofClusters = raw.ofClusters.collect {
      case RawOptions.OfCluster(cluster, name, policy: OffsetsPolicy) =>
        name -> ClusterOffsets(cluster, policy, name)
    }
    (ofQuery ++ ofClusters).collect { case (name, OffsetsPolicy.Committed(_)) => name }
  }
}

/** The consumer group of the query. */
private[config] trait CommitSpecs extends OptionSpecs {
  this: PositionSpecs with ReplacedClusterSpecs =>
  import OptionType._

  val CommitOffsets: OptionSpec[Boolean] = option(
    "commitOffsets",
    boolean,
    "false",
    requires = raw =>
      Option.unless(raw.isSet(CommitGroupId) || hasKafkaGroup(raw) || needsGroup(raw))(
        noGroup("commit the offsets to")
      )
  )(
    "Whether the offsets of each completed batch are committed to a consumer group on each cluster, for lag monitoring " +
      "tools: to the group `commitGroupId`, or to `kafka.group.id` if it is not set. A query always resumes from its " +
      "checkpoint, not from these offsets."
  )

  val CommitGroupId: OptionSpec[String] = optional(
    "commitGroupId",
    text,
    requires = raw =>
      Option.unless(raw.get(CommitOffsets) || needsGroup(raw) || committed(raw).nonEmpty)(
        s"it has no effect: it is used only if '${StartingOffsets.name}' is 'committed' or if " +
          s"'${CommitOffsets.name}' is 'true'."
      )
  )(
    "The consumer group that `startingOffsets=committed` reads from and `commitOffsets` commits to, with the same name on each cluster. If it is not set, `kafka.group.id` is used."
  )

  /** The policy itself names what it lacks. */
  private def needsGroup(raw: RawOptions) = raw.get(ReplacedPolicy).isEmpty

  private[config] def noGroup(to: String): String =
    s"no consumer group is set to $to: set '${CommitGroupId.name}' or 'kafka.group.id'."

  private[config] def hasKafkaGroup(raw: RawOptions): Boolean =
    (raw.kafka.keys ++ raw.cluster.keys).map(key => s".${key.toLowerCase(Locale.ROOT)}").exists(_.endsWith(
      ".group.id"
    ))
}

/** Values of one cluster, in `cluster.<id>.*` options or in the metadata, take precedence. */
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
  def withFallback(policy: OffsetsPolicy): OffsetsPolicy =
    OffsetsOptions.withFallback(committedFallback, policy)
}

private[dynamickafka] object OffsetsOptions {
  import SourceOptionSpecs._

  def apply(raw: RawOptions): OffsetsOptions = {
    val group = raw.find(CommitGroupId)
    for (name <- committed(raw).headOption if group.isEmpty && !hasKafkaGroup(raw))
      throw Errors.invalidOption(name, "committed", noGroup("read the offsets of"))
    val fallback = raw.get(CommittedOffsetsFallback)
    OffsetsOptions(
      withFallback(fallback, position(raw, Starting).get),
      withFallback(fallback, raw.get(NewClusterStartingOffsets)),
      withFallback(fallback, raw.get(NewTopicStartingOffsets)),
      position(raw, Ending).map(withFallback(fallback, _)),
      fallback,
      group,
      raw.get(CommitOffsets)
    )
  }

  private def withFallback(fallback: Option[OffsetsPolicy], policy: OffsetsPolicy) = policy match {
    case OffsetsPolicy.Committed(None) => OffsetsPolicy.Committed(fallback)
    case other => other
  }
}

/** Offsets of one cluster, as an option of the cluster specifies them. */
private[dynamickafka] object ClusterOffsets {

  /** JSON without cluster level applies to the cluster; JSON for another cluster is an error. */
  def apply(clusterId: String, policy: OffsetsPolicy, writtenAs: String): OffsetsPolicy =
    OffsetsPolicy.renamed(policy) { id =>
      if (id != clusterId && id != OffsetsPolicy.AnyCluster)
        throw Errors.invalidOption(
          writtenAs,
          id,
          s"the JSON may only contain offsets of cluster '$clusterId'."
        )
      clusterId
    }
}

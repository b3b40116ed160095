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

  /** The forms without JSON and functions: clusters and topics that are added later cannot be named in advance. */
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
    "Where a new query starts; one with a checkpoint resumes there. JSON: `{\"blue\": {\"orders\": {\"0\": " +
      "42}}}`, without the cluster if there is only one; -2 is earliest, -1 latest. `committed`: the committed " +
      "offsets of `commitGroupId`. `class:<name>`: [a class of your own](extending.md#offsets)."
  )

  val StartingTimestamp = optional("startingTimestamp", timestamp, perCluster = true)(
    "Each partition starts at its first record with this timestamp or a later one, or at its latest offset if " +
      "there is none."
  )

  val StartingOffsetsByTimestamp = optional("startingOffsetsByTimestamp", timestamps, perCluster = true)(
    "`startingTimestamp` by cluster, topic and partition: `{\"blue\": {\"orders\": {\"0\": 1767225600000}}}`."
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
    "What `committed` uses for a partition without a committed offset; `fail` fails the query."
  )

  val NewClusterStartingOffsets = option("newClusterStartingOffsets", enteringOffsets, "earliest")(
    "Where a cluster starts that is added while the query runs. `earliest` includes records from before its " +
      "discovery."
  )

  val NewTopicStartingOffsets = option("newTopicStartingOffsets", enteringOffsets, "earliest")(
    "Where a topic starts that is added to a cluster that the query reads. New partitions always start at their " +
      "earliest offset."
  )

  val EndingOffsets = optional(
    "endingOffsets",
    endingOffsets,
    "streaming: none; batch: `latest`",
    perCluster = true
  )(
    "Where reading stops; -1 in JSON is latest. A streaming query keeps running then, and terminates with " +
      "`Trigger.AvailableNow`. `latest` is resolved once. A partition that JSON does not name has no end."
  )

  val EndingTimestamp = optional("endingTimestamp", timestamp, perCluster = true)(
    "Each partition stops before its first record with this timestamp or a later one; until there is one, a " +
      "streaming query reads."
  )

  val EndingOffsetsByTimestamp = optional("endingOffsetsByTimestamp", timestamps, perCluster = true)(
    "`endingTimestamp` by cluster, topic and partition."
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
    "Whether the offsets of completed batches are committed to the group `commitGroupId`, for tools that show " +
      "lag. A query resumes from its checkpoint."
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
    "The consumer group of `startingOffsets=committed` and `commitOffsets`, on each cluster. If it is not set, " +
      "`kafka.group.id`."
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

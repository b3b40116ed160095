package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpec, OptionSpecs, OptionType, RawOptions}

/** How much a batch reads at most and at least. */
private[config] trait LimitSpecs extends OptionSpecs {
  import OptionType._

  val MaxOffsetsPerTrigger = optional("maxOffsetsPerTrigger", long(min = 1), "no limit", perCluster = true)(
    "The maximum number of records in a batch, over all clusters, distributed over the partitions in proportion to " +
      "their lag. Set for one cluster: the maximum number of records of that cluster."
  )

  val MaxBytesPerTrigger = optional("maxBytesPerTrigger", bytes(min = 1), "no limit")(
    "The maximum size of the records in a batch, over all clusters: keys, values and headers without compression, by the mean size of the " +
      "records that tasks have read. See [semantics](semantics.md#limits-in-bytes). With `maxOffsetsPerTrigger`, the smaller one applies."
  )

  val MinOffsetsPerTrigger: OptionSpec[Long] = optional(
    "minOffsetsPerTrigger",
    long(min = 1),
    requires = raw =>
      // What alignment holds back would count for it, and be waited for in vain.
      if (raw.get(SourceOptionSpecs.Alignment)) Some("it cannot be combined with 'alignment=timestamp'.")
      else
        for (least <- raw.find(MinOffsetsPerTrigger); most <- raw.find(MaxOffsetsPerTrigger) if least > most)
          yield s"it is greater than '${MaxOffsetsPerTrigger.name}', which is $most."
  )(
    "The minimum number of records, over all clusters, that starts a batch. The first batch, `Trigger.AvailableNow` and " +
      "a change of the topology do not wait for this number."
  )

  val MaxTriggerDelay = option("maxTriggerDelay", duration(min = 1), "15m")(
    "With `minOffsetsPerTrigger`: the maximum time to wait for this number of records."
  )
}

/** The clusters of a query advance together in record time. */
private[config] trait AlignmentSpecs extends OptionSpecs {
  import OptionType._

  val Alignment = option("alignment", oneOf("none" -> false, "timestamp" -> true), "none")(
    "`timestamp`: the clusters of a streaming query advance together in record time, so that a watermark drops no records of " +
      "a cluster that lags behind the others. A batch reads only records whose time is less than that of the oldest " +
      "cluster with unread records, plus `alignmentMaxDrift`."
  )

  val AlignmentMaxDrift = optional(
    "alignmentMaxDrift",
    duration(min = 1),
    "required with `alignment=timestamp`",
    requires = without(Alignment, "timestamp")
  )(
    "How far a cluster may be read ahead of the oldest one, in record time. At most the delay of the watermark."
  )

  val AlignmentIdleTimeout = option(
    "alignmentIdleTimeout",
    duration(min = 0),
    "30s",
    requires = without(Alignment, "timestamp")
  )(
    "With `alignment=timestamp`: how long the other clusters wait for a cluster that has no unread records, or that does not " +
      "respond."
  )

  private[config] def alignment(raw: RawOptions): Option[AlignmentOptions] = Option.when(raw.get(Alignment))(
    AlignmentOptions(
      raw.require(
        AlignmentMaxDrift,
        s"'${Alignment.name}=timestamp' requires it: set it to at most the delay of the watermark."
      ),
      raw.get(AlignmentIdleTimeout)
    )
  )
}

/** How a batch is divided into tasks and files. */
private[config] trait TaskSpecs extends OptionSpecs {
  import OptionType._

  val MinPartitions = optional("minPartitions", int(min = 1))(
    "The minimum number of tasks of a batch, over all clusters, if the batch has at least as many records. Large offset " +
      "ranges are split."
  )

  val MaxRecordsPerPartition = optional("maxRecordsPerPartition", long(min = 1))(
    "The maximum number of records of one task. Larger offset ranges are split."
  )

  val HistoryFilesPerTrigger = option("historyFilesPerTrigger", int(min = 1), "100")(
    "The maximum number of files of the `history` of streams in a batch, over all streams. A new query reads these files " +
      "before Kafka. Batch reads do not read them."
  )
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

private[dynamickafka] object LimitOptions {
  import SourceOptionSpecs._

  def apply(raw: RawOptions): LimitOptions = LimitOptions(
    raw.find(MaxOffsetsPerTrigger),
    raw.find(MinOffsetsPerTrigger),
    raw.get(MaxTriggerDelay),
    raw.find(MinPartitions),
    raw.find(MaxRecordsPerPartition),
    raw.get(HistoryFilesPerTrigger),
    raw.find(MaxBytesPerTrigger)
  )
}

private[dynamickafka] final case class AlignmentOptions(maxDriftMs: Long, idleTimeoutMs: Long)

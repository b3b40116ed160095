package io.github.dynamickafka.config

import io.github.dynamickafka.option.{OptionSpec, OptionSpecs, OptionType, RawOptions}

/** How much a batch reads at most and at least. */
private[config] trait LimitSpecs extends OptionSpecs {
  import OptionType._

  val MaxOffsetsPerTrigger = optional("maxOffsetsPerTrigger", long(min = 1), "no limit", perCluster = true)(
    "The most records of a batch, over all clusters, shared among partitions by their lag. For one cluster: the " +
      "most records of that cluster."
  )

  val MaxBytesPerTrigger = optional("maxBytesPerTrigger", bytes(min = 1), "no limit")(
    "The greatest size of a batch, over all clusters: keys, values and headers [without " +
      "compression](semantics.md#limits-in-bytes). The smaller one of this and `maxOffsetsPerTrigger` applies."
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
    "The fewest records, over all clusters, that start a batch. The first batch, `Trigger.AvailableNow` and a " +
      "change of the topology do not wait."
  )

  val MaxTriggerDelay = option("maxTriggerDelay", duration(min = 1), "15m")(
    "The longest wait for `minOffsetsPerTrigger`."
  )
}

/** The clusters of a query advance together in record time. */
private[config] trait AlignmentSpecs extends OptionSpecs {
  import OptionType._

  val Alignment = option("alignment", oneOf("none" -> false, "timestamp" -> true), "none")(
    "`timestamp`: the clusters of a streaming query [advance together in record " +
      "time](event-time.md#aligned-clusters)."
  )

  val AlignmentMaxDrift = optional(
    "alignmentMaxDrift",
    duration(min = 1),
    "required with `alignment=timestamp`",
    requires = without(Alignment, "timestamp")
  )(
    "How far a cluster may be ahead of the oldest one, in record time. At most the delay of the watermark."
  )

  val AlignmentIdleTimeout = option(
    "alignmentIdleTimeout",
    duration(min = 0),
    "30s",
    requires = without(Alignment, "timestamp")
  )(
    "How long clusters wait for one that has no unread records or does not respond."
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
    "The fewest tasks of a batch, over all clusters, if it has as many records. Large offset ranges are split."
  )

  val MaxRecordsPerPartition = optional("maxRecordsPerPartition", long(min = 1))(
    "The most records of a task. Larger offset ranges are split."
  )

  val HistoryFilesPerTrigger = option("historyFilesPerTrigger", int(min = 1), "100")(
    "The most files of the `history` of all streams in a batch. A new streaming query reads them before Kafka."
  )
}

/** How much a batch reads, and how it is read. */
private[dynamickafka] final case class BatchOptions(
    limits: LimitOptions,
    alignment: Option[AlignmentOptions],
    realTime: RealTimeOptions
)

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

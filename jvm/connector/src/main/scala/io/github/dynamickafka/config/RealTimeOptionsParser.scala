package io.github.dynamickafka.config

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.option.{OptionName, OptionSpec, RawOptions}

/** Parses the options of real-time mode, and finds those that it does not have. */
private[config] object RealTimeOptionsParser {
  import SourceOptionSpecs._

  private val ofQuery: Seq[OptionSpec[_]] = Seq(
    MaxOffsetsPerTrigger,
    MinOffsetsPerTrigger,
    MaxTriggerDelay,
    MinPartitions,
    MaxRecordsPerPartition,
    EndingOffsets,
    EndingTimestamp,
    EndingOffsetsByTimestamp
  )

  def parse(raw: RawOptions): RealTimeOptions = {
    if (!RealTimeMode.isAvailable)
      for (spec <- Seq(RealTimeTasks, RealTimeMinBatchMs); written <- raw.written(spec))
        throw Errors.invalidOption(written.name, written.value, "real-time mode requires Spark 4.1 or later.")
    RealTimeOptions(
      tasks = raw.find(RealTimeTasks),
      minBatchMs = raw.get(RealTimeMinBatchMs),
      refused = refused(raw)
    )
  }

  /** The option as the user wrote it, with its value. */
  private def refused(raw: RawOptions): Option[(String, String)] = {
    val alignment = Seq(Alignment).filter(raw.get(_))
    val all = (ofQuery ++ alignment).flatMap(raw.written(_)).map(w => w.name -> w.value)
    val names = ofQuery.map(spec => "." + spec.key).toSet
    val ofClusters = raw.ofClusters.filter(o => names.exists(OptionName.normalize(o.writtenAs).endsWith(_)))
      .map(o => o.writtenAs -> raw.asWritten.getOrElse(o.writtenAs, ""))
    (all ++ ofClusters).headOption
  }
}

package io.github.dynamickafka.config

import io.github.dynamickafka.build.BuildInfo
import io.github.dynamickafka.option.{OptionName, OptionSpec, OptionSpecs, OptionType, RawOptions}

private[config] trait RealTimeSpecs extends OptionSpecs {
  import OptionType._

  private val since41 = (_: RawOptions) =>
    Option.when(BuildInfo.sparkLine == "4.0")("real-time mode requires Spark 4.1 or later.")

  val RealTimeTasks = optional(
    "realTimeTasks",
    int(min = 1),
    "Spark's default parallelism",
    requires = since41
  )(
    "The most tasks of a batch, each of which occupies a core."
  )

  val RealTimeMinBatchMs = option("realTimeMinBatchMs", long(min = 0), "250", requires = since41)(
    "How long a batch lasts at least, in ms, before a change of the topology ends it."
  )
}

/** @param refused the first option that is set and that this mode does not have, with its value */
private[dynamickafka] final case class RealTimeOptions(
    tasks: Option[Int],
    minBatchMs: Long,
    refused: Option[(String, String)]
)

private[dynamickafka] object RealTimeOptions {
  import SourceOptionSpecs._

  def apply(raw: RawOptions): RealTimeOptions =
    RealTimeOptions(raw.find(RealTimeTasks), raw.get(RealTimeMinBatchMs), refusedInRealTime(raw))

  /** The first option, as the user wrote it, and its value. */
  private def refusedInRealTime(raw: RawOptions): Option[(String, String)] = {
    val specs = Seq[OptionSpec[_]](
      MaxOffsetsPerTrigger,
      MinOffsetsPerTrigger,
      MaxTriggerDelay,
      MinPartitions,
      MaxRecordsPerPartition
    ) ++ Ending
    val ofQuery =
      (specs ++ Seq(Alignment).filter(raw.get(_))).flatMap(raw.written(_)).map(w => w.name -> w.value)
    val ofClusters = raw.ofClusters.map(_.writtenAs)
      .filter(name => specs.exists(spec => OptionName.normalize(name).endsWith(s".${spec.key}")))
    (ofQuery ++ ofClusters.map(name => name -> raw.asWritten.getOrElse(name, ""))).headOption
  }
}

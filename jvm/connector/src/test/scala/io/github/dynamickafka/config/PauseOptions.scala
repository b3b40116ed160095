package io.github.dynamickafka.config

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.option.{OptionSpecs, OptionTable, OptionType, RawOptions}

/** Pauses between batches. */
private[config] trait PauseSpecs extends OptionSpecs {
  val BatchPauseMs = option(
    "batchPauseMs",
    OptionType.duration(min = 0),
    "0",
    requires = without(SourceOptionSpecs.FailOnDataLoss, "true")
  )("How long a query waits before the next batch.")
}

private[dynamickafka] final case class PauseOptions(batchPauseMs: Long)

/** The options of the source with one more. */
private[dynamickafka] object PauseOptions extends PauseSpecs {
  include(SourceOptionSpecs.all)
  val table: OptionTable = new OptionTable(all, RefusedOptions.OfSource)

  def parse(options: CaseInsensitiveStringMap): PauseOptions = {
    val raw = RawOptions.checked(options, table)
    PauseOptions(batchPauseMs = raw.get(BatchPauseMs))
  }
}

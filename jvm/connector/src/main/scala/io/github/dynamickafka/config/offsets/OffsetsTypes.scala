package io.github.dynamickafka.config.offsets

import io.github.dynamickafka.option.OptionType
import io.github.dynamickafka.topology.OffsetsPolicy

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

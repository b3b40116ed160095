package io.github.dynamickafka.format.decode

import scala.util.control.NonFatal

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.options.Variants
import io.github.dynamickafka.format.{Decoder, SideLayout}

/** Makes the decoder of keys or values, for one task. */
private[dynamickafka] object Decoders {

  def of(side: SideLayout): Decoder = side.format.format.decoder(side)

  /**
   * Makes a decoder of all fields on the driver, because types and values that a format does not support are found when
   * it is made.
   */
  def check(side: SideLayout): Unit = {
    val all = side.change.fold(side)(c => side.copy(schema = c.payload, wanted = c.payload.indices))
    Variants.problem(side.format.format, all.schema).foreach(reason => throw Errors.invalidSchema(reason))
    try {
      val _ = of(all)
    } catch {
      case NonFatal(e) =>
        throw Errors.invalidSchema(
          s"the format '${side.format.format.name}' with its options cannot have the columns " +
            s"${side.schema.toDDL}: ${e.getMessage}"
        )
    }
  }
}

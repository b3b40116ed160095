package io.github.dynamickafka.format.table

import scala.util.control.NonFatal

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.{Decoder, ReadContext, SideLayout, TaskResource}

/** Makes the decoder of keys or values, for one task. */
private[dynamickafka] object Decoders {

  /** @param context shows the records, one after the other */
  def of(side: SideLayout, context: ReadContext = null): Decoder = {
    val decoder = side.format.format.decoder(side)
    decoder.within(context)
    TaskResource.closeAtEnd(() => decoder.close())
    decoder
  }

  /**
   * Makes a decoder of all fields on the driver, because types and values that a format does not support are found when
   * it is made.
   */
  def check(side: SideLayout): Unit = {
    val all = side.change.fold(side)(c => side.copy(schema = c.payload, wanted = c.payload.indices))
    Variants.problem(side.format.format, all.schema).foreach(reason => throw Errors.invalidSchema(reason))
    try side.format.format.decoder(all).close()
    catch {
      case NonFatal(e) =>
        throw Errors.invalidSchema(
          s"the format '${side.format.format.name}' with its options cannot have the columns " +
            s"${side.schema.toDDL}: ${e.getMessage}"
        )
    }
  }
}

package io.github.dynamickafka.format.encode

import io.github.dynamickafka.format.SideSource
import io.github.dynamickafka.format.SideSource.Fields
import io.github.dynamickafka.schemaregistry.Frame

/** What precedes keys or values in formats with a registry. Pure. */
private[encode] object Frames {

  /** None: the format has no registry. */
  def of(source: SideSource, ofKeys: Boolean): Option[Frame] = source match {
    case fields: Fields =>
      fields.format.format.writer.flatMap(_.schema(fields)).map(
        Frame(fields.format.registries, _, ofKeys, fields.registered)
      )
    case _ => None
  }
}

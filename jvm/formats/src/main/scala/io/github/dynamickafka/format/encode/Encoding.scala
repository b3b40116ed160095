package io.github.dynamickafka.format.encode

import io.github.dynamickafka.format.{FormatOptions, SideSource}
import io.github.dynamickafka.schemaregistry.Frame

/**
 * How rows become keys and values.
 *
 * @param key None: records have no key
 * @param frames what precedes keys and values in formats with a registry
 * @param upserts None: each row is a record with a value
 */
private[dynamickafka] final case class Encoding(
    value: SideSource,
    key: Option[SideSource],
    frames: Seq[Frame] = Nil,
    upserts: Option[UpsertRows] = None
) {

  /** The same bytes, with the ids of the registries of these formats. */
  def in(formats: FormatOptions): Encoding = copy(frames =
    frames.map(frame =>
      frame.copy(registries =
        if (frame.ofKeys) formats.key.fold(frame.registries)(_.registries) else formats.value.registries
      )
    )
  )
}

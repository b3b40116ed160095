package io.github.dynamickafka.format.table

import io.github.dynamickafka.format.SideSource
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
)

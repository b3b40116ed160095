package io.github.dynamickafka.source.checkpoint

import io.github.dynamickafka.offset.CompositeOffset

/**
 * The initial offset of the query.
 *
 * @param offset the start offset of batch 0
 * @param unresolved clusters of the metadata that were unreachable at the first start: their topics still start at
 *                   `startingOffsets`, not at the start position of new topics
 */
private[source] final case class InitialOffset(offset: CompositeOffset, unresolved: Set[String])

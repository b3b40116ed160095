package io.github.dynamickafka.offset.mirror

import io.github.dynamickafka.offset.Positions

/**
 * Which checkpoint of MirrorMaker 2 holds for each position of a query. Records of the checkpoint topic are added in their order.
 * Pure.
 *
 * MirrorMaker translates the offsets that a group has committed, and no others. A checkpoint of an offset at or before the
 * position loses nothing: what the query has not read is behind it. One of a later offset would lose the records between, and the
 * group may be ahead of the query: its checkpoint was restored or reset, or another consumer has the same group. So the newest of the
 * former holds; what lies between it and the position is read again.
 *
 * @param positions positions on the replaced cluster, by the names of the topics on the target
 * @param found the newest checkpoint at or before the position
 * @param ahead the newest checkpoint behind the position, for error messages
 */
private[dynamickafka] final case class MirrorTranslation private (
    group: String,
    positions: Positions,
    found: Map[(String, Int), MirrorCheckpoint],
    ahead: Map[(String, Int), MirrorCheckpoint]
) {

  /**
   * @param value null: all earlier records with this key are void
   * @throws IllegalArgumentException if the record is no checkpoint
   */
  def add(key: Array[Byte], value: Array[Byte]): MirrorTranslation = {
    val about = MirrorCheckpoint.key(key)
    val at = (about.topic, about.partition)
    positions.get(about.topic, about.partition).filter(_ => about.group == group).fold(this) { position =>
      if (value == null) copy(found = found - at, ahead = ahead - at)
      else {
        val checkpoint = MirrorCheckpoint(about, value)
        if (checkpoint.upstream <= position) copy(found = found.updated(at, checkpoint))
        else copy(ahead = ahead.updated(at, checkpoint))
      }
    }
  }
}

private[dynamickafka] object MirrorTranslation {
  def apply(group: String, positions: Positions): MirrorTranslation =
    new MirrorTranslation(group, positions, Map.empty, Map.empty)
}

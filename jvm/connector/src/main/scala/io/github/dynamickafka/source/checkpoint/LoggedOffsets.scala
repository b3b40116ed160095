package io.github.dynamickafka.source.checkpoint

import io.github.dynamickafka.offset.CompositeOffset

/**
 * What the source knows about Spark's offset log. With asynchronous progress tracking Spark logs only some of the offsets that
 * the source computes: which ones, the source learns when Spark commits an offset, after it has logged a later one. A restart
 * continues at any offset that may be logged.
 *
 * Used only by the thread of the query.
 */
private[source] final class LoggedOffsets {
  private var newest: Option[CompositeOffset] = None
  private var since = Vector.empty[LoggedOffsets.Named]

  /** @param start the start offset of a trigger; that of the first trigger is from the log */
  def starts(start: CompositeOffset): Unit = if (newest.isEmpty) committed(start)

  def committed(end: CompositeOffset): Unit = {
    newest = Some(end)
    val named = LoggedOffsets.namedIn(end)
    val from = since.indexOf(named)
    since = if (from >= 0) since.drop(from) else named +: since
  }

  /**
   * @param start the start offset of the batch
   * @param next the end offset of the batch, which Spark may or may not log
   * @return the end offset, with what Spark needs to read it from the last offset that it has certainly logged
   */
  def next(start: CompositeOffset, next: CompositeOffset): CompositeOffset = {
    val named = LoggedOffsets.namedIn(next)
    if (!since.lastOption.contains(named)) since :+= named
    next.carrying(start, newest.getOrElse(start))
  }

  /** The topics of all offsets that may be the last one in the log, by cluster. */
  def named: LoggedOffsets.Named = since.foldLeft(LoggedOffsets.none) { (all, more) =>
    more.foldLeft(all) { case (them, (id, topics)) =>
      them.updated(id, them.getOrElse(id, Set.empty) ++ topics)
    }
  }
}

private[source] object LoggedOffsets {
  type Named = Map[String, Set[String]]

  private val none: Named = Map.empty

  def namedIn(offset: CompositeOffset): Named =
    (offset.clusters.keySet ++ offset.retained.keySet).iterator.map { id =>
      id -> (offset.position(
        id
      ).topics ++ offset.retained.get(id).fold(Set.empty[String])(_.positions.topics))
    }.toMap
}

package io.github.dynamickafka.source.checkpoint

import io.github.dynamickafka.offset.CompositeOffset

/**
 * What the source knows about Spark's offset log. With asynchronous progress tracking Spark logs only some of the offsets that
 * the source computes: which ones, the source learns when Spark commits an offset, after it has logged a later one. A restart
 * continues at any offset that may be logged.
 *
 * Used only by the thread of the query and, while that waits for the tasks of a batch in real-time mode, by the one that ends it.
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

  /**
   * What [[next]] and then [[named]] would return: for an offset that has not been reached yet.
   *
   * @param expected with what enters and leaves, whatever its positions are
   */
  def expecting(start: CompositeOffset, expected: CompositeOffset): (CompositeOffset, LoggedOffsets.Named) = {
    val end = expected.carrying(start, newest.getOrElse(start))
    (end, LoggedOffsets.merged(since :+ LoggedOffsets.namedIn(end)))
  }

  /** The topics of all offsets that may be the last one in the log, by cluster. */
  def named: LoggedOffsets.Named = LoggedOffsets.merged(since)
}

private[source] object LoggedOffsets {
  type Named = Map[String, Set[String]]

  private val none: Named = Map.empty

  private def merged(all: Seq[Named]): Named = all.foldLeft(none) { (all, more) =>
    more.foldLeft(all) { case (them, (id, topics)) =>
      them.updated(id, them.getOrElse(id, Set.empty) ++ topics)
    }
  }

  def namedIn(offset: CompositeOffset): Named =
    (offset.clusters.keySet ++ offset.retained.keySet).iterator.map { id =>
      id -> (offset.position(
        id
      ).topics ++ offset.retained.get(id).fold(Set.empty[String])(_.positions.topics))
    }.toMap
}

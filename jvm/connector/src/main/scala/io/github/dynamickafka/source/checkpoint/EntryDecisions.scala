package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap

import org.apache.hadoop.fs.Path

import io.github.dynamickafka.offset.history.HandOver
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Entries, Positions}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * Where partitions have entered in batches that may be missing in Spark's logs: a batch of real-time mode is logged when it has ended, and
 * Spark deletes batches that are logged and not committed when such a query starts. The next run would resolve `latest` again,
 * and leave out what was written in between. The file `entries.json` in the source's part of the checkpoint keeps the
 * positions until a committed batch has them. Used only by the thread of the query.
 */
private[source] final class EntryDecisions(home: Path, files: => AtomicFiles) {
  private val file = new Path(home, "entries.json")
  private var read: Option[SortedMap[String, Positions]] = None

  private def current: SortedMap[String, Positions] = read.getOrElse {
    val found =
      files.read(file).fold(SortedMap.empty[String, Positions])(text =>
        CompositeOffsetJson.read(text).clusters
      )
    read = Some(found)
    found
  }

  /** Where topics enter that have no position, as far as it is decided. */
  def handOver: HandOver = HandOver(offsets = current)

  /** Returns when these are durable. The first decision about a partition stays. */
  def add(entries: Entries): Unit = {
    val next = entries.positions.foldLeft(current) { case (all, (id, positions)) =>
      all.updated(id, positions ++ all.getOrElse(id, Positions.empty))
    }
    write(next)
  }

  /** @param end an offset that Spark has committed */
  def committed(end: CompositeOffset): Unit = if (current.nonEmpty) write(
    current.map { case (id, positions) =>
      id -> (positions -- end.position(id) -- end.retained.get(id).fold(Positions.empty)(_.positions))
    }.filter(_._2.nonEmpty)
  )

  private def write(next: SortedMap[String, Positions]): Unit = if (next != current) {
    if (next.isEmpty) files.delete(file) else files.replace(file, CompositeOffset(next).json)
    read = Some(next)
  }
}

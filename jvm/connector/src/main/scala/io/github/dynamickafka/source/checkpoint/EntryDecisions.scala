package io.github.dynamickafka.source.checkpoint

import org.apache.hadoop.fs.Path

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson}
import io.github.dynamickafka.storage.AtomicFiles

/**
 * Where partitions have entered in batches that may be missing in Spark's logs: a batch of real-time mode is logged when it has ended, and
 * Spark deletes batches that are logged and not committed when such a query starts. The next run would resolve `latest` again,
 * and leave out what was written in between. The file `entries.json` in the source's part of the checkpoint keeps the
 * positions until a committed batch has them. Used by one thread at a time.
 */
private[source] final class EntryDecisions(home: Path, files: => AtomicFiles) {
  private val file = new Path(home, "entries.json")
  private var read: Option[DecidedEntries] = None

  /** Where topics enter, as far as it is decided. */
  def current: DecidedEntries = read.getOrElse {
    val found =
      files.read(file).fold(DecidedEntries.none)(text => DecidedEntries.of(CompositeOffsetJson.read(text)))
    read = Some(found)
    found
  }

  /**
   * Returns when it is durable where partitions enter at this offset.
   *
   * @param end of a batch that may be missing in Spark's logs
   */
  def add(end: CompositeOffset): Unit = write(current.add(end))

  /** @param end an offset that Spark has committed */
  def committed(end: CompositeOffset): Unit = write(current.committed(end))

  /** Returns when it is durable that this is what is decided, instead of [[current]]. */
  def write(next: DecidedEntries): Unit = if (next != current) {
    if (next.isEmpty) files.delete(file) else files.replace(file, next.offset.json)
    read = Some(next)
  }
}

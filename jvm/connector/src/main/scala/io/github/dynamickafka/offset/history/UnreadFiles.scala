package io.github.dynamickafka.offset.history

import scala.collection.immutable.SortedMap

/**
 * The files of histories that are not read, as unread records of clusters that are aligned. Pure.
 *
 * A file is read as a whole. It is read if all of its records are older than the bound of its trigger. The file with the oldest
 * unread record of all clusters is read in any case, after those before it: otherwise it would hold all others without an end.
 *
 * @param read the number of files that are read, by stream
 * @param most the most files of a batch
 */
private[dynamickafka] final case class UnreadFiles(
    tables: SortedMap[String, HistoryTable],
    read: SortedMap[String, Long],
    most: Int
) {

  /** The least timestamp of these files; None if all are read. */
  def least: Option[Long] = tables.flatMap { case (stream, table) => table.least(read(stream)) }.minOption

  /** Whether Kafka's records of a partition have to wait, because some of these files have earlier records of it. */
  def precede(cluster: String, topic: String, partition: Int): Boolean =
    tables.exists { case (stream, table) => table.precedes(cluster, topic, partition, read(stream)) }

  /**
   * The files that are left after the next batch, in the order of their greatest timestamps over all streams; None if the batch is one
   * of Kafka.
   *
   * @param bound only older records are read; None: all
   */
  def next(bound: Option[Long], driftMs: Long): Option[UnreadFiles] = {
    val oldest = least.filter(time => bound.forall(_ >= time + driftMs))

    @annotation.tailrec
    def after(files: UnreadFiles, left: Int): UnreadFiles = files.head match {
      case Some((stream, file)) if left > 0 && (bound.forall(file.greatest < _) || files.least == oldest) =>
        after(files.copy(read = files.read.updated(stream, files.read(stream) + 1)), left - 1)
      case _ => files
    }
    Some(after(this, most)).filter(_.read != read)
  }

  private def head: Option[(String, HistoryFile)] = tables.iterator.flatMap { case (stream, table) =>
    table.files.lift(read(stream).toInt).map(stream -> _)
  }.minByOption(_._2.greatest)
}

/** Times of rows, in milliseconds since the epoch. */
private[dynamickafka] final case class RowTimes(least: Long, greatest: Long)

/**
 * The rows of one cluster in the files of histories, in milliseconds since the epoch.
 *
 * @param read the greatest time of the rows that are read
 * @param unread the least time of the rows that are not read, if there are any
 */
private[dynamickafka] final case class ClusterFiles(
    read: Option[Long] = None,
    unread: Option[Long] = None
) {
  def and(other: ClusterFiles): ClusterFiles =
    ClusterFiles((read ++ other.read).maxOption, (unread ++ other.unread).minOption)

  /** Whether no row is left to read. */
  def areRead: Boolean = unread.isEmpty
}

private[dynamickafka] object ClusterFiles {
  val none: ClusterFiles = ClusterFiles()
}

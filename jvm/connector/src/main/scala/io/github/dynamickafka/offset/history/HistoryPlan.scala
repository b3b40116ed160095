package io.github.dynamickafka.offset.history

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{CompositeOffset, Positions}

/**
 * The histories of a query, as they were found at its first start: what is read before Kafka, and where Kafka follows. Pure.
 *
 * @param tables by stream id
 */
private[dynamickafka] final case class HistoryPlan(
    tables: SortedMap[String, HistoryTable],
    handOver: HandOver
) {
  private type Read = SortedMap[String, Long]

  /** The number of files that are read before the first batch. */
  def nothing: Read = tables.map { case (stream, _) => stream -> 0L }

  /** All files. */
  def everything: Read = tables.map { case (stream, table) => stream -> table.files.size.toLong }

  /** The number of files that are not read at this offset. */
  def pending(at: CompositeOffset): Long = everything.values.sum - reached(at).values.sum

  /**
   * The end of the batch after `start`, with up to `most` files more; None if all files are read, so that Kafka follows. The streams
   * follow each other in the order of their ids.
   */
  def next(start: CompositeOffset, most: Int): Option[CompositeOffset] = {
    val read = reached(start)
    val (end, left) = tables.foldLeft((read, most.toLong)) { case ((sofar, left), (stream, table)) =>
      val more = math.min(left, table.files.size - sofar(stream))
      (sofar.updated(stream, sofar(stream) + more), left - more)
    }
    Option.when(left < most)(start.copy(
      history = end,
      entered = SortedMap.empty,
      identities = start.withoutEntries.identities
    ))
  }

  /** The files that are not read at this offset; None if all are read, or if there is no history. */
  def unread(at: CompositeOffset, most: Int): Option[UnreadFiles] =
    Option.when(at.history.nonEmpty && pending(at) > 0)(UnreadFiles(tables, reached(at), most))

  /** The files of the batches between two offsets, by stream, in their order. */
  def files(start: CompositeOffset, end: CompositeOffset): Seq[(String, HistoryTable, Seq[HistoryFile])] = {
    val (from, until) = (reached(start), reached(end))
    tables.toSeq.flatMap { case (stream, table) =>
      val of = table.files.slice(from(stream).toInt, until(stream).toInt)
      Option.when(of.nonEmpty)((stream, table, of))
    }
  }

  /**
   * The rows of each cluster that is in the files.
   *
   * @param since rows of files before this offset do not count
   * @param at up to where files are read
   */
  def clusters(since: CompositeOffset, at: CompositeOffset): Map[String, ClusterFiles] = {
    val (from, until) = (reached(since), reached(at))
    tables.toSeq.flatMap { case (stream, table) => table.clusters(from(stream).toInt, until(stream).toInt) }
      .groupMapReduce(_._1)(_._2)(_.and(_))
  }

  /** @throws DynamicKafkaRuntimeException `INVALID_OFFSET` */
  private def reached(at: CompositeOffset): Read =
    if (at.history.isEmpty) everything
    else {
      val unknown = at.history.find { case (stream, n) => tables.get(stream).forall(_.files.size < n) }
      unknown.foreach { case (stream, n) =>
        throw Errors.invalidOffset(
          s"$n files of the history of stream '$stream' are read, but the checkpoint lists " +
            s"${tables.get(stream).fold(0)(_.files.size)}"
        )
      }
      nothing ++ at.history
    }
}

/**
 * Files with older records of a stream.
 *
 * @param format the name of Spark's data source
 * @param path as the metadata has it
 * @param options for the data source, with the base path of columns in the names of folders
 * @param schema all columns of the files, as JSON
 * @param cluster the cluster of the rows; None: the column `cluster`
 * @param topic the topic of the rows; None: the column `topic`
 * @param files in the order of their greatest timestamps, in which they are read
 * @param ends the greatest timestamp of the last file that has rows of a partition, by cluster; the partition -1 is all partitions
 *             of a topic whose rows have no partition
 */
private[dynamickafka] final case class HistoryTable(
    format: String,
    path: String,
    options: Map[String, String],
    schema: String,
    cluster: Option[String],
    topic: Option[String],
    files: Vector[HistoryFile],
    ends: SortedMap[String, Positions] = SortedMap.empty
) {

  /** The least timestamp of the files from each one on. */
  private lazy val leastFrom: Vector[Long] =
    files.scanRight(Long.MaxValue)((file, least) => math.min(file.least, least))

  /** The least timestamp of the files after this number of them, if there are more. */
  def least(read: Long): Option[Long] = Option.when(read < files.size)(leastFrom(read.toInt))

  /**
   * The rows of each cluster; some clusters are listed several times.
   *
   * @param from rows of this number of files at the beginning do not count
   * @param read the number of files that are read
   */
  def clusters(from: Int, read: Int): Seq[(String, ClusterFiles)] = {
    def of(some: Vector[HistoryFile]) = some.iterator.flatMap(rowsOf).toSeq
      .groupMapReduce(_._1)(_._2)((a, b) => RowTimes(a.least.min(b.least), a.greatest.max(b.greatest)))
    of(files.slice(from, read)).toSeq.map { case (id, rows) =>
      id -> ClusterFiles(read = Some(rows.greatest))
    } ++
      of(files.drop(read)).map { case (id, rows) => id -> ClusterFiles(unread = Some(rows.least)) }
  }

  private def rowsOf(file: HistoryFile): SortedMap[String, RowTimes] =
    cluster.fold(file.clusters)(id => SortedMap(id -> RowTimes(file.least, file.greatest)))

  /** Whether Kafka's records of a partition follow on a file after this number of them. */
  def precedes(cluster: String, topic: String, partition: Int, read: Long): Boolean =
    files.lift(read.toInt).exists { next =>
      ends.get(cluster).exists(of =>
        Seq(partition, HistoryTable.AnyPartition).exists(of.get(topic, _).exists(_ >= next.greatest))
      )
    }
}

private[dynamickafka] object HistoryTable {
  val AnyPartition: Int = -1
}

/**
 * @param least the least timestamp of its rows, and `greatest` the greatest one, in milliseconds
 * @param clusters the times of the rows of each cluster. Empty if all rows of the table are of one cluster
 */
private[dynamickafka] final case class HistoryFile(
    path: String,
    least: Long,
    greatest: Long,
    clusters: SortedMap[String, RowTimes] = SortedMap.empty
)

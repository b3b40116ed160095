package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.OffsetsPolicy

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
 * How Spark reads the files of a history.
 *
 * @param format the name of Spark's data source
 * @param path as the metadata has it
 * @param options for the data source, with the base path of columns in the names of folders
 * @param schema all columns of the files, as JSON
 */
private[dynamickafka] final case class HistoryDataSource(
    format: String,
    path: String,
    options: Map[String, String],
    schema: String
)

/**
 * Files with older records of a stream.
 *
 * @param cluster the cluster of the rows; None: the column `cluster`
 * @param topic the topic of the rows; None: the column `topic`
 * @param files in the order of their greatest timestamps, in which they are read
 * @param ends the greatest timestamp of the last file that has rows of a partition, by cluster; the partition -1 is all partitions
 *             of a topic whose rows have no partition
 */
private[dynamickafka] final case class HistoryTable(
    source: HistoryDataSource,
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

  /**
   * Whether Kafka's records of a partition have to wait, because some of these files have earlier records of it.
   *
   * @param clusters the id of its cluster, and of the one that it replaces, whose records the files may have
   */
  def precede(clusters: Seq[String], topic: String, partition: Int): Boolean =
    tables.exists { case (stream, table) =>
      clusters.exists(table.precedes(_, topic, partition, read(stream)))
    }

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

/**
 * Where Kafka follows on histories, by cluster and topic: by offsets where a history has them, otherwise by times. Pure.
 *
 * @param offsets the next offset of each partition
 * @param times the timestamp of the first record to read of each partition, in milliseconds
 * @param topicTimes the same of all other partitions of a topic
 */
private[dynamickafka] final case class HandOver(
    offsets: SortedMap[String, Positions] = SortedMap.empty,
    times: SortedMap[String, Positions] = SortedMap.empty,
    topicTimes: SortedMap[String, SortedMap[String, Long]] = SortedMap.empty
) {

  /**
   * The start position of a topic.
   *
   * @param rest for partitions without history
   */
  def start(cluster: String, topic: String, rest: OffsetsPolicy): OffsetsPolicy = {
    def of(all: SortedMap[String, Positions]) = all.get(cluster).fold(SortedMap.empty[Int, Long])(_.of(topic))
    if (!has(cluster, topic)) rest
    else OffsetsPolicy.After(of(offsets), of(times), topicTimes.get(cluster).flatMap(_.get(topic)), rest)
  }

  def has(cluster: String, topic: String): Boolean =
    Seq(offsets, times).exists(_.get(cluster).exists(_.topics(topic))) ||
      topicTimes.get(cluster).exists(_.contains(topic))
}

private[dynamickafka] object HandOver {
  val none: HandOver = HandOver()

  /** @param ends of all histories */
  def of(ends: Iterable[HistoryEnd]): HandOver = {
    def greatest(some: Iterable[(HistoryEnd, Int, Long)]): SortedMap[String, Positions] =
      Positions.byCluster(some.groupMapReduce { case (e, p, _) => (e.cluster, e.topic, p) }(_._3)(math.max)
        .map { case ((id, topic, p), value) => (id, topic, p, value) })
    HandOver(
      greatest(for (e <- ends; p <- e.partition; offset <- e.offset) yield (e, p, offset + 1)),
      greatest(for (e <- ends; p <- e.partition; if e.offset.isEmpty; ms <- e.time) yield (e, p, ms + 1)),
      SortedMap.from(ends.filter(_.partition.isEmpty).groupBy(_.cluster).map { case (id, of) =>
        val byTopic = of.flatMap(e => e.time.map(e.topic -> _)).groupMapReduce(_._1)(_._2)(math.max)
        id -> byTopic.map { case (topic, ms) => topic -> (ms + 1) }.to(SortedMap)
      }.filter(_._2.nonEmpty))
    )
  }
}

/**
 * The end of a history in a partition, or in a topic if it has no partitions.
 *
 * @param offset the greatest offset
 * @param time the greatest timestamp in milliseconds
 * @param lastFile that of the last file with its rows
 */
private[dynamickafka] final case class HistoryEnd(
    cluster: String,
    topic: String,
    partition: Option[Int],
    offset: Option[Long],
    time: Option[Long],
    lastFile: Long = 0L
)

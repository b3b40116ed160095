package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap
import scala.util.Random

/**
 * The files of histories of some partitions, with what their rows are.
 *
 * @param rows the partitions and times of the rows of each file
 */
final class AlignedFiles private (
    val rows: Map[String, Seq[(LogKey, Long)]],
    streams: Map[String, Seq[String]]
) {

  private def least(file: String) = rows(file).map(_._2).min
  private def greatest(file: String) = rows(file).map(_._2).max
  private def clusters(file: String) = SortedMap.from(rows(file).groupMapReduce(_._1.cluster)(of =>
    RowTimes(of._2, of._2)
  )((a, b) => RowTimes(a.least.min(b.least), a.greatest.max(b.greatest))))

  def unread(most: Int): UnreadFiles = {
    val tables = SortedMap.from(streams.map { case (stream, names) =>
      val files = names.sortBy(name => (greatest(name), name))
      val ends = files.flatMap(name => rows(name).map { case (key, _) => key -> greatest(name) })
        .groupMapReduce(_._1)(_._2)(math.max).groupBy(_._1.cluster).map { case (id, of) =>
          id -> Positions.from(of.iterator.map { case (key, time) => (key.topic, key.partition, time) })
        }
      stream -> HistoryTable(
        HistoryDataSource("parquet", "/p", Map.empty, "{}"),
        None,
        None,
        files.map(name => HistoryFile(name, least(name), greatest(name), clusters(name))).toVector,
        SortedMap.from(ends)
      )
    })
    UnreadFiles(tables, tables.map { case (stream, _) => stream -> 0L }, most)
  }

  /** The files that are left, in the order in which they are read. */
  def left(files: UnreadFiles): Seq[String] = files.tables.toSeq.flatMap { case (stream, table) =>
    table.files.drop(files.read(stream).toInt).map(file => (file.greatest, stream, file.path))
  }.sortBy { case (time, stream, _) => (time, stream) }.map(_._3)

  /** The times of the rows that are left. */
  def times(files: UnreadFiles): Seq[Long] = left(files).flatMap(rows(_).map(_._2))
}

object AlignedFiles {

  /** Times that mostly increase within a partition; files whose times overlap. */
  def any(random: Random, keys: Seq[LogKey], now: Long): AlignedFiles = {
    val named = for {
      stream <- Seq("a", "b")
      ofStream = keys.filter(_ => random.nextInt(3) == 0)
      (key, i) <- ofStream.zipWithIndex
      spread = 1 + random.nextInt(100000)
      names = (0 to random.nextInt(6)).map(n => s"$stream-${if (random.nextBoolean()) i else 0}-$n")
      rows = 1 + random.nextInt(12)
      row <- 0 until rows
    } yield {
      val time = now - spread + spread * row / rows
      val off = random.nextInt(30) match {
        case 0 => now + 1 + random.nextInt(100000)
        case 1 => time - random.nextInt(spread)
        case _ => time
      }
      (stream, names(row * names.size / rows), key -> off)
    }
    new AlignedFiles(
      named.groupMap(_._2)(_._3),
      named.groupMap(_._1)(_._2).map { case (stream, names) =>
        stream -> names.distinct
      }
    )
  }
}

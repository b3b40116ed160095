package io.github.dynamickafka.source.simulation

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.offset.{
  CompositeOffset,
  HandOver,
  HistoryDataSource,
  HistoryEnd,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  OffsetRange,
  Positions
}

/**
 * Files with all records that these topics have, which a query reads before Kafka.
 *
 * @param id the cluster of the records
 */
private[simulation] final class ModelHistory(world: World, id: String, topics: Map[String, ModelTopic]) {
  private val MostFiles = 3

  private val files: Vector[(HistoryFile, Vector[Long])] = {
    val rows = for {
      (_, topic) <- topics.toVector.sortBy(_._1)
      log <- topic.logs
      (record, i) <- log.records.zipWithIndex
    } yield (i * MostFiles / log.records.size, record)
    rows.groupMap(_._1)(_._2).toVector.map { case (n, records) =>
      val times = records.map(world.timeOf)
      (HistoryFile(n.toString, times.min, times.max), records)
    }.sortBy(_._1.greatest)
  }

  private def filesOf(topic: String, partition: Int): Vector[HistoryFile] = {
    val of = topics.get(topic).flatMap(_.logs.lift(partition)).fold(Set.empty[Long])(_.records.toSet)
    files.collect { case (file, records) if records.exists(of) => file }
  }

  private val ends = Positions.from(for {
    (name, topic) <- topics.iterator
    p <- topic.logs.indices
    last <- filesOf(name, p).lastOption
  } yield (name, p, last.greatest))

  val plan: HistoryPlan = HistoryPlan(
    SortedMap(
      "s" -> HistoryTable(
        HistoryDataSource("parquet", "history", Map.empty, ""),
        Some(id),
        None,
        files.map(_._1),
        SortedMap(id -> ends)
      )
    ),
    HandOver.of(for {
      (name, topic) <- topics
      (log, p) <- topic.logs.zipWithIndex
      last <- log.records.lastOption
    } yield HistoryEnd(id, name, Some(p), Some(log.end - 1), Some(world.timeOf(last))))
  )

  /**
   * Whether files that are not read at an offset have records of this partition, which are older.
   *
   * @param of the id of the cluster of the partition, and of the one that it replaces
   */
  def precedes(at: CompositeOffset, of: Seq[String], range: OffsetRange): Boolean = of.contains(id) && {
    val unread = plan.files(at, at.copy(history = plan.everything)).flatMap(_._3).toSet
    filesOf(range.topic, range.partition).exists(unread)
  }

  /** The records of the batches between two offsets. */
  def read(start: CompositeOffset, end: CompositeOffset): Vector[Long] = {
    val of = files.map { case (file, records) => file.path -> records }.toMap
    plan.files(start, end).toVector.flatMap(_._3).flatMap(file => of(file.path))
  }
}

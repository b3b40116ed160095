package io.github.dynamickafka.source.realtime

import java.io.IOException
import java.nio.file.Path
import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, ForeachWriter, Row}

import io.github.dynamickafka.source.{CheckpointFiles, Queries, Query, Seen}
import io.github.dynamickafka.storage.RawInProcessFiles

/** Queries in real-time mode. */
trait RealTimeTest extends Queries {

  /** Runs the body with a query that has its own folder and metadata, and rows that are handed over one by one. */
  def realTime[A](body: (Query, HandedRows) => A): A = scene(s => handedRows(s)(body(s, _)))

  /** Same, with the checkpoint of the scene. */
  def handedRows[A](s: Query)(body: HandedRows => A): A = {
    spark.conf.set("spark.sql.streaming.realTimeMode.minBatchDuration", "1s")
    val rows = new HandedRows(s.checkpoint)
    try body(rows)
    finally rows.close()
  }

  /**
   * As if the driver died after the tasks of a batch have ended, and before Spark has logged it.
   *
   * @param end what ends the batch
   * @param meanwhile what is done before the driver dies
   */
  def dyingBeforeTheLog(s: Query, query: StreamingQuery)(end: => Any)(meanwhile: => Any): Unit = {
    val (isWriting, dies) = (new CountDownLatch(1), new CountDownLatch(1))
    RawInProcessFiles.renaming = path =>
      if (path.toString.contains(s"${s.checkpoint}/offsets/")) {
        isWriting.countDown()
        dies.await()
        throw new IOException("the driver dies before the batch is logged")
      }
    try {
      end
      isWriting.await()
      meanwhile
      dies.countDown()
      waitFor("the end of the query")(!query.isActive)
    } finally {
      dies.countDown()
      RawInProcessFiles.renaming = _ => ()
    }
  }
}

/** The rows that queries in real-time mode over one checkpoint have handed to their sink, in order. */
final class HandedRows(checkpoint: Path) extends CheckpointFiles(checkpoint) with AutoCloseable {
  private val id = UUID.randomUUID().toString
  private val rows = new ConcurrentLinkedQueue[Seen]
  private val queries = ConcurrentHashMap.newKeySet[StreamingQuery]()

  /** Called with each row, on the thread of its task, before it counts as handed over. */
  @volatile var before: Seen => Unit = _ => ()
  HandedRows.all.put(id, this)

  def seen: Seq[Seen] = rows.asScala.toSeq

  def start(frame: DataFrame, duration: String = "5 minutes"): StreamingQuery = {
    val query =
      frame.selectExpr(Seen.columns: _*).writeStream
        .foreach(new HandedRows.Writer(id))
        .outputMode("update")
        .option("checkpointLocation", checkpoint.toString)
        .trigger(Trigger.RealTime(duration))
        .start()
    queries.add(query)
    query
  }

  override def close(): Unit = {
    queries.forEach(_.stop())
    val _ = HandedRows.all.remove(id)
  }
}

object HandedRows {
  private val all = new ConcurrentHashMap[String, HandedRows]

  private final class Writer(id: String) extends ForeachWriter[Row] {
    override def open(partition: Long, epoch: Long): Boolean = true
    override def process(r: Row): Unit = {
      val row = Seen.of(r)
      val handed = all.get(id)
      handed.before(row)
      val _ = handed.rows.add(row)
    }
    override def close(error: Throwable): Unit = ()
  }
}

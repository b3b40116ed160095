package io.github.dynamickafka.source

import java.nio.file.{Files, Path}
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson}

/**
 * The checkpoint of a query and the rows that it has read, over all its restarts. Rows are kept by batch: a
 * repeated batch replaces its first attempt, as in an idempotent sink, and must be the same.
 */
final class Results(val checkpoint: Path) {
  private val batches = new ConcurrentHashMap[Long, Seq[Seen]]
  @volatile private var different = Seq.empty[String]
  @volatile private var again = Set.empty[Long]

  /** Called in each batch after its rows are kept: for events between two triggers, or to block the query. */
  @volatile var inBatch: Long => Unit = _ => ()

  def seen: Seq[Seen] = {
    if (different.nonEmpty) throw new AssertionError(different.mkString("; "))
    batches.asScala.toSeq.sortBy(_._1).flatMap(_._2)
  }

  def values: Seq[String] = seen.map(_.value).sorted
  def batch(id: Long): Seq[Seen] = batches.getOrDefault(id, Nil)
  def batchCount: Int = batches.size

  /** Sizes of the batches, in order. */
  def sizes: Seq[Int] = batches.asScala.toSeq.sortBy(_._1).map(_._2.size)

  /** Batches that were run more than once. */
  def repeated: Set[Long] = again

  /** From now on each batch blocks after its rows are kept, until it is released or the query is stopped. */
  def hold(): Hold = {
    val hold = new Hold
    inBatch = _ => hold.enter()
    hold
  }

  def start(frame: DataFrame, trigger: Trigger = Trigger.ProcessingTime(0L)): StreamingQuery =
    frame.selectExpr("cluster", "topic", "partition", "offset", "cast(value as string) as value", "stream")
      .writeStream
      .foreachBatch { (rows: DataFrame, id: Long) =>
        val found = rows.collect().toSeq.map { r =>
          Seen(r.getString(0), r.getString(1), r.getInt(2), r.getLong(3), r.getString(4), r.getString(5))
        }
        Option(batches.put(id, found)).foreach { before =>
          again += id
          if (before.sortBy(_.toString) != found.sortBy(_.toString))
            different :+= s"batch $id was $before and then $found"
        }
        inBatch(id)
      }
      .option("checkpointLocation", checkpoint.toString)
      .trigger(trigger)
      .start()

  /** The last logged offset. */
  def logged: CompositeOffset = CompositeOffsetJson.read(loggedText)

  /** Whether the last logged batch is committed: then a restart repeats nothing. */
  def isFinished: Boolean = last("offsets").getFileName == last("commits").getFileName

  def loggedText: String = Files.readAllLines(last("offsets")).asScala.last

  /** Batches that were not logged may have other rows when they are planned again. */
  def forgetRows(): Unit = batches.clear()

  /** Leaves the checkpoint as a crash does before the last batch is committed. */
  def uncommit(): Unit = {
    val committed = checkpoint.resolve("commits").resolve(last("offsets").getFileName)
    if (Files.exists(committed)) delete(committed)
  }

  /** Removes all traces of the last logged batch. */
  def unlog(): Unit = {
    uncommit()
    delete(last("offsets"))
  }

  /** Replaces the last logged offset. */
  def rewriteLogged(change: String => String): Unit = {
    val file = last("offsets")
    val lines = Files.readAllLines(file).asScala
    Files.write(file, (lines.init :+ change(lines.last)).asJava)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }

  /** All files of the checkpoint, with their content as text. */
  def files: Map[String, String] = {
    val walk = Files.walk(checkpoint)
    try
      walk.iterator.asScala.filter(Files.isRegularFile(_)).filterNot(_.toString.endsWith(".crc"))
        .map(f => checkpoint.relativize(f).toString -> Files.readString(f)).toMap
    finally walk.close()
  }

  private def last(log: String): Path = {
    val listing = Files.list(checkpoint.resolve(log))
    try {
      val numbers = listing.iterator.asScala.map(_.getFileName.toString).flatMap(_.toLongOption)
      checkpoint.resolve(log).resolve(numbers.max.toString)
    } finally listing.close()
  }

  private def delete(file: Path): Unit = {
    Files.delete(file)
    Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
    ()
  }
}

/** Blocks a query inside a batch. */
final class Hold {
  private val entered = new CountDownLatch(1)
  private val released = new CountDownLatch(1)

  def enter(): Unit = {
    entered.countDown()
    released.await()
  }

  /** Returns when a batch is blocked: before that, an interrupt could reach Spark's job instead. */
  def await(): Unit = if (!entered.await(300, TimeUnit.SECONDS)) throw new AssertionError("no batch is held")

  def release(): Unit = released.countDown()
}

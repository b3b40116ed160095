package io.github.dynamickafka.source.replacement

import java.util.concurrent.{ConcurrentHashMap, Executor}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{CompositeOffset, Positions}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/**
 * Keeps the last record that the query has read of each partition, and writes it to the checkpoint after each batch that has
 * changed it. A file that is lost or older is no error, so a thread of its own writes the newest state: on some file systems a file takes
 * longer than a small batch, or hangs. Used only by the thread of the query.
 *
 * @param reported the last record that the tasks of this run have read of a partition
 * @param executor starts the thread that writes
 */
private[source] final class LastRecords(
    checkpoint: SourceCheckpoint,
    reported: LogKey => Option[LastRecord],
    executor: Executor = NewestWriter.daemon("dynamic-kafka-last-records")
) {
  import LastRecords._

  private val writer = new NewestWriter(checkpoint.writeRecordsRead, failed, executor)
  private val logged = ConcurrentHashMap.newKeySet[Class[_]]
  private lazy val stored = checkpoint.recordsRead
  private var current: Option[RecordsRead] = None
  private var last: Option[CompositeOffset] = None

  /**
   * The batch that ends here is complete.
   *
   * @param reached its end without records that were deferred
   */
  def finished(end: CompositeOffset, reached: => CompositeOffset): Unit =
    if (!last.exists(_ eq end)) {
      last = Some(end)
      val before = known
      try {
        val next = before.after(reached, reported)
        if (next ne before) {
          current = Some(next)
          writer.offer(next)
        }
      } catch { case NonFatal(e) => failed(e) }
    }

  /** Of the partitions of a cluster at these positions. */
  def of(id: String, positions: Positions): Map[(String, Int), LastRecord] = known.of(id, positions)

  private def known: RecordsRead = current.getOrElse(stored)

  /** When the last batch was logged, in milliseconds since the epoch; 0 if it is not known. */
  def lastBatchMs: Long = checkpoint.ofQuery.lastLoggedMs.getOrElse(0L)

  /** The query is stopped: waits until the newest state is written, at most this long. */
  def close(waitMs: Long = CloseWaitMs): Unit =
    if (!writer.close(waitMs))
      log.warn(
        "The times of the last records that were read are not stored after {} ms; the file is older",
        waitMs
      )

  /** Also called by the thread that writes. */
  private def failed(e: Throwable): Unit = {
    val message = "Failed to store the times of the last records that were read"
    if (logged.add(e.getClass)) log.warn(s"$message. Further errors of this kind are not logged", e)
    else log.debug(message, e)
  }
}

private[source] object LastRecords {
  private val log = LoggerFactory.getLogger(classOf[LastRecords])

  /** As long as Kafka's clients may take to close. */
  private val CloseWaitMs = 800L
}

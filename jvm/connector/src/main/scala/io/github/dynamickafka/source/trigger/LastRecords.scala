package io.github.dynamickafka.source.trigger

import java.util.concurrent.{ArrayBlockingQueue, ConcurrentHashMap, ThreadPoolExecutor, TimeUnit}

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.DaemonThreads
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{CompositeOffset, LogKey, Positions}
import io.github.dynamickafka.source.checkpoint.SourceCheckpoint

/** What is known of what a query has read. */
private[source] trait ReadBefore {

  /** The last records that were read of the partitions of a cluster at these positions. */
  def of(id: String, positions: Positions): Map[(String, Int), LastRecord]

  /** The positions of the cluster `former` continue in the cluster `id` at the same offsets. */
  def continued(former: String, id: String, positions: Positions): Unit

  /** When the last batch was logged, in milliseconds since the epoch; 0 if it is not known. */
  def lastBatchMs: Long
}

/**
 * Keeps the last record that the query has read of each partition, and writes it to the checkpoint after each batch that has
 * changed it. A file that is lost or older is no error, so a thread of its own writes the newest state: on some file systems a file takes
 * longer than a small batch, or hangs. Used only by the thread of the query.
 *
 * @param reported the last record that the tasks of this run have read of a partition, whose log these positions are about
 */
private[source] final class LastRecords(
    checkpoint: SourceCheckpoint,
    reported: (CompositeOffset, LogKey) => Option[LastRecord]
) extends ReadBefore {
  import LastRecords._

  private val writer = new NewestWriter("dynamic-kafka-last-records", checkpoint.writeRecordsRead, failed)
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
        val at = reached
        val next = before.after(at, reported(at, _))
        if (next ne before) {
          current = Some(next)
          writer.offer(next)
        }
      } catch { case NonFatal(e) => failed(e) }
    }

  override def of(id: String, positions: Positions): Map[(String, Int), LastRecord] = known.of(id, positions)

  override def continued(former: String, id: String, positions: Positions): Unit = {
    val next = known.continued(former, id, positions)
    current = Some(next)
    writer.offer(next)
  }

  private def known: RecordsRead = current.getOrElse(stored)

  override def lastBatchMs: Long = checkpoint.ofQuery.lastLoggedMs.getOrElse(0L)

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

  /** Kafka's clients may take this time to close. */
  private val CloseWaitMs = 800L
}

/**
 * Writes states on a thread of its own, of which only the newest one counts: a state that has not been written when a newer one
 * comes is never written. Thread-safe.
 *
 * The thread ends when everything is written, so that nothing is left of a writer that is never closed.
 *
 * @param failed gets the errors of `write`, on the same thread
 */
private[trigger] final class NewestWriter[A](
    threadName: String,
    write: A => Unit,
    failed: Throwable => Unit
) {
  // One thread at most, and one state that waits for it, which a newer one replaces.
  private val thread = new ThreadPoolExecutor(
    0,
    1,
    0L,
    TimeUnit.MILLISECONDS,
    new ArrayBlockingQueue[Runnable](1),
    new DaemonThreads(threadName),
    new ThreadPoolExecutor.DiscardOldestPolicy
  )

  /** Does not wait. */
  def offer(newer: A): Unit = thread.execute { () =>
    // Every Throwable: a missing class must not end the thread while a state waits.
    try write(newer)
    catch { case e: Throwable => failed(e) }
  }

  /**
   * Waits until the newest state is written, at most this long. Afterwards no write begins, and one that hangs is interrupted.
   *
   * @return whether the newest state is written, or has failed
   */
  def close(waitMs: Long): Boolean = {
    thread.shutdown()
    try thread.awaitTermination(waitMs, TimeUnit.MILLISECONDS)
    catch {
      case _: InterruptedException =>
        Thread.currentThread.interrupt()
        false
    } finally { val _ = thread.shutdownNow() }
  }
}

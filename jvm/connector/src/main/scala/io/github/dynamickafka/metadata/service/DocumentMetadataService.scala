package io.github.dynamickafka.metadata.service

import java.{util => ju}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock, DaemonThreads}
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.kafka.Opening
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * A source of documents as a metadata service. A cluster is active if the document that was read last contains it, so that the calls of one
 * poll use the same state of the document.
 *
 * @param ttlMs how long a document is used before the next one is read, in milliseconds; 0: each call reads
 */
private[metadata] abstract class DocumentMetadataService(ttlMs: Long = 0L) extends KafkaMetadataService {

  /**
   * Reads the streams of the current document, by id; some may be invalid. Throws an exception if it cannot be read. Never called
   * concurrently.
   */
  protected def read(): Map[String, KafkaStream]

  private val lock = new Object
  private var readAt: Option[Long] = None
  @volatile private var last: Option[Map[String, KafkaStream]] = None

  private def streams(): Map[String, KafkaStream] = lock.synchronized {
    val now = Clock.System.nanoTime()
    last.filter(_ => readAt.exists(now - _ < ttlMs * 1000000L)).getOrElse {
      val found = read()
      readAt = Some(now)
      last = Some(found)
      found
    }
  }

  /** The next call reads. */
  protected final def forget(): Unit = lock.synchronized { readAt = None }

  override def getAllStreams(): ju.Set[KafkaStream] = new ju.LinkedHashSet(streams().values.toSeq.asJava)

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val now = streams()
    val found = new ju.LinkedHashMap[String, KafkaStream]
    for (id <- streamIds.asScala; stream <- now.get(id)) {
      stream.invalid.foreach(throw _)
      found.put(id, stream)
    }
    found
  }

  override def isClusterActive(clusterId: String): Boolean =
    last.getOrElse(streams()).values.exists(_.getClusterMetadataMap.containsKey(clusterId))

  override def close(): Unit = ()
}

/** A source that is watched by a thread of its own. */
private[metadata] trait Watched extends DocumentMetadataService {

  /** What is watched, for the log. */
  protected def shown: String

  /**
   * Waits for changes, see [[ChangeWatch]].
   *
   * @param working runs when the wait works
   * @param changed runs after each change, and after changes that may have been missed
   */
  protected def await(working: () => Unit, changed: () => Unit): Unit

  override def onChange(changed: Runnable): AutoCloseable = new ChangeWatch(shown)(await(
    _,
    () => {
      forget()
      changed.run()
    }
  ))
}

/**
 * A client that the first call makes; a later call makes another one after one that could not be made. Closing never waits.
 *
 * @param limitMs how long a call waits for it
 */
private[metadata] final class Opened[A](open: => Opening[A], limitMs: Long) extends AutoCloseable {
  private var current: Option[Opening[A]] = None

  def apply(): A = {
    val opening = synchronized {
      val opening = current.filterNot(_.isBroken).getOrElse(open)
      current = Some(opening)
      opening
    }
    opening.await(limitMs)
  }

  /** Has the next call make another one, unless it is still being made: another one would hang as well. */
  def renew(): Unit = synchronized(if (!current.exists(_.isBeingMade)) close())

  override def close(): Unit = synchronized {
    current.foreach(_.close())
    current = None
  }
}

/** A metadata service whose streams this project can change, by an edit of its document. */
private[dynamickafka] trait EditableService {

  /**
   * @param change returns the new text of the document; may throw `EditRefused`
   * @return the streams before and after, by id
   */
  private[dynamickafka] def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream])
}

/**
 * Waits for changes of metadata on a daemon thread of its own, until it is closed. A wait that fails is repeated after a pause: only the
 * polls of the service count as failures. Waits begin at least [[ChangeWatch.LeastMs]] apart, so that a service that does not wait is not
 * asked without end.
 *
 * @param shown what is watched, for the log
 * @param await returns when the next wait may begin; runs its argument when the wait works, which resets the pauses. Interrupted by `close`
 */
private[metadata] final class ChangeWatch(shown: String, clock: Clock = Clock.System)(
    await: (() => Unit) => Unit
) extends AutoCloseable {
  import ChangeWatch._

  @volatile private var closed = false
  private var failures = 0

  private val thread = new DaemonThreads("dynamic-kafka-metadata-changes").newThread(() => run())
  thread.start()

  /** Waits a moment for the end of the thread. */
  override def close(): Unit = {
    closed = true
    thread.interrupt()
    try thread.join(CloseWaitMs)
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
  }

  private def run(): Unit =
    try
      while (!closed)
        try {
          val began = clock.monotonicMs()
          await(() => works())
          works()
          // Something in front of the service may answer at once, again and again.
          val left = began + LeastMs - clock.monotonicMs()
          if (left > 0) clock.pauseMs(left)
        } catch { case NonFatal(e) if !closed => failed(e) }
    catch { case _: InterruptedException | NonFatal(_) if closed => () }

  private def works(): Unit = {
    if (failures > 0) log.info(s"$shown is watched again")
    failures = 0
  }

  private def failed(e: Throwable): Unit = {
    failures += 1
    if (failures == 1)
      log.warn(s"$shown cannot be watched, so that changes are noticed only by polls: ${FailureText.of(e)}")
    clock.pauseMs(Pauses.pauseMs(failures))
  }
}

private[metadata] object ChangeWatch {

  /** Between the begins of two waits. */
  val LeastMs = 100L
  private val log = LoggerFactory.getLogger(classOf[ChangeWatch])
  private val CloseWaitMs = 300L
  private val Pauses = Backoff(firstMs = 500L, longestMs = 30000L)
}

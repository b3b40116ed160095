package io.github.dynamickafka.metadata.service

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.time.{Backoff, Clock}

/**
 * Waits for changes of metadata on a daemon thread of its own, until it is closed. A wait that fails is repeated after a pause: only the
 * polls of the service count as failures. Waits begin at least [[ChangeWatch.LeastMs]] apart, so that a service that does not wait is not
 * asked without end.
 *
 * @param shown what is watched, for the log
 * @param await returns when the next wait may begin; runs its argument when the wait works, which resets the pauses. Interrupted by `close`
 */
private[metadata] final class ChangeWatch(
    shown: String,
    clock: Clock = Clock.System,
    pauses: Backoff = ChangeWatch.Pauses
)(await: (() => Unit) => Unit)
    extends AutoCloseable {
  import ChangeWatch.log

  @volatile private var closed = false
  private var failures = 0

  private val thread = new Thread(() => run(), "dynamic-kafka-metadata-changes")
  thread.setDaemon(true)
  thread.start()

  /** Waits a moment for the end of the thread. */
  override def close(): Unit = {
    closed = true
    thread.interrupt()
    try thread.join(ChangeWatch.CloseWaitMs)
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
          val left = began + ChangeWatch.LeastMs - clock.monotonicMs()
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
    clock.pauseMs(pauses.pauseMs(failures))
  }
}

private[metadata] object ChangeWatch {

  /** Between the begins of two waits. */
  val LeastMs = 100L
  private val log = LoggerFactory.getLogger(classOf[ChangeWatch])
  private val CloseWaitMs = 300L
  private val Pauses = Backoff(firstMs = 500L, longestMs = 30000L)
}

package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{Future, LinkedBlockingQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}

import scala.util.Try

/**
 * Runs calls that may block indefinitely on one daemon thread, never two at once.
 *
 * It has no time limit: a caller that stops waiting must check [[busy]] before the next call.
 */
private[metadata] final class SingleCaller(threads: ThreadFactory) {
  private val executor =
    new ThreadPoolExecutor(1, 1, 0L, TimeUnit.MILLISECONDS, new LinkedBlockingQueue, threads)
  private val running = new AtomicBoolean(false)
  @volatile private var last: Option[Future[_]] = None

  def busy: Boolean = running.get

  /** @param ended receives the result on the thread of the call, after [[busy]] has become false */
  def call[A](body: => A)(ended: Try[A] => Unit): Unit = {
    running.set(true)
    last = Some(executor.submit((() => {
      // Every Throwable: a missing class in a service must not terminate the thread silently.
      val result =
        try Right(body)
        catch { case e: Throwable => Left(e) }
      running.set(false)
      ended(result.toTry)
    }): Runnable))
  }

  /** Interrupts a running call, runs `onClose` after it, and waits for both at most `waitMs`. */
  def close(waitMs: Long)(onClose: => Unit): Unit = {
    last.foreach(_.cancel(true))
    executor.execute(() => onClose)
    executor.shutdown()
    try executor.awaitTermination(waitMs, TimeUnit.MILLISECONDS)
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    ()
  }
}

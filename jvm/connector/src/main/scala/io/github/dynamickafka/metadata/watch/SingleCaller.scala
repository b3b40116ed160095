package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{Future, LinkedBlockingQueue, ThreadFactory, ThreadPoolExecutor, TimeUnit}

import scala.util.Try

/**
 * Runs calls that may hang, never two at once, on one daemon thread of its own.
 *
 * It knows no time limit: who loses patience goes on without the result and asks [[busy]] before the next call.
 */
private[metadata] final class SingleCaller(threads: ThreadFactory) {
  private val executor =
    new ThreadPoolExecutor(1, 1, 0L, TimeUnit.MILLISECONDS, new LinkedBlockingQueue, threads)
  private val running = new AtomicBoolean(false)
  @volatile private var last: Option[Future[_]] = None

  def busy: Boolean = running.get

  /** @param ended gets the result on the calling thread, when [[busy]] is false again */
  def call[A](body: => A)(ended: Try[A] => Unit): Unit = {
    running.set(true)
    last = Some(executor.submit((() => {
      // Every Throwable: a service with a class missing must not end the thread without a word.
      val result =
        try Right(body)
        catch { case e: Throwable => Left(e) }
      running.set(false)
      ended(result.toTry)
    }): Runnable))
  }

  /** Interrupts a running call, has `farewell` run after it, and waits for both no longer than `waitMs`. */
  def close(waitMs: Long)(farewell: => Unit): Unit = {
    last.foreach(_.cancel(true))
    executor.execute(() => farewell)
    executor.shutdown()
    try executor.awaitTermination(waitMs, TimeUnit.MILLISECONDS)
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    ()
  }
}

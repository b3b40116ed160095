package io.github.dynamickafka.metadata.watch

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.atomic.AtomicBoolean
import java.util.concurrent.{
  Future,
  LinkedBlockingQueue,
  ScheduledThreadPoolExecutor,
  ThreadFactory,
  ThreadPoolExecutor,
  TimeUnit,
  TimeoutException
}

import scala.util.{Failure, Try}

/**
 * The polling loop: one attempt at a time, each of which ends with its result, or when one of its calls exceeds the time
 * limit. The result of an attempt after the time limit is dropped, because it is outdated.
 *
 * Only the single thread of the scheduler accesses the fields.
 *
 * @param poll one attempt; runs its argument before each call after the first one, which restarts the time limit
 * @param ended called on the scheduler's thread at the end of each attempt; returns the pause in milliseconds before
 *              the next attempt, or None to stop
 */
private[metadata] final class PollLoop[T](
    poll: (() => Unit) => T,
    callTimeoutMs: Long,
    schedulerThread: ThreadFactory,
    callThread: ThreadFactory,
    ended: Try[T] => Option[Long]
) {
  import PollLoop.Attempt

  private val scheduler =
    new ScheduledThreadPoolExecutor(1, schedulerThread, new ThreadPoolExecutor.DiscardPolicy)
  scheduler.setRemoveOnCancelPolicy(true)
  private val caller = new SingleCaller(callThread)

  private var attempts = 0L
  private var open: Option[Attempt] = None
  private var waiting: Option[Future[_]] = None
  private var hurried = false

  def start(): Unit = scheduler.execute(() => attempt())

  /** Makes an attempt at once, or after the running one, also if the loop has stopped. */
  def hurry(): Unit = scheduler.execute { () =>
    if (open.isDefined || caller.busy) hurried = true
    else {
      waiting.foreach(_.cancel(false))
      attempt()
    }
  }

  def close(waitMs: Long)(onClose: => Unit): Unit = {
    scheduler.shutdownNow()
    caller.close(waitMs)(onClose)
  }

  private def attempt(): Unit =
    if (caller.busy) next(ended(Failure(new TimeoutException("an earlier call has not returned yet"))))
    else {
      attempts += 1
      val number = attempts
      open = Some(Attempt(number, limit(number)))
      caller.call(poll(() => scheduler.execute(() => renew(number)))) { result =>
        scheduler.execute(() => end(number, result))
      }
    }

  private def limit(number: Long): Future[_] =
    scheduler.schedule((() => expire(number)): Runnable, callTimeoutMs, MILLISECONDS)

  private def renew(number: Long): Unit = open.filter(_.number == number).foreach { attempt =>
    attempt.limit.cancel(false)
    open = Some(Attempt(number, limit(number)))
  }

  private def expire(number: Long): Unit =
    end(number, Failure(new TimeoutException(s"no response within $callTimeoutMs ms")))

  private def end(number: Long, result: Try[T]): Unit =
    open.filter(_.number == number).foreach { attempt =>
      open = None
      attempt.limit.cancel(false)
      next(ended(result))
    }

  private def next(pauseMs: Option[Long]): Unit = {
    val pause = if (hurried && !caller.busy) Some(0L) else pauseMs
    if (pause.contains(0L)) hurried = false
    waiting = pause.map(scheduler.schedule((() => attempt()): Runnable, _, MILLISECONDS))
  }
}

private object PollLoop {
  private final case class Attempt(number: Long, limit: Future[_])
}

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

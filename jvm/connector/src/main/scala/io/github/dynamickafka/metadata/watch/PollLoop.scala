package io.github.dynamickafka.metadata.watch

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.TimeoutException
import java.util.concurrent.{Future, ScheduledThreadPoolExecutor, ThreadFactory, ThreadPoolExecutor}

import scala.util.{Failure, Try}

/**
 * Looks again and again: one attempt at a time, each ended by its result or by the time limit, whichever comes
 * first. The result of an attempt that was given up is dropped: it is as old as the call.
 *
 * All fields belong to the scheduler's one thread.
 *
 * @param ended told of each attempt's end on the scheduler's thread; its answer is the pause before the next one,
 *              None to stop
 */
private[metadata] final class PollLoop[T](
    poll: () => T,
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

  def start(): Unit = scheduler.execute(() => attempt())

  def close(waitMs: Long)(farewell: => Unit): Unit = {
    scheduler.shutdownNow()
    caller.close(waitMs)(farewell)
  }

  private def attempt(): Unit =
    if (caller.busy) next(ended(Failure(new TimeoutException("an earlier call has still not ended"))))
    else {
      attempts += 1
      val number = attempts
      val limit = scheduler.schedule((() => expire(number)): Runnable, callTimeoutMs, MILLISECONDS)
      open = Some(Attempt(number, limit))
      caller.call(poll())(result => scheduler.execute(() => end(number, result)))
    }

  private def expire(number: Long): Unit =
    end(number, Failure(new TimeoutException(s"no answer within $callTimeoutMs ms")))

  private def end(number: Long, result: Try[T]): Unit =
    open.filter(_.number == number).foreach { attempt =>
      open = None
      attempt.limit.cancel(false)
      next(ended(result))
    }

  private def next(pauseMs: Option[Long]): Unit =
    pauseMs.foreach(scheduler.schedule((() => attempt()): Runnable, _, MILLISECONDS))
}

private object PollLoop {
  private final case class Attempt(number: Long, limit: Future[_])
}

package io.github.dynamickafka.source.replacement

import java.util.concurrent.{CountDownLatch, Executor, TimeUnit}

/**
 * Writes states on a thread of its own, of which only the newest one counts: a state that has not been written when a newer one
 * comes is never written. Thread-safe.
 *
 * The thread ends when everything is written, so that nothing is left of a writer that is never closed.
 *
 * @param failed gets the errors of `write`, on the same thread
 * @param executor starts the thread
 */
private[replacement] final class NewestWriter[A](
    write: A => Unit,
    failed: Throwable => Unit,
    executor: Executor
) {
  private var state = NewestState[A]()
  private var thread: Option[Thread] = None
  private var done = new CountDownLatch(0)

  /** Does not wait. */
  def offer(newer: A): Unit = {
    val isDue = synchronized {
      val (next, isDue) = state.offered(newer)
      state = next
      if (isDue) done = new CountDownLatch(1)
      isDue
    }
    if (isDue) executor.execute(() => run())
  }

  @annotation.tailrec
  private def run(): Unit = take() match {
    case None => ()
    case Some(next) =>
      // Every Throwable: a missing class must not end the thread while it counts as writing.
      try write(next)
      catch { case e: Throwable => failed(e) }
      run()
  }

  private def take(): Option[A] = synchronized {
    val (next, found) = state.taken
    state = next
    thread = found.map(_ => Thread.currentThread)
    if (found.isEmpty) done.countDown()
    found
  }

  /**
   * Waits until the newest state is written, at most this long. Afterwards no write begins, and one that hangs is interrupted.
   *
   * @return whether the newest state is written, or has failed
   */
  def close(waitMs: Long): Boolean = {
    val isDone =
      try synchronized(done).await(waitMs, TimeUnit.MILLISECONDS)
      catch {
        case _: InterruptedException =>
          Thread.currentThread.interrupt()
          false
      }
    synchronized {
      state = state.closed
      thread.foreach(_.interrupt())
    }
    isDone
  }
}

private[replacement] object NewestWriter {

  /** Starts a daemon thread with this name for each task. */
  def daemon(name: String): Executor = task => {
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread.start()
  }
}

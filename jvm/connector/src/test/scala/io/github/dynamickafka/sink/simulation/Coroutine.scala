package io.github.dynamickafka.sink.simulation

import java.util.concurrent.{
  AbstractExecutorService,
  ExecutorService,
  Executors,
  FutureTask,
  RunnableFuture,
  Semaphore,
  TimeUnit
}
import java.{util => ju}

import scala.util.control.{ControlThrowable, NoStackTrace}

/** What kills a driver: it does nothing more, also not in `catch` and `finally`. */
private[sink] final class Died extends ControlThrowable with NoStackTrace

/**
 * Code that stops where it chooses and is resumed, on a thread of its own. Of all coroutines and the code that resumes them, one
 * runs at any time, so that a simulation is determined by its choices.
 */
private[sink] final class Coroutine(body: => Unit) {
  private val mine, others = new Semaphore(0)
  @volatile private var isOver = false
  @volatile private var isStarted = false
  @volatile private var thread: Thread = _
  @volatile private var failed: Option[Throwable] = None

  def isAlive: Boolean = !isOver

  /** Whether the caller is the coroutine, and not a thread of a library. */
  def isCurrent: Boolean = Thread.currentThread eq thread

  /** Returns when the coroutine stops or ends. */
  def resume(): Unit = if (!isOver) {
    if (isStarted) mine.release()
    else {
      isStarted = true
      Coroutine.threads.execute { () =>
        thread = Thread.currentThread
        try body
        catch {
          case _: Died => ()
          case e: Throwable => failed = Some(e)
        } finally {
          isOver = true
          thread = null
          others.release()
        }
      }
    }
    others.acquireUninterruptibly()
    failed.foreach(throw _)
  }

  /** Stops until it is resumed. Called by the coroutine. */
  def pause(): Unit = {
    others.release()
    mine.acquireUninterruptibly()
  }
}

private[sink] object Coroutine {
  private val threads: ExecutorService = Executors.newCachedThreadPool { task =>
    val thread = new Thread(task, "simulation")
    thread.setDaemon(true)
    thread
  }

  /** Runs what it is given at once. */
  object Direct extends Inline {
    override def execute(task: Runnable): Unit = task.run()
  }

  /**
   * Runs what it is given at once, or only when somebody waits for it: the two extremes of a thread of its own.
   *
   * @param isLate which of them
   */
  final class AtOnceOrLate(isLate: () => Boolean) extends Inline {
    override def execute(task: Runnable): Unit = if (!isLate()) task.run()
    override protected def newTaskFor[A](task: Runnable, value: A): RunnableFuture[A] =
      new FutureTask[A](task, value) {
        // Has no effect if it has run.
        override def get(): A = {
          run()
          super.get()
        }
        override def get(time: Long, unit: TimeUnit): A = get()
      }
  }

  /** Has no threads. */
  sealed abstract class Inline extends AbstractExecutorService {
    override def shutdown(): Unit = ()
    override def shutdownNow(): ju.List[Runnable] = ju.List.of()
    override def isShutdown: Boolean = false
    override def isTerminated: Boolean = false
    override def awaitTermination(timeout: Long, unit: TimeUnit): Boolean = true
  }
}

package io.github.dynamickafka.page

import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{CompletableFuture, Executor}
import java.{util => ju}

/**
 * A daemon thread for each request. A request that takes too long is interrupted, which closes its connection, and so is the oldest one
 * when there are too many: a visitor who sends or reads slowly, with the token or without, blocks no other visitor.
 */
private[page] final class PageThreads(limitMs: Long = PageThreads.LimitMs) extends Executor
    with AutoCloseable {
  private val running = new ju.LinkedHashSet[Thread]

  override def execute(request: Runnable): Unit = synchronized {
    val thread = PageThreads.daemon { () =>
      try request.run()
      finally ended(Thread.currentThread)
    }
    running.add(thread)
    if (running.size > PageThreads.Most) interruptOldest()
    thread.start()
    CompletableFuture.delayedExecutor(limitMs, MILLISECONDS).execute(() => thread.interrupt())
  }

  private def interruptOldest(): Unit = {
    val oldest = running.iterator
    oldest.next().interrupt()
    oldest.remove()
  }

  private def ended(thread: Thread): Unit = synchronized { val _ = running.remove(thread) }

  override def close(): Unit = synchronized(running.forEach(_.interrupt()))
}

private[page] object PageThreads {

  /** Far more than a browser opens. */
  val Most = 32

  /** Far longer than a request of a browser. */
  val LimitMs = 30000L

  def daemon(task: Runnable): Thread = {
    val thread = new Thread(task, "dynamic-kafka-page")
    thread.setDaemon(true)
    thread
  }
}

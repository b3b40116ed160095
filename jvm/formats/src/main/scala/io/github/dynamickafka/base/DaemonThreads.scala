package io.github.dynamickafka.base

import java.util.concurrent.{Executor, ThreadFactory}

/** Threads that do not keep a process from ending. */
private[dynamickafka] final class DaemonThreads(name: String) extends ThreadFactory with Executor {

  /** The caller starts it. */
  override def newThread(task: Runnable): Thread = {
    val thread = new Thread(task, name)
    thread.setDaemon(true)
    thread
  }

  /** Runs the task on a thread of its own. */
  override def execute(task: Runnable): Unit = newThread(task).start()
}

package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, Executor}

/**
 * Opens clients, each on a thread of its own: it resolves addresses, reads key stores and may log in, which can take any time.
 * Who opens a client must not hold a lock that others need, and must not wait without a time limit.
 */
private[cluster] object ClientOpener {
  private val threads: Executor = task => {
    val thread = new Thread(task, "dynamic-kafka-open")
    thread.setDaemon(true)
    thread.start()
  }

  /** Does not wait. */
  def open[A](client: => A): CompletableFuture[A] =
    CompletableFuture.supplyAsync[A](() => client, threads)
}

package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, CompletionException}

import org.apache.kafka.common.errors.UnknownTopicOrPartitionException

/** What the requests to a cluster have in common. */
private[source] object Futures {

  /** The exception of the client, without the wrappers of futures. */
  @annotation.tailrec
  def cause(e: Throwable): Throwable = e match {
    case wrapped @ (_: CompletionException | _: java.util.concurrent.ExecutionException)
        if wrapped.getCause != null =>
      cause(wrapped.getCause)
    case other => other
  }

  /** All results, without those of topics and partitions that do not exist. */
  def allPresent[K, V](all: Map[K, CompletableFuture[V]]): CompletableFuture[Map[K, V]] = {
    val tolerant = all.map { case (k, f) =>
      k -> f.thenApply[Option[V]](Some(_)).exceptionally(e =>
        cause(e) match {
          case _: UnknownTopicOrPartitionException => None
          case other => throw new CompletionException(other)
        }
      )
    }
    CompletableFuture.allOf(tolerant.values.toSeq: _*).thenApply[Map[K, V]] { _ =>
      tolerant.flatMap { case (k, f) => f.join().map(k -> _) }
    }
  }

  def then2[A, B, C](a: CompletableFuture[A], b: CompletableFuture[B])(f: (A, B) => C): CompletableFuture[C] =
    a.thenCombine[B, C](b, f(_, _))

  /** The error of a future, if it has failed already. */
  def failure[A](answer: CompletableFuture[A]): Option[Throwable] =
    if (answer.isCompletedExceptionally) Option(answer.handle[Throwable]((_, e) => e).getNow(null)).map(cause)
    else None
}

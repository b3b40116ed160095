package io.github.dynamickafka.source.cluster

import java.util.concurrent.{
  CompletableFuture,
  CompletionException,
  ExecutionException,
  TimeUnit,
  TimeoutException
}

import scala.util.control.NonFatal

import org.apache.kafka.common.errors.UnknownTopicOrPartitionException

import io.github.dynamickafka.base.Clock

/** What the requests to a cluster have in common. */
private[dynamickafka] object Futures {
  private val CheckEveryMs = 50L

  /** The exception of the client, without the wrappers of futures. */
  @annotation.tailrec
  def cause(e: Throwable): Throwable = e match {
    case wrapped @ (_: CompletionException | _: ExecutionException)
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

  /** Completes with the last of these, also if some fail, or after a time. */
  def pause(all: Iterable[CompletableFuture[_]], ms: Long): CompletableFuture[Unit] =
    CompletableFuture.allOf(all.toSeq: _*).handle[Unit]((_, _) => ()).completeOnTimeout(
      (),
      ms,
      TimeUnit.MILLISECONDS
    )

  /** The error of a future, if it has failed already. */
  def failure[A](answer: CompletableFuture[A]): Option[Throwable] =
    if (answer.isCompletedExceptionally) Option(answer.handle[Throwable]((_, e) => e).getNow(null)).map(cause)
    else None

  /** The result of a future that is complete, or the exception of the client. */
  def outcome[A](answer: CompletableFuture[A]): Either[Throwable, A] =
    try Right(answer.join())
    catch { case NonFatal(e) => Left(cause(e)) }

  /** Waits for a response until a time in monotonic milliseconds. */
  def awaitUntil(answer: CompletableFuture[_], until: Long, clock: Clock): Unit = {
    val waitMs = until - clock.monotonicMs()
    if (waitMs > 0) wait(answer, waitMs)
  }

  private def wait(answer: CompletableFuture[_], ms: Long): Unit =
    try { val _ = answer.get(ms, TimeUnit.MILLISECONDS) }
    catch { case _: TimeoutException | _: ExecutionException => () }

  /**
   * Waits for all responses, or until waiting is useless; then cancels the pending requests.
   *
   * @param superseded called with the clusters whose requests are pending
   * @return whether all requests are complete
   */
  def await(answers: Map[String, CompletableFuture[_]], superseded: Set[String] => Boolean): Boolean = {
    val all = answers.values.toSeq
    val every = CompletableFuture.allOf(all: _*)
    def pending = answers.collect { case (id, answer) if !answer.isDone => id }.toSet
    @annotation.tailrec
    def isComplete(): Boolean =
      if (every.isDone) true
      else if (superseded(pending)) false
      else {
        wait(every, CheckEveryMs)
        isComplete()
      }
    try isComplete()
    finally all.foreach(_.cancel(true))
  }
}

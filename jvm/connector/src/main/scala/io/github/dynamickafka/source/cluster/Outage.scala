package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.Try

import io.github.dynamickafka.time.Backoff

/**
 * A cluster that gave no answer while the query goes on without it: when it is asked again, and since when it
 * is gone. Immutable.
 *
 * @param since monotonic milliseconds, as all times here
 * @param nextAt when it is asked again
 * @param probe the question that is under way; nobody waits for it, so that a trigger is delayed only once
 */
private[source] final case class Outage(
    since: Long,
    attempts: Int,
    nextAt: Long,
    probe: Option[CompletableFuture[String]],
    cause: Throwable
) {

  /** What the next trigger finds: the cluster answers, or the outage as it is now. */
  def look(now: Long, ask: () => CompletableFuture[String]): Either[Outage, Unit] = probe match {
    case Some(answer) if !answer.isDone => Left(this)
    case Some(answer) if answer.isCompletedExceptionally => Left(failedAgain(now, answer))
    case Some(_) => Right(())
    case None if now >= nextAt => Left(copy(probe = Some(ask())))
    case None => Left(this)
  }

  /** It has failed once more: the next question comes after a longer pause. */
  def again(now: Long, error: Throwable): Outage =
    Outage(since, attempts + 1, now + Backoff.OfClusters.pauseMs(attempts + 1), None, error)

  private def failedAgain(now: Long, answer: CompletableFuture[String]): Outage =
    again(now, Outage.causeOf(answer).getOrElse(cause))
}

private[source] object Outage {
  def begin(now: Long, cause: Throwable): Outage =
    Outage(now, 1, now + Backoff.OfClusters.pauseMs(1), None, cause)

  private def causeOf(answer: CompletableFuture[String]): Option[Throwable] =
    Try(answer.getNow("")).failed.toOption.map(ClusterAdmin.cause)
}

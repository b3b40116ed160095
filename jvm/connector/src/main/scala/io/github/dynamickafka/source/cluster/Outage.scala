package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.Try

import io.github.dynamickafka.time.Backoff

/**
 * The state of an unreachable cluster while the query continues without it. Immutable.
 *
 * @param since the start of the outage, in monotonic milliseconds, like all times here
 * @param nextAt the time of the next probe
 * @param probe the pending probe; no trigger waits for it, so that an outage delays only one trigger
 */
private[source] final case class Outage(
    since: Long,
    attempts: Int,
    nextAt: Long,
    probe: Option[CompletableFuture[String]],
    cause: Throwable
) {

  /** Called by each trigger: returns `Right` if the cluster responds again, otherwise the new state of the outage. */
  def look(now: Long, ask: () => CompletableFuture[String]): Either[Outage, Unit] = probe match {
    case Some(answer) if !answer.isDone => Left(this)
    case Some(answer) if answer.isCompletedExceptionally => Left(failedAgain(now, answer))
    case Some(_) => Right(())
    case None if now >= nextAt => Left(copy(probe = Some(ask())))
    case None => Left(this)
  }

  /** After another failure: the pause before the next probe is longer. */
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

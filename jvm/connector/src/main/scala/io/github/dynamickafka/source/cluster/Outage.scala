package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import io.github.dynamickafka.time.Backoff

/**
 * The state of an unreachable cluster while the query continues without it. Immutable.
 *
 * @param of what the cluster did not respond to. The probe asks for the same, because a cluster may respond to a simpler
 *           request
 * @param since the start of the outage, in monotonic milliseconds, like all times here
 * @param nextAt the time of the next probe
 * @param probe the pending probe; no trigger waits for it, so that an outage delays only one trigger
 */
private[source] final case class Outage(
    of: Outage.Request,
    since: Long,
    attempts: Int,
    nextAt: Long,
    probe: Option[CompletableFuture[_]],
    cause: Throwable
) {

  /** Called by each trigger: returns `Right` if the cluster responds again, otherwise the new state of the outage. */
  def look(now: Long, ask: () => CompletableFuture[_]): Either[Outage, Unit] = probe match {
    case Some(answer) if !answer.isDone => Left(this)
    case Some(answer) if answer.isCompletedExceptionally => Left(failedAgain(now, answer))
    case Some(_) => Right(())
    case None if now >= nextAt => Left(copy(probe = Some(ask())))
    case None => Left(this)
  }

  /** After another failure: the pause before the next probe is longer. */
  def again(now: Long, error: Throwable): Outage =
    Outage(of, since, attempts + 1, now + Backoff.OfClusters.pauseMs(attempts + 1), None, error)

  private def failedAgain(now: Long, answer: CompletableFuture[_]): Outage =
    again(now, Outage.causeOf(answer).getOrElse(cause))
}

private[source] object Outage {
  sealed trait Request
  object Request {
    case object Topics extends Request
    case object Offsets extends Request
  }

  def begin(of: Request, now: Long, cause: Throwable): Outage =
    Outage(of, now, 1, now + Backoff.OfClusters.pauseMs(1), None, cause)

  private def causeOf(answer: CompletableFuture[_]): Option[Throwable] =
    Futures.failure(answer)
}

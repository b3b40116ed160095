package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock}

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
  def after(now: Long, ask: () => CompletableFuture[_]): Either[Outage, Unit] = probe match {
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
    case object Times extends Request
  }

  def begin(of: Request, now: Long, cause: Throwable): Outage =
    Outage(of, now, 1, now + Backoff.OfClusters.pauseMs(1), None, cause)

  private def causeOf(answer: CompletableFuture[_]): Option[Throwable] =
    Futures.failure(answer)
}

/**
 * The unreachable clusters of one query, and what `clusterFailurePolicy` says about them. Used only by the thread of the
 * query.
 *
 * @param skipUnreachable whether to continue without unreachable clusters
 * @param failureTimeoutMs how long to continue without a cluster, in milliseconds; -1: forever
 * @param stream returns an open cluster
 */
private[cluster] final class Outages(
    skipUnreachable: Boolean,
    failureTimeoutMs: Long,
    clock: Clock,
    stream: String => ClusterStream
) {
  import Outages._

  private var outages = Map.empty[String, Outage]

  def ids: Set[String] = outages.keySet

  def retain(ids: Set[String]): Unit = outages = outages.filter { case (id, _) => ids(id) }

  /** Ends outages of other clusters that did not return offsets, because they are not asked for any now. */
  def retainOffsets(asked: Set[String]): Unit = outages = outages.filter { case (id, o) =>
    o.of != Outage.Request.Offsets || asked(id)
  }

  /** Whether the cluster is still out. Sends a probe when its pause is over, and does not wait for it. */
  def isOut(request: Outage.Request, id: String, ask: () => CompletableFuture[_]): Boolean =
    outages.get(id).exists { outage =>
      val now = clock.monotonicMs()
      val next =
        if (outage.of == request) outage.after(now, ask)
        // Offsets are what the query needs, and a cluster that lists its topics may not give them.
        else if (request == Outage.Request.Offsets) outage.copy(of = request, probe = None).after(now, ask)
        else Left(outage)
      next match {
        // The cluster may still reject the requests of the query: the outage ends with the first successful one.
        case Right(_) => false
        case Left(still) =>
          outages += id -> still
          if (failureTimeoutMs >= 0 && clock.monotonicMs() - still.since >= failureTimeoutMs)
            throw stream(id).failure(still.cause)
          true
      }
    }

  /** @throws DynamicKafkaRuntimeException if the query does not continue without the cluster */
  def failed(request: Outage.Request, id: String, error: Throwable): Unit = {
    val cluster = stream(id)
    if (!skipUnreachable) throw cluster.failure(error)
    val now = clock.monotonicMs()
    if (!outages.contains(id))
      log.warn(
        "Kafka cluster '{}' ({}) is unreachable; the query continues without it and retries: {}",
        id,
        cluster.config.bootstrapServers,
        cluster.explain(error)
      )
    outages += id -> outages.get(id).fold(Outage.begin(request, now, error))(_.again(now, error))
  }

  def ended(id: String): Unit = outages.get(id).foreach { outage =>
    log.info("Kafka cluster '{}' is reachable again after {} ms", id, clock.monotonicMs() - outage.since)
    outages -= id
  }
}

private[cluster] object Outages {
  private val log = LoggerFactory.getLogger(classOf[Outages])
}

package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.time.{Backoff, Clock}

/**
 * Commits of one cluster to the consumer group: one at a time, in order, and of those that come meanwhile only the
 * newest waits. After a failure the next one waits as well, for longer each time.
 *
 * Offered to by the query's thread, which is never held up; answered on threads of Kafka's clients.
 *
 * @param send begins a commit; its answer has to come in bounded time
 * @param tell told of each commit that has ended: its error, or none
 */
private[source] final class GroupCommitQueue(
    send: Positions => CompletableFuture[Unit],
    tell: Option[Throwable] => Unit,
    clock: Clock
) {
  import GroupCommitQueue._

  private var done: Option[Positions] = None
  private var underWay: Option[Positions] = None
  private var waiting: Option[Positions] = None
  private var failures = 0
  private var nextAt = 0L
  private var closing = false
  private var idle: CompletableFuture[Unit] = Nothing

  /** A batch that ends here is finished. Costs nothing where that has been committed already. */
  def offer(positions: Positions): Unit = synchronized {
    if (!closing && positions.nonEmpty) {
      waiting = Some(positions).filterNot(underWay.orElse(done).contains)
      proceed()
    }
  }

  /** Whether an answer can be hoped for that is worth waiting for. */
  def isBusy: Boolean = synchronized(underWay.nonEmpty && failures == 0)

  /** Takes no more. Completes when nothing is under way; what waits is sent first, where the cluster takes commits. */
  def finish(): CompletableFuture[Unit] = synchronized {
    closing = true
    if (failures > 0) waiting = None
    idle
  }

  private def proceed(): Unit = if (underWay.isEmpty && waiting.nonEmpty && clock.monotonicMs() >= nextAt) {
    if (idle.isDone) idle = new CompletableFuture[Unit]
    underWay = waiting
    waiting = None
    val answer =
      try send(underWay.get)
      catch { case NonFatal(e) => CompletableFuture.failedFuture[Unit](e) }
    val _ = answer.whenComplete((_, error) => answered(Option(error)))
  }

  private def answered(error: Option[Throwable]): Unit = {
    tell(error)
    synchronized {
      if (error.isEmpty) {
        done = underWay
        failures = 0
      } else {
        failures += 1
        nextAt = clock.monotonicMs() + Backoff.OfClusters.pauseMs(failures)
        if (closing) waiting = None
      }
      underWay = None
      proceed()
      if (underWay.isEmpty) { val _ = idle.complete(()) }
    }
  }
}

private[source] object GroupCommitQueue {
  private val Nothing: CompletableFuture[Unit] = CompletableFuture.completedFuture(())
}

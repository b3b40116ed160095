package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock}
import io.github.dynamickafka.offset.Positions

/**
 * The queue of group commits of one cluster: one commit at a time, in order. Of the commits that are offered meanwhile,
 * only the newest one is queued. After a failure, the next commit waits for a pause that doubles with each failure.
 *
 * The thread of the query offers commits and never blocks. Responses arrive on threads of the Kafka clients.
 *
 * @param send starts a commit, which must complete within a time limit
 * @param tell called at the end of each commit with its error, or None
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

  /** Queues the end positions of a completed batch. Does nothing if they are already committed or pending. */
  def offer(positions: Positions): Unit = synchronized {
    if (!closing && positions.nonEmpty) {
      waiting = Some(positions).filterNot(underWay.orElse(done).contains)
      proceed()
    }
  }

  /**
   * Accepts no more commits. Completes when none is pending; a queued commit is sent first. Does not wait for a cluster that refused the last
   * one.
   */
  def finish(): CompletableFuture[Unit] = synchronized {
    closing = true
    if (failures == 0) idle
    else {
      waiting = None
      Nothing
    }
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
  private val NoGroup = "no consumer group is set: set 'commitGroupId', or 'kafka.group.id' for all clusters"
  private val Nothing: CompletableFuture[Unit] = CompletableFuture.completedFuture(())

  /**
   * The queue of a cluster, whose commits are counted.
   *
   * @param ask sends a request within the time limit of the cluster
   */
  def of(
      stream: ClusterStream,
      ask: (ClusterStream => CompletableFuture[Unit]) => CompletableFuture[Unit],
      commitCounter: CommitCounter,
      clock: Clock
  ): GroupCommitQueue = {
    val group = stream.config.committedGroup.getOrElse("")
    def send(positions: Positions): CompletableFuture[Unit] =
      if (group.isEmpty) CompletableFuture.failedFuture(new RuntimeException(NoGroup))
      else ask(_.admin.commit(group, positions))
    def tell(error: Option[Throwable]): Unit = error.map(Futures.cause) match {
      case None => commitCounter.succeeded(stream.id, group)
      case Some(e) => commitCounter.failed(stream.id, group, stream.explain(e))
    }
    new GroupCommitQueue(send, tell, clock)
  }
}

/**
 * The number of group commits since the query started. A commit is one request with all offsets of one cluster.
 */
private[source] final case class CommitCounts(succeeded: Long = 0L, failed: Long = 0L) {
  def +(that: CommitCounts): CommitCounts = CommitCounts(succeeded + that.succeeded, failed + that.failed)
}

/** Counts commits, and logs the first failure, a failure with another reason, and the recovery. Thread-safe. */
private[source] final class CommitCounter {
  import CommitCounter._

  private var counts = Map.empty[String, CommitCounts]
  private var failing = Map.empty[String, String]

  def of(cluster: String): CommitCounts = synchronized(counts.getOrElse(cluster, CommitCounts()))
  def total: CommitCounts = synchronized(counts.valuesIterator.foldLeft(CommitCounts())(_ + _))

  def succeeded(cluster: String, group: String): Unit = synchronized {
    counts += cluster -> (of(cluster) + CommitCounts(succeeded = 1L))
    if (failing.contains(cluster)) {
      failing -= cluster
      log.info("Kafka cluster '{}' accepts offset commits of group '{}' again", cluster, group: Any)
    }
  }

  /** @param reason without secrets */
  def failed(cluster: String, group: String, reason: String): Unit = synchronized {
    counts += cluster -> (of(cluster) + CommitCounts(failed = 1L))
    if (!failing.get(cluster).contains(reason)) {
      failing += cluster -> reason
      log.warn(
        "Kafka cluster '{}' rejected the offset commit of group '{}': {}; the query continues and retries",
        cluster,
        group,
        reason
      )
    }
  }
}

private[source] object CommitCounter {
  private val log = LoggerFactory.getLogger(classOf[CommitCounter])
}

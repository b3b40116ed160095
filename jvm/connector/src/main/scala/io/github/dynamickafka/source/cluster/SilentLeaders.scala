package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{RetriableException, UnknownTopicOrPartitionException}

import io.github.dynamickafka.kafka.ClientCloser
import io.github.dynamickafka.source.client.{ClusterClient, ListedOffset}
import io.github.dynamickafka.time.{Backoff, Clock}

/**
 * The partitions of one cluster whose leaders did not respond. They are asked again with growing pauses, each time with
 * a new client and for what the triggers need, and no trigger waits for them. Thread-safe.
 */
private[source] final class SilentLeaders(
    connect: () => ClusterClient,
    config: ClusterConfig,
    attemptMs: Long,
    clock: Clock
) extends AutoCloseable {
  import SilentLeaders._

  private var silent = Map.empty[TopicPartition, SilentLeader]
  private var probe: Option[Probe] = None
  private var failures = 0
  private var nextAt = 0L
  private var isClosed = false

  /** The partitions that are still silent. Called by each request; may open a client. */
  def look(): Map[TopicPartition, SilentLeader] = synchronized {
    val now = clock.monotonicMs()
    probe.foreach { running =>
      silent --= running.answered
      if (silent.isEmpty || running.until <= now || running.isDone) end(running, now)
    }
    if (silent.isEmpty) failures = 0
    else if (probe.isEmpty && now >= nextAt && !isClosed) begin(now)
    silent
  }

  /** Whether [[look]] may open a client. */
  def isProbing: Boolean = synchronized(silent.nonEmpty)

  /** Sets the silent partitions after the response to a trigger. */
  def found(now: Map[TopicPartition, SilentLeader]): Unit = synchronized { silent = now }

  override def close(): Unit = {
    val last = synchronized {
      isClosed = true
      val running = probe
      probe = None
      running
    }
    last.foreach(_.client.close())
  }

  private def begin(now: Long): Unit =
    try {
      val client = connect()
      val asked = silent.keysIterator.map(_ -> OffsetSpec.latest).toMap
      probe = Some(Probe(client, client.offsets(asked, config.isolation), now + attemptMs))
    } catch { case NonFatal(_) => pause(now) }

  private def end(running: Probe, now: Long): Unit = {
    ClientCloser.close(running.client)
    probe = None
    pause(now)
  }

  private def pause(now: Long): Unit = {
    failures += 1
    nextAt = now + Backoff.OfClusters.pauseMs(failures)
  }
}

private[source] object SilentLeaders {

  private final case class Probe(
      client: ClusterClient,
      answers: Map[TopicPartition, CompletableFuture[ListedOffset]],
      until: Long
  ) {
    def isDone: Boolean = answers.values.forall(_.isDone)

    /** Any final answer counts: the next trigger gets it too, and decides. */
    def answered: Set[TopicPartition] = answers.collect {
      case (tp, answer) if answer.isDone && !Futures.failure(answer).exists(isTransient) => tp
    }.toSet
  }

  private def isTransient(e: Throwable): Boolean =
    e.isInstanceOf[RetriableException] && !e.isInstanceOf[UnknownTopicOrPartitionException]
}

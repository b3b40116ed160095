package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{RetriableException, UnknownTopicOrPartitionException}

import io.github.dynamickafka.kafka.{ClientCloser, ClientOpener}
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
  // One at a time, also if it takes longer than a probe.
  private var opening: CompletableFuture[_] = CompletableFuture.completedFuture(())
  private var failures = 0
  private var nextAt = 0L
  private var isClosed = false

  /** The partitions that are still silent. Called by each request; never waits. */
  def current(): Map[TopicPartition, SilentLeader] = synchronized {
    val now = clock.monotonicMs()
    probe.foreach { running =>
      silent --= running.answered
      if (silent.isEmpty || running.until <= now || running.isDone) end(running, now)
    }
    if (silent.isEmpty) failures = 0
    else if (probe.isEmpty && now >= nextAt && !isClosed) begin(now)
    silent
  }

  /** Sets the silent partitions after the response to a trigger. */
  def found(now: Map[TopicPartition, SilentLeader]): Unit = synchronized { silent = now }

  override def close(): Unit = {
    val last = synchronized {
      isClosed = true
      val running = probe
      probe = None
      running
    }
    last.foreach(_.close())
  }

  private def begin(now: Long): Unit = if (opening.isDone) {
    val asked = silent.keysIterator.map(_ -> OffsetSpec.latest).toMap
    val client = ClientOpener.open(connect())
    opening = client
    probe = Some(Probe(client, client.thenApply(_.offsets(asked, config.isolation)), now + attemptMs))
  }

  private def end(running: Probe, now: Long): Unit = {
    running.close()
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
      client: CompletableFuture[ClusterClient],
      answers: CompletableFuture[Map[TopicPartition, CompletableFuture[ListedOffset]]],
      until: Long
  ) {
    private def sent: Map[TopicPartition, CompletableFuture[ListedOffset]] =
      if (answers.isDone) Futures.outcome(answers).getOrElse(Map.empty) else Map.empty

    def isDone: Boolean = answers.isDone && sent.values.forall(_.isDone)

    /** Any final answer counts: the next trigger gets it too, and decides. */
    def answered: Set[TopicPartition] = sent.collect {
      case (tp, answer) if answer.isDone && !Futures.failure(answer).exists(isTransient) => tp
    }.toSet

    /** Does not wait, also if the client is still being opened. */
    def close(): Unit = { val _ = client.thenAccept(ClientCloser.close(_)) }
  }

  private def isTransient(e: Throwable): Boolean =
    e.isInstanceOf[RetriableException] && !e.isInstanceOf[UnknownTopicOrPartitionException]
}

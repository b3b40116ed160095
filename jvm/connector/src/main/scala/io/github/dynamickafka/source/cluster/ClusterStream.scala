package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, Executor, TimeUnit, TimeoutException}

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{ApiException, RetriableException, UnknownTopicOrPartitionException}

import io.github.dynamickafka.base.{Backoff, Clock, Redaction}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClusterClient, ClusterClients, ClusterFailure, ListedOffset}
import io.github.dynamickafka.offset.ClusterView

/**
 * One cluster of the topology, with its admin client.
 *
 * Created for one [[ClusterConfig]] and never modified. Requests are thread-safe and never wait; only the thread of the query closes it.
 *
 * @param clients makes the clients, which other queries may share
 */
private[source] final class ClusterStream(
    val id: String,
    val config: ClusterConfig,
    clock: Clock,
    clients: ClusterClients = ClusterClients.OfDriver
) {
  import ClusterStream._

  // Made for the first request.
  private var made: Option[ClusterAdmin] = None
  @volatile private var commitQueue: Option[GroupCommitQueue] = None
  private var isClosed = false
  private val silent = new SilentLeaders(clients, config, clock)

  /**
   * Several attempts within the request timeout of the cluster, each with a new client: a client may wait for a broker
   * that is gone until its own timeout.
   *
   * @param executor runs the attempts
   */
  def ask(question: ClusterQuestion, executor: Executor): CompletableFuture[ClusterView.Reachable] = {
    // An incomplete response has to arrive before the timeout of the cluster.
    val marginMs = math.min(MaxMarginMs, config.requestTimeoutMs / 10)
    val until = clock.monotonicMs() + config.requestTimeoutMs - marginMs
    attempt(question, executor, until, new FunctionCalls(id, () => until - clock.monotonicMs()))
  }

  private def attempt(
      question: ClusterQuestion,
      executor: Executor,
      until: Long,
      functions: FunctionCalls
  ): CompletableFuture[ClusterView.Reachable] =
    retrying(executor, until) { admin =>
      val spared = if (question.complete) Map.empty[TopicPartition, Unanswered] else silent.current()
      admin.ask(question, spared, until, functions).thenApply[ClusterAnswer] { answer =>
        silent.found(answer.silent)
        // The client would ask the same leaders again, also when there are others.
        if (answer.silent.exists { case (tp, leader) => !spared.get(tp).contains(leader) }) renew(admin)
        answer
      }
    }.thenCompose[ClusterView.Reachable] { answer =>
      if (question.complete && answer.view.unanswered.nonEmpty && !isOver(until))
        later(executor)(attempt(question, executor, until, functions))
      else CompletableFuture.completedFuture(answer.view)
    }

  private def isOver(until: Long) = clock.monotonicMs() + RetryMs >= until

  /**
   * Asks again, with a new client, after an error that may pass. While the client is made, nothing is asked: it would send the requests of
   * attempts that were given up meanwhile.
   */
  private def retrying[A](executor: Executor, until: Long)(
      ask: ClusterAdmin => CompletableFuture[A]
  ): CompletableFuture[A] = {
    val used = admin
    used.client.made.thenCompose[A](_ => ask(used)).exceptionallyCompose { e =>
      val error = Futures.cause(e)
      if (isTransient(error) && !isOver(until)) {
        renew(used)
        later(executor)(retrying(executor, until)(ask))
      } else CompletableFuture.failedFuture[A](error)
    }
  }

  /**
   * The first record of each of these times or later, by several attempts as [[ask]].
   *
   * @param executor runs the attempts
   */
  def times(asked: Map[TopicPartition, Long], executor: Executor): CompletableFuture[ClusterStream.Times] =
    retrying(executor, clock.monotonicMs() + config.requestTimeoutMs)(_.times(asked))

  private def later[A](executor: Executor)(next: => CompletableFuture[A]): CompletableFuture[A] =
    CompletableFuture.completedFuture(()).thenComposeAsync[A](
      (_: Unit) => next,
      CompletableFuture.delayedExecutor(RetryMs, TimeUnit.MILLISECONDS, executor)
    )

  /** The queue for the offsets of completed batches; created once, by the thread of the query. */
  def commits(make: => GroupCommitQueue): GroupCommitQueue = commitQueue.getOrElse {
    val made = make
    commitQueue = Some(made)
    made
  }

  /** Closes after a pending commit, which has a time limit. Completes when the clients are given up. */
  def close(): CompletableFuture[Unit] =
    commitQueue.fold(CompletableFuture.completedFuture(()))(_.finish()).thenApply[Unit] { _ =>
      silent.close()
      synchronized {
        isClosed = true
        made.foreach(_.client.close())
        made = None
      }
    }

  /** The message of an error of this cluster for users, without secrets. */
  def explain(error: Throwable): String =
    ClusterFailure.explain(error, config.requestTimeoutMs, config.properties.client)

  /** The error that fails the query, for an exception of a client of this cluster. Waits for the addresses that do not answer. */
  def failure(error: Throwable): Errors.Runtime =
    ClusterFailure(
      id,
      config.bootstrapServers,
      error,
      ClusterFailure.located(explain(error), error, config.properties.admin),
      safe(error)
    )

  /** The exception of a client without secrets, as the cause of another error: it may contain properties. */
  def safe(error: Throwable): Throwable = Redaction.scrub(error, config.properties.client)

  /** The admin client; another one after one that could not be made. */
  def admin: ClusterAdmin = synchronized {
    // Otherwise a pending request would try again, and make another client.
    if (isClosed) throw new IllegalStateException(s"the clients of cluster '$id' are closed")
    made.filterNot(_.client.opening.isBroken).getOrElse {
      made.foreach(_.client.close())
      val admin =
        new ClusterAdmin(id, config, clients.connect(config.properties.admin, config.requestTimeoutMs), clock)
      made = Some(admin)
      admin
    }
  }

  /** Later requests use a new client. One that is being made is kept: another one would hang as well. */
  private def renew(used: ClusterAdmin): Unit = synchronized {
    if (made.contains(used) && !used.client.opening.isBeingMade) {
      made = None
      used.client.abandon()
      used.retire()
    }
  }
}

private[source] object ClusterStream {

  /** The first record of a time or later, by partition. */
  type Times = Map[TopicPartition, ListedOffset]

  private val MaxMarginMs = 1000L
  private val RetryMs = 250L

  private def isTransient(e: Throwable): Boolean = e match {
    case _: TimeoutException | _: RetriableException | _: LeaderMoved => true
    case _ => false
  }
}

/**
 * The partitions of one cluster whose leaders did not respond. They are asked again with growing pauses, each time with
 * a new client and for what the triggers need, and no trigger waits for them. Thread-safe.
 */
private[source] final class SilentLeaders(
    clients: ClusterClients,
    config: ClusterConfig,
    clock: Clock
) extends AutoCloseable {
  import SilentLeaders._

  private var silent = Map.empty[TopicPartition, Unanswered]
  private var probe: Option[Probe] = None
  private var failures = 0
  private var nextAt = 0L
  private var isClosed = false

  /** The partitions that are still silent. Called by each request; never waits. */
  def current(): Map[TopicPartition, Unanswered] = synchronized {
    val now = clock.monotonicMs()
    probe.foreach { running =>
      silent --= running.answered
      // A client that is still being made is waited for: another one would hang as well.
      if (!running.client.opening.isBeingMade && (silent.isEmpty || running.until <= now || running.isDone)) {
        end()
        failures += 1
        nextAt = now + Backoff.OfClusters.pauseMs(failures)
      }
    }
    if (silent.isEmpty) failures = 0
    else if (probe.isEmpty && now >= nextAt && !isClosed) {
      val client = clients.alone(config.properties.admin, config.requestTimeoutMs)
      val asked = silent.keysIterator.map(_ -> OffsetSpec.latest).toMap
      probe = Some(Probe(client, client.offsets(asked, config.isolation), now + config.attemptMs))
    }
    silent
  }

  /** Sets the silent partitions after the response to a trigger. */
  def found(now: Map[TopicPartition, Unanswered]): Unit = synchronized { silent = now }

  override def close(): Unit = synchronized {
    isClosed = true
    end()
  }

  private def end(): Unit = {
    probe.foreach(_.client.close())
    probe = None
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
      case (tp, answer) if answer.isDone && Futures.failure(answer).forall(isAnswer) => tp
    }.toSet
  }

  /** Whether a broker has given it, and not a client that could not be made. */
  private def isAnswer(e: Throwable): Boolean = e match {
    case _: UnknownTopicOrPartitionException => true
    case _: RetriableException => false
    case other => other.isInstanceOf[ApiException]
  }
}

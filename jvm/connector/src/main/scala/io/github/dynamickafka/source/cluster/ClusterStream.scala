package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, Executor, TimeUnit, TimeoutException}

import scala.util.control.NonFatal

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{RetriableException, UnknownTopicOrPartitionException}

import io.github.dynamickafka.base.{Backoff, Clock, Redaction}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientCloser, ClientOpener, ClusterFailure}
import io.github.dynamickafka.offset.{ClusterView, Positions}

/**
 * One cluster of the topology, with its admin client.
 *
 * Created for one [[ClusterConfig]] and never modified. Requests are thread-safe; only the thread of the query closes it.
 *
 * @param connect opens a client, which others may share
 * @param alone opens a client that is not shared, if `connect` does
 */
private[source] final class ClusterStream(
    val id: String,
    val config: ClusterConfig,
    clock: Clock,
    connect: ClusterConfig => ClusterClient = config => new AdminClusterClient(config.properties.admin),
    alone: Option[ClusterConfig => ClusterClient] = None
) {
  import ClusterStream._

  // Opened by the first request.
  private var admin: Option[CompletableFuture[ClusterAdmin]] = None
  private var kafkaId: Option[CompletableFuture[String]] = None
  @volatile private var commitQueue: Option[GroupCommitQueue] = None
  private var isClosed = false
  private val silent =
    new SilentLeaders(() => alone.getOrElse(connect)(config), config, config.attemptMs, clock)

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
  ): CompletableFuture[ClusterView.Reachable] = {
    val leaderMs = if (question.complete) config.attemptMs else math.min(config.attemptMs, LeaderMs)
    val patience = Patience(config.attemptMs, leaderMs, until)
    retrying(executor, until) { admin =>
      val spared = if (question.complete) Map.empty[TopicPartition, SilentLeader] else silent.current()
      admin.ask(question, spared, patience, functions).thenApply[ClusterAnswer] { answer =>
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
  }

  private def isOver(until: Long) = clock.monotonicMs() + RetryMs >= until

  /** Asks again, with a new client, after an error that may pass. */
  private def retrying[A](executor: Executor, until: Long)(
      ask: ClusterAdmin => CompletableFuture[A]
  ): CompletableFuture[A] = using { admin =>
    ask(admin).exceptionallyCompose { e =>
      val error = Futures.cause(e)
      if (isTransient(error) && !isOver(until)) {
        renew(admin)
        later(executor)(retrying(executor, until)(ask))
      } else CompletableFuture.failedFuture[A](error)
    }
  }

  def topics: CompletableFuture[Set[String]] = using(_.client.topics)

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

  /** The `cluster.id` of Kafka. Requested once; a failure is not cached. */
  def kafkaClusterId: CompletableFuture[String] =
    synchronized(kafkaId).filterNot(_.isCompletedExceptionally).getOrElse(kafkaClusterIdNow)

  /** The `cluster.id` of Kafka, requested again. */
  def kafkaClusterIdNow: CompletableFuture[String] = synchronized {
    val answer = using(_.client.clusterId)
    kafkaId = Some(answer)
    answer
  }

  /** The topic ids of Kafka of these topics, without topics that do not exist. */
  def topicIds(topics: Set[String]): CompletableFuture[Map[String, String]] = using(_.topicIds(topics))

  def commit(group: String, positions: Positions): CompletableFuture[Unit] =
    using(_.commit(group, positions))

  /** The queue for the offsets of completed batches; created once, by the thread of the query. */
  def commits(make: => GroupCommitQueue): GroupCommitQueue = commitQueue.getOrElse {
    val made = make
    commitQueue = Some(made)
    made
  }

  /** Whether [[close]] would wait for a commit. */
  def isCommitting: Boolean = commitQueue.exists(_.isBusy)

  /** Waits for a pending commit, at most for its time limit. */
  def close(): Unit = {
    commitQueue.foreach(_.finish().join())
    silent.close()
    val last = synchronized {
      isClosed = true
      val opened = admin
      admin = None
      opened
    }
    last.foreach { opened =>
      if (opened.isDone) Futures.outcome(opened).foreach(_.client.close())
      // Not waited for: it may never be open.
      else opened.thenAccept(late => ClientCloser.close(late.client))
    }
  }

  /** The message of an error of this cluster for users, without secrets. */
  def explain(error: Throwable): String = Redaction.scrub(
    error match {
      case _: TimeoutException => s"no response within ${config.requestTimeoutMs} ms"
      case other => ClusterFailure.text(other)
    },
    config.properties.client
  )

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

  /**
   * Never waits. Who has waited for the client for as long as a request may take gets an error, and its request is not sent
   * later: by then, it may be outdated.
   */
  private def using[A](f: ClusterAdmin => CompletableFuture[A]): CompletableFuture[A] =
    opened().copy().orTimeout(config.requestTimeoutMs, TimeUnit.MILLISECONDS).thenCompose[A] { admin =>
      try f(admin)
      catch { case NonFatal(e) => CompletableFuture.failedFuture(e) }
    }

  private def opened(): CompletableFuture[ClusterAdmin] = {
    val (current, isNew) = synchronized {
      // Otherwise a pending request would try again, and open another client.
      if (isClosed)
        (
          CompletableFuture.failedFuture[ClusterAdmin](
            new IllegalStateException(s"the clients of cluster '$id' are closed")
          ),
          false
        )
      else
        admin.fold {
          val opening = ClientOpener.open(new ClusterAdmin(id, config, connect(config), clock))
          admin = Some(opening)
          (opening, true)
        }((_, false))
    }
    // The next request tries again.
    if (isNew)
      current.whenComplete((_, e) => synchronized { if (e != null && admin.contains(current)) admin = None })
    current
  }

  /** Later requests use a new client. */
  private def renew(used: ClusterAdmin): Unit = {
    val isReplaced = synchronized {
      val isCurrent = admin.exists(opened => opened.isDone && Futures.outcome(opened).contains(used))
      if (isCurrent) {
        admin = None
        kafkaId = None
        used.client.abandon()
      }
      isCurrent
    }
    if (isReplaced) ClientCloser.close(() => used.retire())
  }
}

private[source] object ClusterStream {

  /** The first record of a time or later, by partition. */
  type Times = Map[TopicPartition, ListedOffset]

  private val MaxMarginMs = 1000L
  private val RetryMs = 250L

  /**
   * How long a trigger waits for the leader of a partition when other partitions have responded: once, since later
   * triggers do not wait for a leader that did not respond.
   */
  private val LeaderMs = 5000L

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

package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, ExecutorService, Executors, TimeUnit}

import scala.collection.immutable.SortedMap

import org.apache.kafka.common.TopicPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Backoff, Clock, DaemonThreads}
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.offset.{ClusterIdentity, ClusterView, CompositeOffset, Positions}

/**
 * The open clusters of one query. Opens and closes only clusters that changed, and sends requests to all clusters at
 * once.
 *
 * Used only by the thread of the query, which never waits longer than the request timeout of the clusters. An interrupt
 * ends the wait. It waits for the first responses of a run, and for responses that decide something for good. Other clusters are read
 * while a cluster or a topic enters, and all other questions are asked ahead of the triggers.
 *
 * @param skipUnreachable whether to continue without unreachable clusters
 * @param failureTimeoutMs how long to continue without a cluster, in milliseconds; -1: forever
 * @param maxAgeMs how old a response may be that was requested ahead of a trigger; 0: each trigger waits
 */
private[source] final class ClusterStreams(
    open: (String, ClusterConfig) => ClusterStream,
    skipUnreachable: Boolean,
    failureTimeoutMs: Long,
    clock: Clock,
    maxAgeMs: Long = 0L
) extends ClusterReads
    with AutoCloseable {
  import ClusterStreams._

  private var streams = Map.empty[String, ClusterStream]
  private val outages = new Outages(skipUnreachable, failureTimeoutMs, clock, streams(_))
  // Start positions are resolved when a topic enters.
  private val agents = new LatestAnswers(
    (id, question) =>
      limited(streams(id))(request(_, question.copy(when = ClusterQuestion.Ahead, entering = Map.empty))),
    maxAgeMs,
    clock
  )

  /** Requests about what enters, beside which the other clusters are read, by cluster. */
  private var entries = Map.empty[String, Sent[ClusterQuestion, Answer]]
  private val idleTriggers = new IdleTriggers[Map[String, ClusterQuestion], Map[String, ClusterView]](
    () =>
      if (outages.ids.isEmpty && entries.valuesIterator.forall(_.answer.isDone)) agents.unchangedUntil
      else Long.MinValue,
    clock
  )
  private var loggedLate = Set.empty[String]
  private var closing = Iterable.empty[CompletableFuture[Unit]]
  // Requests do not block: a thread for each of a thousand clusters would only cost.
  private lazy val nonBlockingThreads: ExecutorService =
    Executors.newFixedThreadPool(NonBlockingThreads, named)

  def unreachable: Set[String] = outages.ids

  /** The times of the responses to the last [[ask]]. */
  val times = new ResponseTimes(clock)

  /** Opens and closes clusters so that exactly these are open. Clusters with an unchanged configuration stay open. */
  def set(wanted: Map[String, ClusterConfig]): Unit = {
    val (same, other) = streams.partition { case (id, stream) => wanted.get(id).contains(stream.config) }
    streams = same ++ (wanted -- same.keySet).map { case (id, config) => id -> open(id, config) }
    outages.retain(same.keySet)
    agents.retain(same.keySet)
    entries = entries.filter { case (id, _) => same.contains(id) }
    loggedLate = loggedLate.filter(same.contains)
    times.retain(wanted.keySet)
    close(other.values)
  }

  /** Opens these clusters in addition, and reopens those whose configuration changed. */
  def add(wanted: Map[String, ClusterConfig]): Unit = set(streams.map { case (id, s) =>
    id -> s.config
  } ++ wanted)

  def apply(id: String): ClusterStream = streams(id)

  def ids: Set[String] = streams.keySet

  /**
   * Sends the requests to all clusters at once, and waits for those responses that cannot be used later. A cluster is
   * `Pending` if its response was not waited for and has not arrived.
   *
   * @param superseded returns true if one of the given clusters, which have not responded, has moved or left meanwhile,
   *                   so that waiting is useless; the result is then None
   * @param beside whether other clusters are read while a cluster or a topic enters
   * @throws DynamicKafkaRuntimeException `CLUSTER_UNREACHABLE`, `CLUSTER_AUTHENTICATION_FAILED`,
   *                                      `CLUSTER_AUTHORIZATION_FAILED`
   */
  def ask(
      questions: Map[String, ClusterQuestion],
      superseded: Set[String] => Boolean,
      beside: Boolean = true
  ): Option[Map[String, ClusterView]] = {
    times.begin()
    idleTriggers.answers(questions).orElse {
      outages.retainOffsets(questions.keySet)
      val views = askAll(questions, superseded, beside && asksAhead && agents.nonEmpty)
      views.foreach(idleTriggers.asked(questions, _))
      views
    }
  }

  /** Asks some of the clusters of [[ask]] again: their responses are requested now. */
  def askAfterwards(
      questions: Map[String, ClusterQuestion],
      superseded: Set[String] => Boolean
  ): Option[Map[String, ClusterView]] =
    askAll(
      questions.map { case (id, question) => id -> question.copy(when = ClusterQuestion.Afterwards) },
      superseded,
      beside = false
    )

  /** @param beside whether what enters is not waited for, because other clusters are read */
  private def askAll(
      questions: Map[String, ClusterQuestion],
      superseded: Set[String] => Boolean,
      beside: Boolean
  ): Option[Map[String, ClusterView]] = {
    val begun = clock.monotonicMs()
    val (ahead, others) = questions.partition { case (id, question) =>
      !outages.ids(id) && agents.takes(id, question)
    }
    agents.begin(ahead)
    // A cluster that does not respond would not respond to another question either.
    val (late, now) = others.partition { case (id, question) => !question.complete && agents.isLate(id) }
    def isBeside(id: String) = beside && !questions(id).complete && !outages.ids(id) &&
      (questions(id).entering.nonEmpty || !agents.knows(id))
    val (aside, waited) = now.partition { case (id, _) => isBeside(id) }
    enter(aside)
    for {
      answers <- askNow(waited, superseded, begun)
      found = agents.take(ahead) ++ late.map { case (id, _) => id -> agents.failure(id).toLeft(None) }
      (decides, enters) = found.partition { case (id, answer) =>
        answer.forall(_.forall(found => questions(id).isSettledBy(found.view)))
      }
      (more, rest) = questions.filter { case (id, _) => enters.contains(id) }
        .partition { case (id, _) => isBeside(id) }
      besides = aside ++ more
      // What does not enter any more has no request: its failure would be one of a later entry.
      _ = if (beside) entries = entries.filter { case (id, _) => besides.contains(id) }
      entered = entering(besides)
      if !superseded((decides ++ entered).collect { case (id, Left(_)) => id }.toSet)
      others <- askNow(rest, superseded, begun)
    } yield {
      for ((id, found) <- entered; answer <- found.toOption.flatten) {
        agents.learn(id, answer)
        // The next trigger asks again whether the topic exists.
        if (answer.question.entering.keys.exists(answer.view.missing)) entries -= id
      }
      answers ++ others ++ (decides ++ entered).map { case (id, found) => id -> viewOf(id, found, begun) }
    }
  }

  /** Sends requests about what enters, unless the same one is pending or was answered a moment ago. */
  private def enter(questions: Map[String, ClusterQuestion]): Unit = {
    val least = clock.monotonicMs() - maxAgeMs
    entries ++= questions.filterNot { case (id, question) =>
      entries.get(id).exists(holds(_, question, least))
    }.map { case (id, question) => id -> Sent(question, clock, limited(streams(id))(request(_, question))) }
  }

  /** Whether its response is one to this question, and not from before `least`. A failure holds until a trigger has seen it. */
  private def holds(sent: Sent[ClusterQuestion, Answer], asked: ClusterQuestion, least: Long): Boolean =
    asked.entering == sent.question.entering && asked.isSame(sent.question) &&
      (!sent.answer.isDone || Futures.outcome(sent.answer).forall(_.receivedAt >= least))

  /** The responses about what enters in these clusters, as far as they arrive within a moment. */
  private def entering(
      questions: Map[String, ClusterQuestion]
  ): Map[String, Either[Throwable, Option[Answer]]] = {
    enter(questions)
    val asked = entries.filter { case (id, _) => questions.contains(id) }
    asked.valuesIterator.map(_.sentAt).maxOption.foreach(last =>
      Futures.awaitUntil(
        CompletableFuture.allOf(asked.values.map(_.answer).toSeq: _*),
        last + AskedCluster.FreshMs,
        clock
      )
    )
    asked.map { case (id, sent) =>
      id -> (if (sent.answer.isDone) result(sent.answer).map(Some(_)) else Right(None))
    }
  }

  /** Waits for the responses of all of these clusters. */
  private def askNow(
      questions: Map[String, ClusterQuestion],
      superseded: Set[String] => Boolean,
      begun: Long
  ): Option[Map[String, ClusterView]] =
    gather(Outage.Request.Offsets, questions.keySet, superseded) { stream =>
      val question = questions(stream.id)
      Sent(question, clock, request(stream, question)).answer
    }.map(_.map {
      case (id, Some(answer)) =>
        agents.learn(id, answer)
        times.used(id, answer.sentAt, asked = begun)
        id -> answer.view
      case (id, None) =>
        agents.forget(id)
        id -> ClusterView.Unreachable
    })

  private def request(
      stream: ClusterStream,
      question: ClusterQuestion
  ): CompletableFuture[ClusterView.Reachable] = {
    // Concurrently, so that one time limit applies to both.
    val admin = stream.admin
    val kafkaId = kafkaIdOf(stream, if (question.isAfterwards) admin.kafkaIdNow else admin.kafkaId)
    stream.ask(question, nonBlockingThreads).thenCompose[ClusterView.Reachable](view =>
      kafkaId.thenCompose[String] { found =>
        // The id comes from the client that has answered, which may be another one than at first: an id that is known only later is logged by a
        // batch without records.
        if (found == null) kafkaIdOf(stream, stream.admin.kafkaId)
        else CompletableFuture.completedFuture(found)
      }.thenApply[ClusterView.Reachable](found => view.in(known(found)))
    )
  }

  /** null: it is not known yet. */
  private def kafkaIdOf(stream: ClusterStream, answer: CompletableFuture[String]): CompletableFuture[String] =
    answer.exceptionally(_ => null)
      .completeOnTimeout(null, stream.config.attemptMs, TimeUnit.MILLISECONDS)

  /** @param begun when the trigger began */
  private def viewOf(
      id: String,
      found: Either[Throwable, Option[Answer]],
      begun: Long
  ): ClusterView = found match {
    case Right(Some(answer)) =>
      times.used(id, answer.sentAt, asked = begun)
      logLate(id, isLate = false)
      answer.view
    case Right(None) =>
      if (agents.isLate(id)) logLate(id, isLate = true)
      ClusterView.Pending
    case Left(error) =>
      loggedLate -= id
      entries -= id
      agents.forget(id)
      outages.failed(Outage.Request.Offsets, id, error)
      ClusterView.Unreachable
  }

  private def logLate(id: String, isLate: Boolean): Unit =
    if (isLate && !loggedLate(id)) {
      loggedLate += id
      log.warn(
        "Kafka cluster '{}' ({}) has not responded for {} ms; the query continues with the other clusters{}",
        id,
        streams(id).config.bootstrapServers,
        maxAgeMs,
        if (skipUnreachable) ""
        else s", and fails if the cluster does not respond within ${streams(id).config.requestTimeoutMs} ms"
      )
    } else if (!isLate && loggedLate(id)) {
      loggedLate -= id
      log.info("Kafka cluster '{}' responds again", id)
    }

  /**
   * All topics of these clusters; None for an unreachable cluster. Otherwise like [[ask]].
   */
  def topics(
      ids: Set[String],
      superseded: Set[String] => Boolean
  ): Option[Map[String, Option[Set[String]]]] =
    gather(Outage.Request.Topics, ids, superseded)(_.admin.client.topics)

  /** The first records of these times or later, by cluster; None for one that does not respond. Waits for all of them. */
  def timesNow(asked: Map[String, Map[TopicPartition, Long]]): Map[String, Option[ClusterStream.Times]] =
    gather(Outage.Request.Times, asked.keySet, _ => false)(stream =>
      stream.times(asked(stream.id), nonBlockingThreads)
    ).getOrElse(Map.empty)

  override def read[A](reads: Map[String, ClusterConfig => A]): Map[String, Option[(Set[String], A)]] =
    if (reads.isEmpty) Map.empty
    else
      gather(Outage.Request.Times, reads.keySet, _ => false) { stream =>
        val ids = kafkaIdsOf(stream, Answers, Set.empty)
          .completeOnTimeout(Set.empty, stream.config.attemptMs, TimeUnit.MILLISECONDS)
        CompletableFuture.supplyAsync[A](() => reads(stream.id)(stream.config), named)
          .thenCombine[Set[String], (Set[String], A)](ids, (found, ids) => (ids, found))
      }.getOrElse(Map.empty)

  /** The ids in some answers of a cluster. A cluster that does not answer is not asked again. */
  private def kafkaIdsOf(
      stream: ClusterStream,
      answers: Int,
      found: Set[String]
  ): CompletableFuture[Set[String]] =
    if (answers == 0) CompletableFuture.completedFuture(found)
    else
      stream.admin.kafkaIdNow.exceptionally(_ => null).thenCompose[Set[String]](id =>
        kafkaIdsOf(stream, if (id == null) 0 else answers - 1, found ++ known(id))
      )

  /** Same as [[timesNow]] of one cluster, without waiting. A failure changes nothing. */
  def timesAhead(id: String, asked: Map[TopicPartition, Long]): CompletableFuture[ClusterStream.Times] =
    limited(streams(id))(_.times(asked, nonBlockingThreads))

  /** Whether clusters are asked ahead of the triggers. */
  def asksAhead: Boolean = maxAgeMs > 0

  /** Whether a cluster has not responded for longer than a response may be old. */
  def isLate(id: String): Boolean = agents.isLate(id)

  /** All topics of a cluster, without waiting. A failure changes nothing. */
  def topicsAhead(id: String): CompletableFuture[Set[String]] = limited(streams(id))(_.admin.client.topics)

  private def gather[A](
      request: Outage.Request,
      ids: Set[String],
      superseded: Set[String] => Boolean
  )(ask: ClusterStream => CompletableFuture[A]): Option[Map[String, Option[A]]] = {
    def send(id: String) = limited(streams(id))(ask)
    val reachable = ids.filter(id => !outages.isOut(request, id, () => send(id)))
    val answers = reachable.iterator.map(id => id -> send(id)).toMap
    if (!Futures.await(answers, superseded)) None
    else {
      val found = answers.map { case (id, answer) => id -> result(answer) }
      if (superseded(found.collect { case (id, Left(_)) => id }.toSet)) None
      else Some((ids -- reachable).iterator.map(_ -> Option.empty[A]).toMap ++ found.map {
        case (id, Right(answer)) =>
          outages.ended(id)
          id -> Some(answer)
        case (id, Left(error)) =>
          outages.failed(request, id, error)
          id -> None
      })
    }
  }

  /** What Kafka calls these clusters and topics, if they respond within their request timeout; all are asked at once. */
  def identities(topics: Map[String, Set[String]]): Map[String, Either[Throwable, ClusterIdentity]] = {
    val sent = topics.map { case (id, ofCluster) =>
      id -> limited(streams(id)) { stream =>
        // A user that may read a topic may describe it; if not, the task reports the topic.
        val ids = stream.admin.topicIds(ofCluster).exceptionally(_ => Map.empty[String, String])
        stream.admin.kafkaIdNow.thenCombine[Map[String, String], ClusterIdentity](
          ids,
          (found, topicIds) => ClusterIdentity(known(found), SortedMap.from(topicIds))
        )
      }
    }
    Futures.await(sent, _ => false)
    sent.map { case (id, answer) => id -> Futures.outcome(answer) }
  }

  /** The latest offsets of these topics, as far as the cluster responds. */
  def ends(id: String, topics: Set[String]): Positions = {
    val question = ClusterQuestion(topics, Positions.empty, Map.empty)
    val answer = limited(streams(id))(_.ask(question, nonBlockingThreads))
    Futures.await(Map(id -> answer), _ => false)
    Futures.outcome(answer).fold(_ => Positions.empty, _.ends)
  }

  /**
   * Commits the offsets that a query has reached to the consumer group of the cluster, without waiting: those in the logs that the cluster
   * has. Ignores a cluster that is not open, because it has left or is not required yet. A cluster closes after its last commit.
   *
   * @param view the response of the cluster: where it has another log under the name, nothing is committed
   */
  def commit(
      id: String,
      reached: CompositeOffset,
      view: ClusterView.Reachable,
      commitCounter: CommitCounter
  ): Unit = {
    val here = reached.position(id).filterTopics(reached.identity(id).isOf(view.identity))
    streams.get(id).filter(_ => here.nonEmpty).foreach { stream =>
      stream.commits(GroupCommitQueue.of(stream, limited(stream), commitCounter, clock)).offer(here)
    }
  }

  override def close(): Unit = {
    close(streams.values)
    streams = Map.empty
    val closed = CompletableFuture.allOf(closing.toSeq: _*)
    try Futures.awaitUntil(closed, clock.monotonicMs() + CommitWaitMs, clock)
    // The thread of a stopped query may be interrupted.
    catch { case _: InterruptedException => Thread.currentThread.interrupt() }
    // Not earlier, because a queued commit may still be sent.
    val _ = closed.whenComplete((_, _) => nonBlockingThreads.shutdown())
  }

  /** Asks within the time limit of the cluster. Never blocks. */
  private def limited[A](stream: ClusterStream)(
      ask: ClusterStream => CompletableFuture[A]
  ): CompletableFuture[A] =
    CompletableFuture.supplyAsync[CompletableFuture[A]](() => ask(stream), nonBlockingThreads)
      .thenCompose[A](answer => answer)
      .orTimeout(stream.config.requestTimeoutMs, TimeUnit.MILLISECONDS)

  /** A start or stopping position without an offset fails the query. */
  private def result[A](answer: CompletableFuture[A]): Either[Throwable, A] =
    Futures.outcome(answer).left.map {
      case e: DynamicKafkaIllegalArgumentException => throw e
      case other => other
    }

  private def close(gone: Iterable[ClusterStream]): Unit =
    closing = closing.filterNot(_.isDone) ++ gone.map(_.close())
}

/** Clusters of which more is read than a trigger asks. */
private[source] trait ClusterReads {

  /**
   * What is read of clusters, each on a thread of its own, with the `cluster.id` that each has in a few answers in a row; None for a
   * cluster that does not respond. Waits for all of them at once, and not longer than for other requests.
   */
  def read[A](reads: Map[String, ClusterConfig => A]): Map[String, Option[(Set[String], A)]]
}

private[source] object ClusterStreams {
  private[cluster] val log = LoggerFactory.getLogger(classOf[ClusterStreams])

  private val NonBlockingThreads = 4

  /** A cluster that is replaced behind its address may answer with either id for a while. */
  private val Answers = 3

  private val named = new DaemonThreads("dynamic-kafka-cluster")

  /** How long a stop waits for pending commits, because the process may exit right after it. */
  private val CommitWaitMs = 3000L

  private def known(kafkaId: String): Option[String] = Option(kafkaId).filter(_.nonEmpty)
}

/**
 * Recognizes the triggers of an idle query that would find the same as the last one, because no cluster has to be asked. Such a
 * trigger only pauses for some milliseconds: Spark begins one each 10 ms (`spark.sql.streaming.pollingDelay`), and its own
 * work for a trigger would be most of what an idle query costs. Used only by the thread of the query.
 *
 * @param until until when the responses of all clusters stay the same, in monotonic milliseconds
 */
private[source] final class IdleTriggers[Q <: AnyRef, V](until: () => Long, clock: Clock) {
  import IdleTriggers._

  private var last: Option[(Q, V)] = None
  private var endedAt = Long.MinValue

  /** Since when there has been no batch. */
  private var idleSince = Long.MinValue

  /** What the last trigger found, if this one asks the same: the same object of questions. */
  def answers(questions: Q): Option[V] =
    last.filter(_._1 eq questions).map(_._2).filter { _ =>
      val begun = clock.monotonicMs()
      val end = until()
      val isIdle = begins(begun)
      val isSame = begun < end
      val restMs = math.min(restOf(begun - idleSince), end - begun)
      // After a batch, which other sources of the query may have more to read for, it does not rest.
      if (isSame && isIdle) clock.pauseMs(restMs)
      endedAt = clock.monotonicMs()
      isSame && endedAt < until()
    }

  /** @param views what a trigger with these questions has found */
  def asked(questions: Q, views: V): Unit = {
    last = Some((questions, views))
    val _ = begins(clock.monotonicMs())
    endedAt = clock.monotonicMs()
  }

  /** Whether there was no batch since the last trigger. */
  private def begins(now: Long): Boolean = {
    val isIdle = endedAt != Long.MinValue && now - endedAt <= IdleMs
    if (!isIdle) idleSince = now
    isIdle
  }
}

private[source] object IdleTriggers {

  /**
   * A record that arrives meanwhile is found when its cluster is asked next, which the rest does not delay. It delays the
   * other sources of a query: therefore it is short compared with the time without a record.
   */
  private val RestMs = 15L
  private val LongestRestMs = 100L
  private def restOf(idleMs: Long): Long = math.min(LongestRestMs, math.max(RestMs, idleMs / 20))

  /** Longer than Spark waits between two triggers without records, shorter than a batch takes. */
  private val IdleMs = 40L
}

/** When the responses were requested that a trigger uses. All times are monotonic milliseconds. */
private[source] final class ResponseTimes(clock: Clock) {
  private var requested = Map.empty[String, Long]
  private var agesMs = Map.empty[String, Long]
  private var older = Set.empty[String]

  /** The clusters whose response was requested before the trigger that uses it. */
  def earlier: Set[String] = older

  /** The last request of each cluster that has had a response. */
  def requestedAt: Map[String, Long] = requested

  /** How old the responses are, by cluster that has responded: when the last trigger used them, if it did. */
  def ages: Map[String, Long] = {
    val now = clock.monotonicMs()
    requested.map { case (id, sentAt) => id -> agesMs.getOrElse(id, now - sentAt) }
  }

  /** A trigger begins. */
  def begin(): Unit = {
    older = Set.empty
    agesMs = Map.empty
  }

  /** @param asked since when requests count as those of this trigger */
  def used(id: String, sentAt: Long, asked: Long): Unit = {
    older = if (sentAt < asked) older + id else older - id
    agesMs += id -> (clock.monotonicMs() - sentAt)
    requested += id -> sentAt
  }

  def retain(ids: Set[String]): Unit = requested = requested.filter { case (id, _) => ids(id) }
}

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

  /** Called by each trigger: the new state; None if the cluster responds again. */
  def after(now: Long, ask: () => CompletableFuture[_]): Option[Outage] = probe match {
    case Some(answer) if answer.isDone => Futures.failure(answer).map(again(now, _))
    case None if now >= nextAt => Some(copy(probe = Some(ask())))
    case _ => Some(this)
  }

  /** After another failure: the pause before the next probe is longer. */
  def again(now: Long, error: Throwable): Outage =
    Outage(of, since, attempts + 1, now + Backoff.OfClusters.pauseMs(attempts + 1), None, error)
}

private[source] object Outage {
  sealed trait Request
  object Request {
    case object Topics extends Request
    case object Offsets extends Request
    case object Times extends Request
  }

  def begin(of: Request, now: Long, cause: Throwable): Outage =
    Outage(of, now, 0, now, None, cause).again(now, cause)
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
  import ClusterStreams.log

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
      // Offsets are what the query needs, and a cluster that lists its topics may not give them.
      val current =
        if (request == Outage.Request.Offsets && outage.of != request)
          outage.copy(of = request, probe = None)
        else outage
      val next = if (current.of == request) current.after(now, ask) else Some(current)
      // It may still reject the requests of the query: the outage ends with the first successful one.
      next.foreach { still =>
        outages += id -> still
        if (failureTimeoutMs >= 0 && clock.monotonicMs() - still.since >= failureTimeoutMs)
          throw stream(id).failure(still.cause)
      }
      next.isDefined
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

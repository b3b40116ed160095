package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import io.github.dynamickafka.base.{Backoff, Clock}
import io.github.dynamickafka.offset.ClusterView

/**
 * The clusters of one query that are asked ahead of the triggers, so that no trigger waits for a slow one. Triggers drive
 * it: each one uses the newest responses and sends the next requests. Used by the thread of the query only.
 *
 * @param ask sends a request to a cluster, whose response completes within a time limit
 * @param maxAgeMs how old a response may be that a trigger uses; 0: nothing is asked ahead
 */
private[source] final class LatestAnswers(
    ask: (String, ClusterQuestion) => CompletableFuture[ClusterView.Reachable],
    maxAgeMs: Long,
    clock: Clock
) {
  import LatestAnswers._

  private var clusters = Map.empty[String, AskedCluster]

  /** Whether a trigger can use responses to this question that were requested before. */
  def takes(id: String, question: ClusterQuestion): Boolean =
    question.isSteady && clusters.get(id).exists(_.takes(question))

  /** Whether a cluster has not responded for longer than a response may be old. */
  def isLate(id: String): Boolean = clusters.get(id).exists(_.isLate)

  /** Whether a cluster has responded. */
  def knows(id: String): Boolean = clusters.contains(id)

  /** Whether any cluster has responded. */
  def nonEmpty: Boolean = clusters.nonEmpty

  /**
   * Until when a trigger that asks all clusters the same as the last one would find the same, in monotonic milliseconds:
   * no request is pending or due, and there is nothing to read.
   */
  def unchangedUntil: Long =
    if (clusters.isEmpty) Long.MinValue else clusters.valuesIterator.map(_.unchangedUntil).min

  /** Forgets all other clusters. */
  def retain(ids: Set[String]): Unit = clusters = clusters.filter { case (id, _) => ids(id) }

  def forget(id: String): Unit = clusters -= id

  /** Takes a response that was waited for: later questions that are the same can be asked ahead. */
  def learn(id: String, answer: Answer): Unit =
    if (maxAgeMs > 0) clusters += id -> new AskedCluster(ask(id, _), maxAgeMs, clock, answer)

  /** Sends the next request to each of these clusters. */
  def begin(questions: Map[String, ClusterQuestion]): Unit = {
    val pauseMs =
      Seq(LongestPauseMs, math.max(1L, maxAgeMs / 2), math.max(1L, questions.size * PauseOfClusterMs)).min
    questions.foreach { case (id, question) =>
      if (clusters(id).failure().isEmpty) clusters(id).begin(question, pauseMs)
    }
  }

  /**
   * The newest response of each of these clusters; None for a cluster that has not responded in time. Waits a few
   * milliseconds for responses to the requests that were just sent. A cluster whose request has failed is forgotten.
   */
  def take(questions: Map[String, ClusterQuestion]): Map[String, Either[Throwable, Option[Answer]]] = {
    val isIdle = questions.forall { case (id, question) =>
      clusters(id).usable().isDefined && !clusters(id).hasNews(question)
    }
    questions.keysIterator.flatMap(clusters(_).awaited(isIdle)).toSeq.sortBy(_._2).foreach {
      case (answer, until) => Futures.awaitUntil(answer, until, clock)
    }
    questions.map { case (id, _) => id -> failure(id).toLeft(clusters(id).use()) }
  }

  /** The error of the request to this cluster, if it has failed. The cluster is then forgotten. */
  def failure(id: String): Option[Throwable] = {
    val error = clusters.get(id).flatMap(_.failure())
    error.foreach(_ => forget(id))
    error
  }
}

private[source] object LatestAnswers {
  private val LongestPauseMs = 500L

  /** Limits the questions of an idle query to 125 per second, as long as each cluster is asked twice a second. */
  private val PauseOfClusterMs = 8L
}

/**
 * A cluster that is asked ahead of the triggers: its newest response, and at most one request at a time. All its
 * questions are the same but for the positions in them. Used by the thread of the query only, and never waits.
 *
 * @param maxAgeMs how old a response may be
 * @param first the first response, which was waited for
 */
private[cluster] final class AskedCluster(
    ask: ClusterQuestion => CompletableFuture[ClusterView.Reachable],
    maxAgeMs: Long,
    clock: Clock,
    first: Answer
) {
  import AskedCluster._

  private var newest = first
  // Waiting for the first response does not mean that records were read up to it: it gave the start positions of a query.
  private var isUsed = false
  private var pending: Option[Sent[ClusterQuestion, Answer]] = None
  private var longestPauseMs = 0L
  private var failed: Option[Throwable] = None
  // Responses in a row without anything to read.
  private var quiet = 0
  private var nextAt = Long.MinValue
  // Compares all partitions: known for the same objects, as long as nothing changes.
  private var news: Option[(ClusterQuestion, ClusterView.Reachable, Boolean)] = None

  def takes(question: ClusterQuestion): Boolean =
    newest.question.isSame(question) && question.isSettledBy(newest.view)

  /** Whether the newest response, however old, has something to read. */
  def hasNews(question: ClusterQuestion): Boolean =
    news.collect { case (q, view, found) if (q eq question) && (view eq newest.view) => found }.getOrElse {
      val found = question.hasNews(newest.view)
      news = Some((question, newest.view, found))
      found
    }

  /** Sends the next request, unless one is pending or the cluster has nothing new too often. */
  def begin(question: ClusterQuestion, longestPauseMs: Long): Unit = {
    val now = clock.monotonicMs()
    if (hasNews(question)) {
      quiet = 0
      nextAt = now
    }
    if (pending.isEmpty && now >= nextAt) {
      val known = newest.view
      this.longestPauseMs = longestPauseMs
      // An equal response is the same object, so that a trigger recognizes that nothing has changed.
      pending = Some(Sent(
        question,
        clock,
        ask(question).thenApply[ClusterView.Reachable](found => if (found == known) known else found)
      ))
    }
  }

  /** Takes a response that has arrived; the error if the request has failed. */
  def failure(): Option[Throwable] = {
    pending.filter(_.answer.isDone).foreach { done =>
      pending = None
      Futures.outcome(done.answer).fold(e => failed = Some(e), take)
    }
    failed
  }

  private def take(answer: Answer): Unit = {
    newest = answer
    isUsed = false
    quiet = if (hasNews(answer.question)) 0 else quiet + 1
    nextAt =
      if (quiet == 0) answer.receivedAt
      else next(answer.receivedAt, math.min(longestPauseMs, Pauses.pauseMs(quiet)))
  }

  /** The next multiple of the pause: quiet clusters are asked in one trigger, and the triggers in between have no work. */
  private def next(after: Long, pauseMs: Long): Long = (Math.floorDiv(after, pauseMs) + 1) * pauseMs

  /** Until when a trigger would neither send a request to this cluster nor find another response, in monotonic milliseconds. */
  def unchangedUntil: Long =
    if (pending.isDefined || failed.isDefined || quiet == 0) Long.MinValue
    else math.min(nextAt, newest.sentAt + maxAgeMs)

  /**
   * The newest response, if a trigger may use it. One that took longer than its age may be is used once, whatever its
   * age: otherwise a slow cluster would never be read. One that is old because the last batch was long is not used.
   */
  def usable(): Option[Answer] =
    Option.when(AskedCluster.isUsable(clock.monotonicMs() - newest.sentAt, tookMs, isUsed, maxAgeMs))(newest)

  private def tookMs: Long = newest.receivedAt - newest.sentAt

  def use(): Option[Answer] = {
    val found = usable()
    isUsed = true
    found
  }

  private def isYoung: Boolean = clock.monotonicMs() - newest.sentAt <= maxAgeMs

  /** Whether the pending request has had no response for longer than a response may be old. */
  def isLate: Boolean =
    pending.exists(p => !p.answer.isDone && clock.monotonicMs() - p.sentAt > maxAgeMs)

  /**
   * The pending response, and how long a trigger waits for it.
   *
   * @param isIdle whether there is nothing to read on any cluster
   */
  def awaited(isIdle: Boolean): Option[(CompletableFuture[_], Long)] =
    pending.filterNot(_.answer.isDone).flatMap { p =>
      val isNear = tookMs <= NearMs
      // Twice as long as the last one took: otherwise a distant cluster would not be read between long batches.
      val waitMs = if (!isYoung) math.min(maxAgeMs, math.max(FreshMs, 2 * tookMs))
      else if (isIdle || isNear) NearMs else 0L
      Option.when(waitMs > 0L)((p.answer, p.sentAt + waitMs))
    }
}

private[cluster] object AskedCluster {

  /**
   * @param ageMs since the request was sent
   * @param tookMs until the response arrived
   * @param isUsed whether a trigger has used it
   */
  def isUsable(ageMs: Long, tookMs: Long, isUsed: Boolean, maxAgeMs: Long): Boolean =
    ageMs <= maxAgeMs || (!isUsed && tookMs > maxAgeMs)

  /**
   * A broker nearby responds within a few milliseconds. Waiting for it makes a batch contain the records that exist when the
   * trigger begins. Longer than this would be noticed by queries with a batch every 100 ms.
   */
  val NearMs = 15L

  /** For the first trigger after a long batch, whose newest response is too old, and which nothing was asked ahead of. */
  val FreshMs = 250L

  /** Between requests to a cluster that has nothing new. */
  private val Pauses = Backoff(firstMs = 10L, longestMs = 500L)
}

/** A request that was sent, with the time in monotonic milliseconds. */
private[source] final case class Sent[Q, A](question: Q, sentAt: Long, answer: CompletableFuture[A])

private[cluster] object Sent {

  /** @param found the response to a request that is sent now */
  def apply(
      question: ClusterQuestion,
      clock: Clock,
      found: => CompletableFuture[ClusterView.Reachable]
  ): Sent[ClusterQuestion, Answer] = {
    val now = clock.monotonicMs()
    Sent(question, now, found.thenApply[Answer](Answer(question, _, now, clock.monotonicMs())))
  }
}

/**
 * Requests ahead of the triggers, at most one at a time to each cluster. Each response is taken once, and so is a failure, after which the
 * cluster can be asked again. Used by the thread of the query only.
 */
private[source] final class AheadRequests[Q, A](clock: Clock) {
  private var pending = Map.empty[String, Sent[Q, A]]

  def isPending(id: String): Boolean = pending.contains(id)

  /** Does nothing while a request to the cluster is pending. */
  def send(id: String, question: => Q)(answer: => CompletableFuture[A]): Unit =
    if (!isPending(id)) pending += id -> Sent(question, clock.monotonicMs(), answer)

  /** Drops the requests to all other clusters. */
  def retain(ids: String => Boolean): Unit = pending = pending.filter { case (id, _) => ids(id) }

  /** The requests that have ended since the last call, by cluster, with their results. */
  def take(): Map[String, (Sent[Q, A], Either[Throwable, A])] = {
    val (done, open) = pending.partition(_._2.answer.isDone)
    pending = open
    done.map { case (id, sent) => id -> (sent, Futures.outcome(sent.answer)) }
  }

  /** Waits for the requests to these clusters; false: there are none. */
  def await(ids: Set[String]): Boolean = {
    val awaited = pending.collect { case (id, sent) if ids(id) => id -> sent.answer }
    awaited.nonEmpty && Futures.await(awaited, _ => false)
  }
}

/**
 * A response, with the times of the request and of its arrival in monotonic milliseconds. It is as old as its request:
 * what was there then is in it.
 */
private[source] final case class Answer(
    question: ClusterQuestion,
    view: ClusterView.Reachable,
    sentAt: Long,
    receivedAt: Long
)

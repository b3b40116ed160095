package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}

import io.github.dynamickafka.base.{Backoff, Clock}

/**
 * The clusters of one query that are asked ahead of the triggers, so that no trigger waits for a slow one. Triggers drive
 * it: each one uses the newest responses and sends the next requests. Used by the thread of the query only.
 *
 * @param maxAgeMs how old a response may be that a trigger uses; 0: nothing is asked ahead
 */
private[source] final class LatestAnswers[Q, A](
    rules: LatestAnswers.Rules[Q, A],
    maxAgeMs: Long,
    clock: Clock
) {
  import LatestAnswers._

  private var agents = Map.empty[String, Agent[Q, A]]

  /** The errors of requests that have failed, and are not reported yet. */
  private var failed = Map.empty[String, Throwable]

  /** Whether a trigger can use responses to this question that were requested before. */
  def takes(id: String, question: Q): Boolean =
    rules.isSteady(question) && agents.get(id).exists(_.takes(question))

  /** Whether a cluster has not responded for longer than a response may be old. */
  def isLate(id: String): Boolean = agents.get(id).exists(_.isLate)

  /** Whether a cluster has responded. */
  def knows(id: String): Boolean = agents.contains(id)

  /** Whether any cluster has responded. */
  def nonEmpty: Boolean = agents.nonEmpty

  /**
   * Until when a trigger that asks all clusters the same as the last one would find the same, in monotonic milliseconds:
   * no request is pending or due, and there is nothing to read.
   */
  def unchangedUntil: Long =
    if (failed.nonEmpty || agents.isEmpty) Long.MinValue else agents.valuesIterator.map(_.unchangedUntil).min

  /** The time of the request of the newest response of a cluster, in monotonic milliseconds. */
  def askedAt(id: String): Long = agents(id).askedAt

  /** Forgets all other clusters. */
  def retain(ids: Set[String]): Unit = (agents.keySet -- ids).foreach(forget)

  def forget(id: String): Unit = {
    agents -= id
    failed -= id
  }

  /** Takes a response that was waited for: later questions that are the same can be asked ahead. */
  def learn(id: String, ask: Q => CompletableFuture[A], answer: Answer[Q, A]): Unit =
    if (maxAgeMs > 0) {
      failed -= id
      agents += id -> new Agent(ask, rules, maxAgeMs, clock, answer)
    }

  /** Sends the next request to each of these clusters. */
  def begin(questions: Map[String, Q]): Unit = {
    val pauseMs =
      Seq(LongestPauseMs, math.max(1L, maxAgeMs / 2), math.max(1L, questions.size * PauseOfClusterMs)).min
    collect(questions.keySet)
    (questions -- failed.keySet).foreach { case (id, question) => agents(id).begin(question, pauseMs) }
  }

  /**
   * The newest response of each of these clusters; None for a cluster that has not responded in time. Waits a few
   * milliseconds for responses to the requests that were just sent. A cluster whose request has failed is forgotten.
   */
  def take(questions: Map[String, Q]): Map[String, Either[Throwable, Option[A]]] = {
    val rest = questions -- failed.keySet
    val isIdle = rest.forall { case (id, question) =>
      agents(id).usable().isDefined && !agents(id).hasNews(question)
    }
    rest.keysIterator.flatMap(agents(_).awaited(isIdle)).toSeq.sortBy(_._2).foreach { case (answer, until) =>
      await(answer, until)
    }
    collect(rest.keySet)
    questions.map { case (id, _) => id -> report(id).toLeft(agents(id).use()) }
  }

  /** The error of the request that is pending to this cluster, if it has failed. The cluster is then forgotten. */
  def failure(id: String): Option[Throwable] = {
    collect(Set(id))
    report(id)
  }

  private def report(id: String): Option[Throwable] = {
    val error = failed.get(id)
    if (error.isDefined) forget(id)
    error
  }

  private def collect(ids: Set[String]): Unit =
    ids.foreach(id => agents.get(id).flatMap(_.collect()).foreach(error => failed += id -> error))

  private def await(answer: CompletableFuture[_], until: Long): Unit = {
    val waitMs = until - clock.monotonicMs()
    if (waitMs > 0) {
      try { val _ = answer.get(waitMs, TimeUnit.MILLISECONDS) }
      catch { case _: TimeoutException | _: ExecutionException => () }
    }
  }
}

private[source] object LatestAnswers {
  private val LongestPauseMs = 500L

  /** Limits the questions of an idle query to 125 per second, as long as each cluster is asked twice a second. */
  private val PauseOfClusterMs = 8L

  trait Rules[Q, A] {

    /** Whether a response from before is as good as one that is requested now. */
    def isSteady(question: Q): Boolean

    /** Whether a response that was requested before decides nothing for good. */
    def suffices(question: Q, answer: A): Boolean

    /** Whether a response to the one is a response to the other. */
    def isSame(one: Q, other: Q): Boolean

    /** Whether there is something to read. */
    def hasNews(question: Q, answer: A): Boolean
  }
}

/**
 * Asks one cluster ahead of the triggers: keeps its newest response, and sends at most one request at a time. All its
 * questions are the same but for the positions in them. Used by the thread of the query only, and never waits.
 *
 * @param ask sends a request, whose response completes within a time limit
 * @param maxAgeMs how old a response may be
 * @param first the first response, which was waited for
 */
private[cluster] final class Agent[Q, A](
    ask: Q => CompletableFuture[A],
    rules: LatestAnswers.Rules[Q, A],
    maxAgeMs: Long,
    clock: Clock,
    first: Answer[Q, A]
) {
  import Agent._

  private var newest = first
  // Waiting for the first response does not mean that records were read up to it: it gave the start positions of a query.
  private var isUsed = false
  private var pending: Option[Pending[Q, A]] = None
  // Responses in a row without anything to read.
  private var quiet = 0
  private var nextAt = Long.MinValue
  // Compares all partitions: known for the same objects, as long as nothing changes.
  private var news: Option[(Q, A, Boolean)] = None

  /** The time of the request whose response is the newest, in monotonic milliseconds. */
  def askedAt: Long = newest.sentAt

  def takes(question: Q): Boolean =
    rules.isSame(newest.question, question) && rules.suffices(question, newest.answer)

  /** Whether the newest response, however old, has something to read. */
  def hasNews(question: Q): Boolean =
    news.collect { case (q, a, found) if isOne(q, question) && isOne(a, newest.answer) => found }.getOrElse {
      val found = rules.hasNews(question, newest.answer)
      news = Some((question, newest.answer, found))
      found
    }

  /** Sends the next request, unless one is pending or the cluster has nothing new too often. */
  def begin(question: Q, longestPauseMs: Long): Unit = {
    val now = clock.monotonicMs()
    if (hasNews(question)) {
      quiet = 0
      nextAt = now
    }
    if (pending.isEmpty && now >= nextAt) {
      val known = newest.answer
      // An equal response is the same object, so that a trigger recognizes that nothing has changed.
      val answer = ask(question).thenApply[(A, Long)](found =>
        (if (found == known) known else found, clock.monotonicMs())
      )
      pending = Some(Pending(question, answer, now, longestPauseMs))
    }
  }

  /** Takes a response that has arrived, or returns the error of the request. */
  def collect(): Option[Throwable] = pending.filter(_.answer.isDone).flatMap { done =>
    pending = None
    try {
      val (found, receivedAt) = done.answer.join()
      take(done, found, receivedAt)
      None
    } catch { case e: RuntimeException => Some(e) }
  }

  private def take(done: Pending[Q, A], found: A, receivedAt: Long): Unit = {
    newest = Answer(done.question, found, done.sentAt, receivedAt)
    isUsed = false
    quiet = if (hasNews(done.question)) 0 else quiet + 1
    nextAt =
      if (quiet == 0) receivedAt else next(receivedAt, math.min(done.longestPauseMs, Pauses.pauseMs(quiet)))
  }

  /** The next multiple of the pause: quiet clusters are asked in one trigger, and the triggers in between have no work. */
  private def next(after: Long, pauseMs: Long): Long = (Math.floorDiv(after, pauseMs) + 1) * pauseMs

  /** Until when a trigger would neither send a request to this cluster nor find another response, in monotonic milliseconds. */
  def unchangedUntil: Long =
    if (pending.isDefined || quiet == 0) Long.MinValue else math.min(nextAt, newest.sentAt + maxAgeMs)

  /**
   * The newest response, if a trigger may use it. One that took longer than its age may be is used once, whatever its
   * age: otherwise a slow cluster would never be read. One that is old because the last batch was long is not used.
   */
  def usable(): Option[A] =
    Option.when(Agent.isUsable(clock.monotonicMs() - newest.sentAt, tookMs, isUsed, maxAgeMs))(newest.answer)

  private def tookMs: Long = newest.receivedAt - newest.sentAt

  def use(): Option[A] = {
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

private[cluster] object Agent {

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

  private def isOne(a: Any, b: Any): Boolean = a.asInstanceOf[AnyRef] eq b.asInstanceOf[AnyRef]

  /** Between requests to a cluster that has nothing new. */
  private val Pauses = Backoff(firstMs = 10L, longestMs = 500L)

  private final case class Pending[Q, A](
      question: Q,
      answer: CompletableFuture[(A, Long)],
      sentAt: Long,
      longestPauseMs: Long
  )
}

/**
 * A response, with the times of the request and of its arrival in monotonic milliseconds. It is as old as its request:
 * what was there then is in it.
 */
private[source] final case class Answer[Q, A](question: Q, answer: A, sentAt: Long, receivedAt: Long)

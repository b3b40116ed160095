package io.github.dynamickafka.source.cluster

import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}

import io.github.dynamickafka.base.Clock

/**
 * The clusters of one query that are asked ahead of the triggers, so that no trigger waits for a slow one. Triggers drive
 * it: each one uses the newest responses and sends the next requests. Used by the thread of the query only.
 *
 * @param maxAgeMs how old a response may be that a trigger uses; 0: nothing is asked ahead
 */
private[source] final class Agents[Q, A](rules: Agents.Rules[Q, A], maxAgeMs: Long, clock: Clock) {
  import Agents._

  private var agents = Map.empty[String, Agent[Q, A]]

  /** The errors of requests that have failed, and are not reported yet. */
  private var failed = Map.empty[String, Throwable]

  /** Whether a trigger can use responses to this question that were requested before. */
  def takes(id: String, question: Q): Boolean =
    rules.isSteady(question) && agents.get(id).exists(_.takes(question))

  /** Whether a cluster has not responded for longer than a response may be old. */
  def isLate(id: String): Boolean = agents.get(id).exists(_.isLate)

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

private[source] object Agents {
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

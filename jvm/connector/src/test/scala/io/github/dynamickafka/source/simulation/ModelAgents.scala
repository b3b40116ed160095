package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.offset.{ClusterView, Positions}
import io.github.dynamickafka.source.cluster.ClusterQuestion

/**
 * The clusters of a query that are asked ahead of the triggers, by the rules of the product. A response is used at random
 * as long as it is newer than the last one, and may have ends that are lower than those of the last one.
 */
private[simulation] final class ModelAgents(world: World) {
  private var newest = Map.empty[String, (ClusterQuestion, ClusterView.Reachable)]

  /** Responses of requests that are pending. */
  private var pending = Map.empty[String, (ClusterQuestion, ClusterView.Reachable)]
  var earlier = Set.empty[String]

  /** Whether each request has a response by the next trigger. */
  var isPrompt = false

  def clear(): Unit = {
    newest = Map.empty
    pending = Map.empty
  }

  /** @param now what the cluster would respond to a request now */
  def ask(id: String, question: ClusterQuestion, now: () => ClusterView): ClusterView = {
    earlier -= id
    newest.get(id).filter { case (before, view) =>
      question.isSteady && before.isSame(question) && question.isSettledBy(view)
    } match {
      case None => askNow(id, question, now)
      case Some(_) =>
        if (isPrompt || world.chance(70))
          pending.get(id).foreach(found => newest += id -> found)
        pending -= id
        now() match {
          case view: ClusterView.Reachable => pending += id -> (question -> lagging(view))
          case _ =>
        }
        if (!isPrompt && world.chance(20)) ClusterView.Pending
        else if (!question.isSettledBy(newest(id)._2)) askNow(id, question, now)
        else {
          earlier += id
          newest(id)._2
        }
    }
  }

  def askNow(id: String, question: ClusterQuestion, now: () => ClusterView): ClusterView = {
    earlier -= id
    pending -= id
    newest -= id
    val found = now()
    found match {
      case view: ClusterView.Reachable => newest += id -> (question -> view)
      case _ =>
    }
    found
  }

  /** A leader that was just elected may not know the end of its log for a moment. */
  private def lagging(view: ClusterView.Reachable): ClusterView.Reachable =
    if (isPrompt || !world.chance(10)) view
    else
      view.copy(ends = Positions.from(view.ends.iterator.map { case (topic, p, end) =>
        (topic, p, math.max(view.earliest.get(topic, p).getOrElse(0L), end - 1))
      }))
}

package io.github.dynamickafka.source.ahead

import io.github.dynamickafka.time.Clock

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

package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.{Continuation, Positions}

/** `replacedClusterPolicy=group-offsets`: the committed offsets of a group, but not beyond what [[ByTime]] finds. Pure. */
private[dynamickafka] object GroupOffsets {

  /**
   * A group that was committed ahead of the query would lose records; one that was committed behind it repeats some.
   *
   * @param byTime where [[ByTime]] continues
   * @param committed the offsets of the group on the new cluster
   */
  def continuation(
      of: Replacement,
      byTime: Continuation,
      committed: Map[(String, Int), Long]
  ): Continuation = {
    val positions = byTime.positions.iterator.map { case (topic, p, timed) =>
      val first = of.view.earliest.get(topic, p).getOrElse(0L)
      (topic, p, committed.get((topic, p)).fold(timed)(at => math.max(first, math.min(at, timed))))
    }.toSeq
    val without = positions.collect {
      case (topic, p, _) if !committed.contains((topic, p)) => s"$topic-$p"
    }
    val more = positions.map { case (topic, p, at) =>
      math.max(0L, byTime.positions.get(topic, p).getOrElse(at) - at)
    }.sum
    Continuation(
      Positions.from(positions),
      byTime.repeated + more,
      byTime.notes ++ Option.when(without.nonEmpty)(
        s"the group has no committed offset of ${without.mkString(", ")}, which continue by time alone"
      )
    )
  }
}

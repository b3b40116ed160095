package io.github.dynamickafka.source.report

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

/** The log message for a change of the topology: topics that enter, leave, drain or have new stopping offsets. */
private[source] object OffsetChangeText {

  def describe(start: CompositeOffset, end: CompositeOffset): Option[String] = {
    val entered = end.entered.toSeq.map { case (id, positions) =>
      s"cluster '$id' enters at ${json(positions)}"
    }
    val retired = end.retained.toSeq.map { case (id, kept) =>
      id -> newly(kept.positions, start.retained.get(id).map(_.positions))
    }.collect { case (id, left) if left.nonEmpty => s"cluster '$id' leaves at ${json(left)}" }
    val draining = end.draining.toSeq.map { case (id, targets) =>
      id -> newly(targets, start.draining.get(id))
    }
      .collect { case (id, fresh) if fresh.nonEmpty => s"cluster '$id' drains up to ${json(fresh)}" }
    val ending = end.ends.toSeq.map { case (id, topics) =>
      id -> Positions(topics.toSeq.collect {
        case (topic, ends) if !start.endsOf(id).get(topic).contains(ends) => topic -> ends.offsets
      })
    }.collect { case (id, fresh) if fresh.nonEmpty => s"cluster '$id' stops at ${json(fresh)}" }
    val all = entered ++ retired ++ draining ++ ending
    if (all.isEmpty) None else Some(all.mkString("Topology change: ", "; ", ""))
  }

  private def newly(now: Positions, before: Option[Positions]): Positions =
    now.filterTopics(topic => !before.exists(_.topics(topic)))

  private def json(positions: Positions) = CompositeOffsetJson.writePositions(positions)
}

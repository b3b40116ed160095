package io.github.dynamickafka.source.report

import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}

/**
 * What has changed for a cluster.
 *
 * @param what `enters`, `leaves`, `drains` or `stops`
 */
private[source] final case class OffsetChange(what: String, cluster: String, positions: Positions) {

  /** Without offsets, for people. */
  def topics: String = positions.byTopic.map { case (topic, partitions) =>
    s"$topic: ${partitions.size} partition${if (partitions.size == 1) "" else "s"}"
  }.mkString(", ")
}

/** The changes of the topology, also as a log message: topics that enter, leave, drain or have new stopping offsets. */
private[source] object OffsetChangeText {

  def changes(start: CompositeOffset, end: CompositeOffset): Seq[OffsetChange] = {
    val entered = end.entered.toSeq.map { case (id, positions) => OffsetChange("enters", id, positions) }
    val retired = end.retained.toSeq.map { case (id, kept) =>
      id -> newly(kept.positions, start.retained.get(id).map(_.positions))
    }.collect { case (id, left) if left.nonEmpty => OffsetChange("leaves", id, left) }
    val draining = end.draining.toSeq.map { case (id, targets) =>
      id -> newly(targets, start.draining.get(id))
    }
      .collect { case (id, fresh) if fresh.nonEmpty => OffsetChange("drains", id, fresh) }
    val ending = end.ends.toSeq.map { case (id, topics) =>
      id -> Positions(topics.toSeq.collect {
        case (topic, ends) if !start.endsOf(id).get(topic).contains(ends) => topic -> ends.offsets
      })
    }.collect { case (id, fresh) if fresh.nonEmpty => OffsetChange("stops", id, fresh) }
    entered ++ retired ++ draining ++ ending
  }

  def describe(changes: Seq[OffsetChange]): Option[String] = Option.when(changes.nonEmpty)(
    changes.map { change =>
      val verb = if (change.what == "drains") "drains up to" else s"${change.what} at"
      s"cluster '${change.cluster}' $verb ${json(change.positions)}"
    }.mkString("Topology change: ", "; ", "")
  )

  private def newly(now: Positions, before: Option[Positions]): Positions =
    now.filterTopics(topic => !before.exists(_.topics(topic)))

  private def json(positions: Positions) = CompositeOffsetJson.writePositions(positions)
}

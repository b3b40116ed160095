package io.github.dynamickafka.offset.replacement

import io.github.dynamickafka.offset.{Continuation, Positions}

/** `replacedClusterPolicy=timestamp`: where the records that follow the last ones that were read can begin. Pure. */
private[dynamickafka] object ByTime {

  /**
   * @param from no record that follows the last one that was read is expected to be older
   * @param until all records that were read are expected to be older
   */
  final case class Bounds(from: Map[(String, Int), Long], until: Map[(String, Int), Long], notes: Seq[String])

  def bounds(of: Replacement, overlapMs: Long): Bounds = {
    val byTopic = of.continuing.map { case (topic, partitions) =>
      val known = of.positions.of(topic).keysIterator
        .flatMap(p => of.read.get((topic, p)).map(p -> _.timeMs)).toMap
      // The record of a key may be in another partition.
      if (known.keySet == partitions.toSet) (topic, known, known, None)
      else {
        val note =
          s"topic '$topic' has ${partitions.size} partitions instead of ${known.size}, so all of them continue " +
            "at the least time of the topic"
        def all(time: Iterable[Long] => Long) =
          partitions.filter(_ => known.nonEmpty).map(_ -> time(known.values)).toMap
        (topic, all(_.min), all(_.max), Some(note))
      }
    }
    def times(of: Map[Int, Long], topic: String, plus: Long) =
      of.map { case (p, time) => (topic, p) -> math.max(0L, time + plus) }
    Bounds(
      byTopic.flatMap { case (topic, least, _, _) => times(least, topic, -overlapMs) }.toMap,
      byTopic.flatMap { case (topic, _, most, _) => times(most, topic, 1L) }.toMap,
      byTopic.flatMap(_._4)
    )
  }

  /**
   * @param from the first offsets of records that are not older than [[Bounds.from]], as far as there are such records
   * @param until the same for [[Bounds.until]]
   */
  def continuation(
      of: Replacement,
      bounds: Bounds,
      from: Map[(String, Int), Long],
      until: Map[(String, Int), Long]
  ): Continuation = {
    // Requested before the times: a record that has arrived meanwhile has not been read.
    def end(key: (String, Int)) = of.view.ends.get(key._1, key._2).getOrElse(0L)
    val positions = bounds.from.keys.map(key => key -> from.getOrElse(key, end(key))).toMap
    Continuation(
      Positions.from(positions.map { case ((topic, p), at) => (topic, p, at) }),
      positions.map { case (key, at) => math.max(0L, until.getOrElse(key, end(key)) - at) }.sum,
      bounds.notes
    )
  }
}

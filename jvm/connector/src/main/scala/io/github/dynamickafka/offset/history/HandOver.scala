package io.github.dynamickafka.offset.history

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.offset.Positions

/**
 * Where Kafka follows on histories, by cluster and topic: by offsets where a history has them, otherwise by times. Pure.
 *
 * @param offsets the next offset of each partition
 * @param times the timestamp of the first record to read of each partition, in milliseconds
 * @param topicTimes the same of all other partitions of a topic
 */
private[dynamickafka] final case class HandOver(
    offsets: SortedMap[String, Positions] = SortedMap.empty,
    times: SortedMap[String, Positions] = SortedMap.empty,
    topicTimes: SortedMap[String, SortedMap[String, Long]] = SortedMap.empty
) {

  /**
   * The start position of a topic.
   *
   * @param rest for partitions without history
   */
  def start(cluster: String, topic: String, rest: OffsetsPolicy): OffsetsPolicy = {
    def of(all: SortedMap[String, Positions]) = all.get(cluster).fold(SortedMap.empty[Int, Long])(_.of(topic))
    if (!has(cluster, topic)) rest
    else OffsetsPolicy.After(of(offsets), of(times), topicTimes.get(cluster).flatMap(_.get(topic)), rest)
  }

  def has(cluster: String, topic: String): Boolean =
    Seq(offsets, times).exists(_.get(cluster).exists(_.topics(topic))) ||
      topicTimes.get(cluster).exists(_.contains(topic))
}

private[dynamickafka] object HandOver {
  val none: HandOver = HandOver()

  /** @param ends of all histories */
  def of(ends: Iterable[HistoryEnd]): HandOver = {
    def greatest(some: Iterable[(HistoryEnd, Int, Long)]): SortedMap[String, Positions] =
      SortedMap.from(some.groupBy(_._1.cluster).map { case (id, of) =>
        val byPartition = of.groupMapReduce(x => (x._1.topic, x._2))(_._3)(math.max)
        id -> Positions.from(byPartition.iterator.map { case ((topic, p), value) => (topic, p, value) })
      })
    HandOver(
      greatest(for (e <- ends; p <- e.partition; offset <- e.offset) yield (e, p, offset + 1)),
      greatest(for (e <- ends; p <- e.partition; if e.offset.isEmpty; ms <- e.time) yield (e, p, ms + 1)),
      SortedMap.from(ends.filter(_.partition.isEmpty).groupBy(_.cluster).map { case (id, of) =>
        val byTopic = of.flatMap(e => e.time.map(e.topic -> _)).groupMapReduce(_._1)(_._2)(math.max)
        id -> byTopic.map { case (topic, ms) => topic -> (ms + 1) }.to(SortedMap)
      }.filter(_._2.nonEmpty))
    )
  }
}

/**
 * The end of a history in a partition, or in a topic if it has no partitions.
 *
 * @param offset the greatest offset
 * @param time the greatest timestamp in milliseconds
 */
private[dynamickafka] final case class HistoryEnd(
    cluster: String,
    topic: String,
    partition: Option[Int],
    offset: Option[Long],
    time: Option[Long]
)

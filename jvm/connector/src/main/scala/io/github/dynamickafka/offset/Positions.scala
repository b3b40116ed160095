package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

/**
 * The offsets of the partitions of one cluster, by topic. Immutable. Topics and partitions are in their natural order,
 * which is also the order of the JSON. Topics without partitions are omitted.
 */
private[dynamickafka] final case class Positions private (byTopic: SortedMap[String, SortedMap[Int, Long]]) {

  def isEmpty: Boolean = byTopic.isEmpty
  def nonEmpty: Boolean = byTopic.nonEmpty
  def topics: Set[String] = byTopic.keySet
  def size: Int = byTopic.valuesIterator.map(_.size).sum

  def get(topic: String, partition: Int): Option[Long] = byTopic.get(topic).flatMap(_.get(partition))
  def of(topic: String): SortedMap[Int, Long] = byTopic.getOrElse(topic, SortedMap.empty[Int, Long])

  def updated(topic: String, partition: Int, offset: Long): Positions =
    new Positions(byTopic.updated(topic, of(topic).updated(partition, offset)))

  def withTopic(topic: String, partitions: SortedMap[Int, Long]): Positions =
    if (partitions.isEmpty) without(topic) else new Positions(byTopic.updated(topic, partitions))

  def without(topic: String): Positions = new Positions(byTopic - topic)
  def filterTopics(keep: String => Boolean): Positions =
    new Positions(byTopic.filter { case (topic, _) => keep(topic) })

  def filter(keep: (String, Int) => Boolean): Positions =
    new Positions(byTopic.map { case (topic, partitions) =>
      topic -> partitions.filter { case (p, _) => keep(topic, p) }
    }.filter(_._2.nonEmpty))

  /** The positions of the partitions of `that`. */
  def at(that: Positions): Positions =
    if (isEmpty || that.isEmpty) Positions.empty else filter((topic, p) => that.get(topic, p).isDefined)

  /** The positions without the partitions of `that`. */
  def --(that: Positions): Positions = filter((topic, p) => that.get(topic, p).isEmpty)

  /** The union; for a partition in both, the offset of `that`. */
  def ++(that: Positions): Positions =
    that.byTopic.foldLeft(this) { case (all, (topic, partitions)) =>
      all.withTopic(topic, all.of(topic) ++ partitions)
    }

  def iterator: Iterator[(String, Int, Long)] =
    for ((topic, partitions) <- byTopic.iterator; (p, offset) <- partitions.iterator) yield (topic, p, offset)
}

private[dynamickafka] object Positions {
  val empty: Positions = new Positions(SortedMap.empty[String, SortedMap[Int, Long]])

  def apply(byTopic: Iterable[(String, SortedMap[Int, Long])]): Positions =
    new Positions(SortedMap.from(byTopic.filter(_._2.nonEmpty)))

  /** @param all cluster, topic, partition, and an offset or another number */
  def byCluster(all: IterableOnce[(String, String, Int, Long)]): SortedMap[String, Positions] =
    SortedMap.from(all.iterator.toSeq.groupBy(_._1).map { case (cluster, entries) =>
      cluster -> from(entries.map { case (_, topic, partition, number) => (topic, partition, number) })
    })

  def from(offsets: IterableOnce[(String, Int, Long)]): Positions =
    apply(offsets.iterator.toSeq.groupBy(_._1).map { case (topic, entries) =>
      topic -> SortedMap.from(entries.map { case (_, partition, offset) => partition -> offset })
    })
}

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.topology.OffsetsPolicy

/**
 * Where partitions have entered, as far as no committed batch has it. Pure.
 *
 * A decision is about the topic with the id that is stored with it. What is not known of ids is not compared.
 */
private[dynamickafka] final case class DecidedEntries(clusters: SortedMap[String, DecidedEntries.ByTopic]) {
  import DecidedEntries._

  /** Where a topic enters that has no position; `rest` for partitions about which nothing is decided. */
  def start(cluster: String, topic: String, rest: OffsetsPolicy): OffsetsPolicy =
    clusters.get(cluster).flatMap(_.get(topic)).fold(rest)(d => OffsetsPolicy.Decided(d.id, d.offsets, rest))

  /** With what enters in the batch that ends here. The first decision about a partition stays, unless its topic was recreated. */
  def add(end: CompositeOffset): DecidedEntries = DecidedEntries(
    end.entered.foldLeft(clusters) { case (all, (id, entered)) =>
      val topics = entered.byTopic.foldLeft(all.getOrElse(id, none)) { case (known, (topic, offsets)) =>
        val later = Decision(end.identity(id).topics.get(topic), offsets)
        known.updated(topic, known.get(topic).fold(later)(_.add(later)))
      }
      all.updated(id, topics)
    }
  )

  /** @param end an offset that Spark has committed */
  def committed(end: CompositeOffset): DecidedEntries = DecidedEntries(clusters.map { case (id, topics) =>
    val has = end.retained.get(id).fold(Positions.empty)(_.positions) ++ end.position(id)
    id -> topics.map { case (topic, decision) => topic -> (decision -- has.of(topic)) }
      .filter(_._2.offsets.nonEmpty)
  }.filter(_._2.nonEmpty))

  /** In the form in which it is stored. */
  def offset: CompositeOffset = CompositeOffset(
    clusters.map { case (id, topics) => id -> Positions(topics.map { case (t, d) => t -> d.offsets }) },
    identities = clusters.map { case (id, topics) =>
      id -> ClusterIdentity(topics = topics.collect { case (topic, Decision(Some(known), _)) =>
        topic -> known
      })
    }.filterNot(_._2.isEmpty)
  )
}

private[dynamickafka] object DecidedEntries {
  private type ByTopic = SortedMap[String, Decision]
  private val none: ByTopic = SortedMap.empty

  val empty: DecidedEntries = DecidedEntries(SortedMap.empty[String, ByTopic])

  /** @param stored [[DecidedEntries.offset]] */
  def of(stored: CompositeOffset): DecidedEntries = DecidedEntries(
    stored.clusters.map { case (id, positions) =>
      id -> positions.byTopic.map { case (topic, offsets) =>
        topic -> Decision(stored.identity(id).topics.get(topic), offsets)
      }
    }
  )

  /** @param id the topic id of Kafka, if it is known */
  private[offset] final case class Decision(id: Option[String], offsets: SortedMap[Int, Long]) {

    def add(later: Decision): Decision =
      if (ClusterIdentity.differ(id, later.id)) later
      else Decision(id.orElse(later.id), later.offsets ++ offsets)

    def --(committed: SortedMap[Int, Long]): Decision = copy(offsets = offsets -- committed.keySet)
  }
}

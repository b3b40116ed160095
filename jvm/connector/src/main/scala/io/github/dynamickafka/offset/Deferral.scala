package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

/**
 * Ranges of a logged batch that are left out of this batch, because their clusters are unreachable when the query is
 * restarted, and are read in later batches. Pure.
 *
 * The end offset of the batch, which Spark has logged, is beyond these ranges. The offset that follows it therefore resumes
 * them: it has their start positions in `entered`, so that from then on the offset log alone determines what is read.
 *
 * @param start the digest of the start offset of the batch
 * @param end the digest of its end offset
 * @param ranges by cluster, one for each partition
 * @param identities what Kafka called these clusters and topics when the batch was logged
 */
private[dynamickafka] final case class Deferral(
    start: String,
    end: String,
    ranges: SortedMap[String, Seq[OffsetRange]],
    identities: SortedMap[String, ClusterIdentity] = SortedMap.empty
) {

  def isOf(from: CompositeOffset, until: CompositeOffset): Boolean =
    endsAt(until) && from.digest == start

  def endsAt(offset: CompositeOffset): Boolean = offset.digest == end

  /** The ranges of the batch that are not deferred. */
  def rest(all: SortedMap[String, Seq[OffsetRange]]): SortedMap[String, Seq[OffsetRange]] =
    all.map { case (id, ofCluster) =>
      val left = partitions(id)
      id -> ofCluster.filterNot(range => left.contains((range.topic, range.partition)))
    }.filter(_._2.nonEmpty)

  /** The end offset of the batch with the positions that the query has really reached. */
  def reached(offset: CompositeOffset): CompositeOffset = at(offset, starts)

  /** The offset with these positions of the starts, and with their leader epochs. */
  private def at(offset: CompositeOffset, starts: SortedMap[String, Positions]): CompositeOffset =
    offset.copy(
      clusters = NextOffset.merge(offset.clusters, starts),
      identities =
        withEpochs(offset, starts)((of, epochs, all) => of.copy(epochs = (of.epochs -- all) ++ epochs))
    )

  private def withEpochs(offset: CompositeOffset, positions: SortedMap[String, Positions])(
      change: (ClusterIdentity, Positions, Positions) => ClusterIdentity
  ): SortedMap[String, ClusterIdentity] =
    positions.foldLeft(offset.identities) { case (all, (id, ofCluster)) =>
      all.updated(
        id,
        change(offset.identity(id), epochs.getOrElse(id, Positions.empty).at(ofCluster), ofCluster)
      )
    }.filterNot(_._2.isEmpty)

  /**
   * The offset that follows the batch, as it has to be logged: deferred partitions that are still read start where the
   * deferral starts, which is below the logged end of the batch.
   *
   * @param start the logged end of the batch
   * @param next computed from [[reached]]
   */
  def resumed(start: CompositeOffset, next: CompositeOffset): CompositeOffset = {
    val found = entering(next)
    // The same ranges entered in the deferred batch. To Spark, equal offsets are no batch, so they are read after the next one.
    if (found == start) at(found, inBoth(found)) else found
  }

  private def entering(next: CompositeOffset): CompositeOffset = {
    val entering = starts.map { case (id, positions) =>
      val known = next.entered.getOrElse(id, Positions.empty)
      id -> positions.filter((topic, p) =>
        next.position(id).get(topic, p).isDefined && known.get(topic, p).isEmpty
      )
    }.filter(_._2.nonEmpty)
    if (entering.isEmpty) next
    else
      next.copy(
        entered = NextOffset.merge(entering, next.entered),
        identities = withEpochs(next, entering)((of, epochs, _) => of.copy(entered = of.entered ++ epochs))
      )
  }

  private def inBoth(offset: CompositeOffset): SortedMap[String, Positions] = starts.map {
    case (id, positions) =>
      id -> positions.filter((topic, p) => offset.position(id).get(topic, p).isDefined)
  }

  private lazy val starts: SortedMap[String, Positions] = ranges.map { case (id, ofCluster) =>
    id -> Positions.from(ofCluster.map(range => (range.topic, range.partition, range.from)))
  }

  /** The leader epochs of `starts`. */
  private lazy val epochs: SortedMap[String, Positions] = ranges.map { case (id, ofCluster) =>
    id -> Positions.from(ofCluster.flatMap(r => r.epoch.map((r.topic, r.partition, _))))
  }

  private def partitions(id: String): Set[(String, Int)] =
    ranges.getOrElse(id, Nil).iterator.map(range => (range.topic, range.partition)).toSet
}

private[dynamickafka] object Deferral {

  /** @param ranges the ranges of the batch whose clusters are unreachable */
  def apply(
      start: CompositeOffset,
      end: CompositeOffset,
      ranges: SortedMap[String, Seq[OffsetRange]]
  ): Deferral = {
    val identities = ranges.map { case (id, ofCluster) =>
      val topics = ofCluster.map(_.topic).toSet
      val known = end.identity(id)
      id -> ClusterIdentity(known.kafkaId, known.topics.filter { case (topic, _) => topics(topic) })
    }.filterNot(_._2.isEmpty)
    // The identities have the topic ids, and the leader at that time means nothing when the ranges are read.
    val logged = ranges.map { case (id, rangesOfCluster) =>
      id -> rangesOfCluster.map(_.copy(log = LogIdentity.unknown))
    }
    Deferral(start.digest, end.digest, logged, identities)
  }
}

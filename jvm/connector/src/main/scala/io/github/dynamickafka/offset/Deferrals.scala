package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

/**
 * The deferrals of a query that have not been read completely, by the number of their batch. Pure.
 *
 * Between the end of its batch and the next offset, a deferral is the only trace of its ranges. As soon as Spark has a later
 * offset, the ranges are in the offset log, and the deferral has no effect any more: it is `entered`. It must not have one,
 * because a later offset can have the text of the end of its batch.
 */
private[dynamickafka] final case class Deferrals(all: SortedMap[Long, Deferrals.Entry]) {

  /** What is deferred of this batch. */
  def of(start: CompositeOffset, end: CompositeOffset): Option[Deferral] =
    effective.find(_.isOf(start, end))

  /** What is deferred of the batch that ends here. */
  def at(end: CompositeOffset): Option[Deferral] = effective.find(_.endsAt(end))

  /** The positions that the query has reached at this offset. */
  def reached(offset: CompositeOffset): CompositeOffset = at(offset).fold(offset)(_.reached(offset))

  /** The offset to log after `start`, for one that was computed from `reached(start)`. */
  def resumed(start: CompositeOffset, next: CompositeOffset): CompositeOffset =
    at(start).fold(next)(_.resumed(start, next))

  def added(batch: Long, deferral: Deferral): Deferrals =
    Deferrals(all.updated(batch, Deferrals.Entry(deferral, entered = false)))

  /** Deferrals whose ranges are in the offset log, if `start` is the start of the next batch. */
  def entering(start: CompositeOffset): Seq[Long] =
    all.iterator.collect { case (n, entry) if !entry.entered && !entry.deferral.endsAt(start) => n }.toSeq

  def entered(batches: Seq[Long]): Deferrals =
    Deferrals(batches.foldLeft(all)((them, n) => them.updated(n, them(n).copy(entered = true))))

  /** Deferrals of which nothing is left to read, if `start` is the start of the next batch. */
  def over(start: CompositeOffset): Seq[Long] =
    all.iterator.collect {
      case (n, entry) if entry.entered && Deferrals.left(Seq(entry.deferral), start).isEmpty => n
    }.toSeq

  def without(batches: Seq[Long]): Deferrals = Deferrals(all -- batches)

  /** The ranges that are still to be read, if this is the offset of the last completed batch, by cluster. */
  def left(offset: CompositeOffset): SortedMap[String, Seq[OffsetRange]] =
    if (all.isEmpty) SortedMap.empty
    else Deferrals.left(all.values.map(_.deferral).toSeq, reached(offset))

  /** Deferred ranges for which this offset has no position any more, because their retention has expired. */
  def givenUp(offset: CompositeOffset): SortedMap[String, Seq[OffsetRange]] = {
    val deferrals = all.values.filter(_.entered).map(_.deferral).toSeq
    Deferrals.merged(deferrals).map { case (id, ranges) =>
      val ids = Deferrals.idsOf(id, deferrals, offset)
      id -> ranges.filterNot(range => ids.exists(Deferrals.has(offset, _, range)))
    }.filter(_._2.nonEmpty)
  }

  private def effective: Iterator[Deferral] =
    all.valuesIterator.collect { case Deferrals.Entry(deferral, false) => deferral }
}

private[dynamickafka] object Deferrals {
  val none: Deferrals = Deferrals(SortedMap.empty[Long, Entry])

  /** @param entered whether Spark has an offset that was computed after the batch, and that resumes the ranges */
  final case class Entry(deferral: Deferral, entered: Boolean)

  private def left(deferrals: Seq[Deferral], at: CompositeOffset): SortedMap[String, Seq[OffsetRange]] = {
    val identities = deferrals.flatMap(_.identities).toMap
    merged(deferrals).map { case (id, ranges) =>
      val known = identities.getOrElse(id, ClusterIdentity.unknown)
      id -> ranges.flatMap(range =>
        position(at, id, range.topic, range.partition, known).filter(_ < range.until).map(now =>
          range.copy(from = math.max(now, range.from))
        )
      )
    }.filter(_._2.nonEmpty)
  }

  /** A batch that resumes ranges can be deferred as well. */
  private def merged(deferrals: Seq[Deferral]): SortedMap[String, Seq[OffsetRange]] =
    SortedMap.from(deferrals.flatMap(_.ranges).groupMap(_._1)(_._2).map { case (id, rangesOfCluster) =>
      id -> rangesOfCluster.flatten.groupBy(r => (r.topic, r.partition)).toSeq.sortBy(_._1).map {
        case (_, same) =>
          same.head.copy(from = same.map(_.from).min, until = same.map(_.until).max)
      }
    })

  /** The position in the log that the deferral is about; none if there is another log now, or no position any more. */
  private def position(
      at: CompositeOffset,
      id: String,
      topic: String,
      partition: Int,
      known: ClusterIdentity
  ): Option[Long] = {
    val kept = at.retained.get(id).flatMap(_.topics.get(topic))
    def same(topicId: Option[String]) = !ClusterIdentity.differ(known.topics.get(topic), topicId)
    if (ClusterIdentity.differ(known.kafkaId, at.identity(id).kafkaId)) None
    else at.position(id).get(topic, partition).filter(_ => same(at.identity(id).topics.get(topic)))
      .orElse(kept.filter(positions => same(positions.id)).flatMap(_.offsets.get(partition)))
  }

  /** The cluster ids that can have the positions of this one: they move to another id of the same Kafka cluster. */
  private def idsOf(id: String, deferrals: Seq[Deferral], at: CompositeOffset): Set[String] = {
    val kafkaIds = deferrals.flatMap(_.identities.get(id)).flatMap(_.kafkaId).toSet
    Set(id) ++ at.identities.collect { case (other, identity) if identity.kafkaId.exists(kafkaIds) => other }
  }

  private def has(at: CompositeOffset, id: String, range: OffsetRange): Boolean =
    at.position(id).get(range.topic, range.partition).isDefined ||
      at.retained.get(id).exists(_.topics.get(range.topic).exists(_.offsets.contains(range.partition)))
}

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

  private lazy val starts: SortedMap[String, Positions] = numbers(range => Some(range.from))

  /** The leader epochs of `starts`. */
  private lazy val epochs: SortedMap[String, Positions] = numbers(_.epoch)

  /** A number of each range, by cluster. */
  def numbers(of: OffsetRange => Option[Long]): SortedMap[String, Positions] =
    ranges.map { case (id, ofCluster) =>
      id -> Positions.from(ofCluster.flatMap(range => of(range).map((range.topic, range.partition, _))))
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

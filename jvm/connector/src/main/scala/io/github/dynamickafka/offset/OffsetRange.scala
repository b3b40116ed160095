package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.error.Errors

/**
 * The log that offsets are about, as far as this is known: after a recreation of the topic, or a truncation, other records have
 * the same offsets.
 *
 * @param topicId Kafka's id of the topic (KIP-516)
 * @param epoch the leader epoch of the response with the end of the log: a leader does not truncate its own log. None for a
 *              logged batch, because leaders may have been elected since
 */
private[dynamickafka] final case class LogIdentity(
    topicId: Option[String] = None,
    epoch: Option[Long] = None
)

private[dynamickafka] object LogIdentity {
  val unknown: LogIdentity = LogIdentity()
}

/**
 * The records of one partition from offset `from` (inclusive) to `until` (exclusive).
 *
 * @param epoch the leader epoch of `from`, if the log has to be compared with it before it is read: it may have been
 *              truncated below `from`, and have grown past it
 * @param log the log that contains the records
 */
private[dynamickafka] final case class OffsetRange(
    topic: String,
    partition: Int,
    from: Long,
    until: Long,
    epoch: Option[Long] = None,
    log: LogIdentity = LogIdentity.unknown
) {
  def size: Long = until - from
  override def toString: String = s"$topic-$partition [$from, $until)"
}

private[dynamickafka] object OffsetRange {

  /** The end of a range that is read as long as a batch lasts: real-time mode. */
  val NoEnd: Long = Long.MaxValue

  /**
   * The non-empty ranges, by cluster, that the batch between two composite offsets reads. They depend on nothing else,
   * so that a logged batch is the same each time it is planned (invariant 2 in `docs/dev/architecture.md`). All logs are
   * compared with the leader epochs, because leaders may have been elected since the batch was logged.
   *
   * @throws DynamicKafkaRuntimeException `INVALID_OFFSET`
   */
  def between(start: CompositeOffset, end: CompositeOffset): SortedMap[String, Seq[OffsetRange]] =
    ranges(start, end, isLogged = true)

  /**
   * The ranges of a batch that is not logged yet. An offset that could not be planned would fail each later start of the
   * query, so it must not be logged. Only logs that have another leader epoch than their position are compared with it: a
   * leader does not truncate its own log.
   *
   * @throws DynamicKafkaRuntimeException `INVALID_NEXT_OFFSET`
   */
  def beforeLogging(start: CompositeOffset, end: CompositeOffset): SortedMap[String, Seq[OffsetRange]] =
    ranges(start, end, isLogged = false)

  /** All records between the start and the ends, by cluster: of a batch read, which is not logged. */
  def ofAll(found: NextOffset): SortedMap[String, Seq[OffsetRange]] = SortedMap.from(
    found.spans.groupBy(_.cluster).map { case (id, spans) =>
      def log(s: Span) = LogIdentity(found.rest.identities.get(id).flatMap(_.topics.get(s.topic)), s.newest)
      id -> spans.map(s => OffsetRange(s.topic, s.partition, s.from, s.end, log = log(s))).filter(_.size > 0)
    }.filter(_._2.nonEmpty)
  )

  private def ranges(
      start: CompositeOffset,
      end: CompositeOffset,
      isLogged: Boolean
  ): SortedMap[String, Seq[OffsetRange]] =
    // With equal offsets, `entered` belongs to the batch before, which ended at this offset.
    if (start == end) SortedMap.empty
    else {
      val entries = end.entriesSince(start)
      end.clusters.map { case (cluster, until) =>
        val entered = entries.of(cluster)
        val from = start.position(cluster) ++ entered
        val known = (start.identity(cluster).epochs -- entered) ++ entries.epochsOf(cluster)
        val newest = end.identity(cluster)
        cluster -> until.iterator.map { case (topic, partition, last) =>
          def refuse(what: String) = {
            val reason = s"cluster '$cluster', $topic-$partition $what"
            throw if (isLogged) Errors.invalidOffset(reason) else Errors.invalidNextOffset(reason)
          }
          val first = from.get(topic, partition).getOrElse(refuse("has an end offset but no start offset"))
          if (first > last) refuse(s"starts at $first and ends at $last")
          val epoch = newest.epochs.get(topic, partition).filterNot(_ => isLogged)
          OffsetRange(
            topic,
            partition,
            first,
            last,
            known.get(topic, partition).filter(before => isLogged || epoch.exists(_ != before)),
            LogIdentity(newest.topics.get(topic), epoch)
          )
        }.filter(_.size > 0).toSeq
      }.filter(_._2.nonEmpty)
    }
}

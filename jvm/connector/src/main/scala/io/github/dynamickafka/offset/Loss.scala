package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import io.github.dynamickafka.error.Errors

/** Records that are no longer available. `failOnDataLoss` determines whether the query fails. */
private[dynamickafka] sealed trait Loss extends Product with Serializable {
  def cluster: String
  def topic: String
  def text: String

  /** The offsets, by partition, whose records are lost where they had not been read; up to Long.MaxValue if the end is not known. */
  def missing: Seq[(Int, Long, Long)] = Nil

  /** For the log, where the query continues. */
  final def warning: String =
    s"Kafka cluster '$cluster', topic '$topic': $text; the query continues because 'failOnDataLoss' is false"

  /** The error that fails the query. */
  def error: Errors.Runtime = Errors.dataLoss(cluster, topic, text)
}

private[dynamickafka] object Loss {
  final case class TopicGone(cluster: String, topic: String) extends Loss {
    def text: String =
      s"topic '$topic' no longer exists on the cluster, but the query has not finished reading it"
  }
  final case class PartitionGone(cluster: String, topic: String, partition: Int, known: Long) extends Loss {
    override def missing: Seq[(Int, Long, Long)] = Seq((partition, known, Long.MaxValue))
    def text: String = s"partition $partition, which was read up to offset $known, no longer exists"
  }

  /**
   * The topic has another topic id than the one that was read.
   *
   * @param known the next offsets to read of the former topic
   * @param ends the latest offsets of the new topic
   */
  final case class TopicRecreated(
      cluster: String,
      topic: String,
      oldId: String,
      newId: String,
      known: SortedMap[Int, Long],
      ends: SortedMap[Int, Long]
  ) extends Loss {
    override def missing: Seq[(Int, Long, Long)] = known.toSeq.map { case (p, at) => (p, at, Long.MaxValue) }
    def text: String =
      s"the topic was deleted and recreated (topic id $newId instead of $oldId): $partitions; it is read from its beginning"

    override def error: Errors.Runtime = Errors.topicRecreated(cluster, topic, oldId, newId, partitions)

    /** For each partition the position in the former topic and the end of the new one. */
    def partitions: String = known.map { case (p, at) =>
      s"partition $p: the next offset to read was $at, the latest offset is now ${ends.getOrElse(p, "none")}"
    }.mkString("; ")
  }
  final case class Expired(cluster: String, topic: String, partition: Int, known: Long, earliest: Long)
      extends Loss {
    override def missing: Seq[(Int, Long, Long)] = Seq((partition, known, earliest))
    def text: String =
      s"partition $partition: the next offset to read is $known, but the earliest available offset is $earliest"
  }
  final case class Recreated(cluster: String, topic: String, partition: Int, known: Long, end: Long)
      extends Loss {
    def text: String =
      s"partition $partition: the next offset to read is $known, but the latest offset of the partition is $end, " +
        "so the topic was probably deleted and recreated"
  }

  /**
   * The log was truncated below the position, and has grown past it (KIP-320).
   *
   * @param diverges the first offset of other records than those that were read, if it is known
   */
  final case class Truncated(
      cluster: String,
      topic: String,
      partition: Int,
      known: Long,
      diverges: Option[Long] = None
  ) extends Loss {
    def text: String =
      s"partition $partition: the log was truncated below offset $known, the next offset to read, for example by an " +
        "unclean leader election, so records that were already read may be missing or replaced in the log" +
        diverges.fold("")(at => s"; the records from offset $at on are others than those that were read")
  }

  /** The topic is the same, and its log ends below the position. */
  final case class CutOff(cluster: String, topic: String, partition: Int, known: Long, end: Long)
      extends Loss {
    def text: String =
      s"partition $partition: the next offset to read is $known, but the latest offset of the same topic is $end, so " +
        "the log was truncated, for example by an unclean leader election; records that were already read may be " +
        "missing or replaced in the log"
  }

  /** A batch was logged with records of this range that the log does not contain. */
  final case class BeyondEnd(cluster: String, topic: String, partition: Int, at: Long, until: Long, end: Long)
      extends Loss {
    override def missing: Seq[(Int, Long, Long)] = Seq((partition, at, Long.MaxValue))
    def text: String =
      s"partition $partition: the batch was logged with the offsets up to $until, but the log ends at $end, so the " +
        s"records from offset $at on do not exist: the log was truncated, or the topic was deleted and recreated"
  }

  /**
   * Kafka does not have the record that follows the history.
   *
   * @param next the offset after the last one of the history
   */
  final case class AfterHistory(
      cluster: String,
      topic: String,
      partition: Int,
      next: Long,
      first: Long,
      end: Long
  ) extends Loss {
    override def missing: Seq[(Int, Long, Long)] = Seq((partition, next, first))
    def text: String =
      if (next < first)
        s"partition $partition: the history ends before offset $next, but the earliest available offset is $first; add the " +
          s"records from offset $next to ${first - 1} to the history"
      else
        s"partition $partition: the history ends before offset $next, but the latest offset is $end, so the history is not one " +
          "of this topic, or the topic was deleted and recreated"
  }
  final case class OutOfRange(
      cluster: String,
      topic: String,
      partition: Int,
      asked: Long,
      first: Long,
      end: Long
  ) extends Loss {
    override def missing: Seq[(Int, Long, Long)] = Seq((partition, asked, first))
    def text: String =
      s"partition $partition: the start offset $asked is not in the range of available offsets, $first to $end"
  }
}

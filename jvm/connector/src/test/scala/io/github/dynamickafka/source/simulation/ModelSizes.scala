package io.github.dynamickafka.source.simulation

import org.apache.spark.sql.connector.read.streaming.{ReadAllAvailable, ReadLimit}

import io.github.dynamickafka.offset.{MeanSize, OffsetRange, Span}
import io.github.dynamickafka.source.trigger.Limits

/** The sizes of records, which differ between partitions, and what tasks of this run have reported about them. */
private[simulation] final class ModelSizes(defect: Defect) {
  private var reported = Map.empty[(String, String, Int), MeanSize]

  /** Batches with more bytes than their limit. */
  var excessive = Vector.empty[String]

  def restart(): Unit = reported = Map.empty

  def known(span: Span): Option[MeanSize] =
    reported.get((span.cluster, span.topic, span.partition)).filter(_ => defect.knowsSizes)

  def read(id: String, range: OffsetRange, records: Int): Unit = if (records > 0) {
    val key = (id, range.topic, range.partition)
    val size = MeanSize(records.toLong, of(id, range.topic, range.partition).toDouble)
    reported = reported.updated(key, reported.get(key).fold(size)(_.and(size)))
  }

  /** A batch of partitions whose sizes have been reported has the bytes of the limit at most, or one record. */
  def check(spans: IndexedSeq[Span], granted: IndexedSeq[Long], most: ReadLimit): Unit = {
    val parts = spans.zip(granted).filter(_._2 > 0)
    val areKnown = parts.forall { case (s, _) => reported.contains((s.cluster, s.topic, s.partition)) }
    val bytes = parts.map { case (s, n) => n * of(s.cluster, s.topic, s.partition) }.sum
    for (limit <- Limits.bytes(most) if areKnown && granted.sum > 1 && !most.isInstanceOf[ReadAllAvailable])
      if (bytes > limit) excessive :+= s"$bytes bytes in a batch of at most $limit"
  }

  private def of(id: String, topic: String, partition: Int): Long =
    500L << Math.floorMod((id, topic, partition).hashCode, 6)
}

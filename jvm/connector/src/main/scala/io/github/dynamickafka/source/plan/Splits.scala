package io.github.dynamickafka.source.plan

import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.offset.budget.BudgetShare

/**
 * Splits ranges for `maxRecordsPerPartition`, then for `minPartitions`, like Spark's Kafka source but over all
 * clusters. Pure. Ranges and their parts stay in order. Only the first part of a range starts at a position of the query, so
 * only its log has to be compared with a leader epoch: the other parts start at offsets that were found in the log as it is.
 *
 * @param minPartitions the minimum number of parts, if there are as many records; larger ranges are split into more
 *                      parts
 * @param maxRecords the maximum number of records of a part
 */
private[source] final case class Splits(minPartitions: Option[Int], maxRecords: Option[Long]) {

  /** Whether the user has set the number or size of tasks. */
  def asked: Boolean = minPartitions.isDefined || maxRecords.isDefined

  def apply(byCluster: Seq[Seq[OffsetRange]]): Seq[Seq[OffsetRange]] = {
    val small = byCluster.map(_.flatMap(range => maxRecords.fold(Seq(range))(inPartsOf(range, _))))
    minPartitions.filter(_ > small.iterator.map(_.size).sum).fold(small)(inParts(small, _))
  }

  /**
   * Distributes parts over ranges like records over partitions: one for each range, the others in proportion to size.
   */
  private def inParts(byCluster: Seq[Seq[OffsetRange]], parts: Int): Seq[Seq[OffsetRange]] = {
    val shares = BudgetShare(byCluster.flatten.map(_.size).toIndexedSeq, parts.toLong).iterator
    byCluster.map(_.flatMap(range => split(range, math.max(1L, shares.next()))))
  }

  private def inPartsOf(range: OffsetRange, most: Long): Seq[OffsetRange] =
    split(range, range.size / most + (if (range.size % most == 0) 0L else 1L))

  private def split(range: OffsetRange, parts: Long): Seq[OffsetRange] = {
    def at(part: Long) = (BigInt(range.from) + BigInt(range.size) * part / parts).toLong
    (0L until parts).map(part =>
      range.copy(from = at(part), until = at(part + 1), epoch = range.epoch.filter(_ => part == 0))
    )
  }
}

private[source] object Splits {
  val none: Splits = Splits(None, None)
}

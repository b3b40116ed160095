package io.github.dynamickafka.offset

/**
 * Reduces the records of a trigger to a budget in bytes over all partitions of all clusters. Pure.
 *
 * The result has at most as many bytes as the budget, or one record. It shares the bytes in proportion to those that are unread, and
 * leaves no record out that fits. The partition that was served longest ago is always served.
 */
private[dynamickafka] object ByteShare {

  /**
   * @param records the number of records that may be read of each partition, in a stable order; at least 0
   * @param sizes the mean size of the records of each partition; at least 1
   * @param budget in bytes
   * @param served when a partition was served last: a number that increases from trigger to trigger
   * @return the number of records to read of each partition, in the same order
   */
  def apply(
      records: IndexedSeq[Long],
      sizes: IndexedSeq[Long],
      budget: Long,
      served: Int => Long = _ => 0L
  ): IndexedSeq[Long] = {
    def bytes(i: Int, n: Long) = BigInt(n) * sizes(i)
    val waiting = records.indices.filter(records(_) > 0)
    if (waiting.iterator.map(i => bytes(i, records(i))).sum <= budget) records
    else {
      val inTurn = waiting.sortBy(served)
      val (first, left) = oneEach(inTurn, sizes, budget)
      val unread = first.iterator.map(i => bytes(i, records(i) - 1)).sum
      val shares = first.map { i =>
        val share = if (unread == 0) BigInt(0) else left * bytes(i, records(i) - 1) / unread / sizes(i)
        i -> (1L + share.min(records(i) - 1).toLong)
      }
      val spare = left - shares.iterator.map { case (i, n) => bytes(i, n - 1) }.sum
      val granted = shares.foldLeft((spare, Map.empty[Int, Long])) { case ((left, all), (i, n)) =>
        val more = (left / sizes(i)).min(records(i) - n).toLong
        (left - bytes(i, more), all.updated(i, n + more))
      }._2
      records.indices.map(i => granted.getOrElse(i, 0L))
    }
  }

  /** The partitions of which one record fits, the first one in any case, and the rest of the budget; at least 0. */
  private def oneEach(
      inTurn: IndexedSeq[Int],
      sizes: IndexedSeq[Long],
      budget: Long
  ): (Vector[Int], BigInt) =
    inTurn.tail.foldLeft((Vector(inTurn.head), BigInt(budget - sizes(inTurn.head)).max(0))) {
      case ((all, left), i) if left >= sizes(i) => (all :+ i, left - sizes(i))
      case (same, _) => same
    }
}

package io.github.dynamickafka.offset

/**
 * Distributes the budget of a trigger over all partitions of all clusters in proportion to their lag. Pure.
 *
 * The result never exceeds the budget or the lag, and no partition starves: each partition with lag gets at least one
 * record if the budget allows, otherwise the partitions take turns from trigger to trigger.
 */
private[dynamickafka] object BudgetShare {

  /**
   * @param lags the number of unread records of each partition, in a stable order; at least 0
   * @param budget the maximum number of records of all partitions
   * @param turn a number that increases from trigger to trigger
   * @return the number of records to read of each partition, in the same order
   */
  def apply(lags: IndexedSeq[Long], budget: Long, turn: Long): IndexedSeq[Long] = {
    val waiting = lags.indices.filter(lags(_) > 0)
    val total = waiting.iterator.map(i => BigInt(lags(i))).sum
    if (total <= budget) lags
    else if (budget <= 0) lags.map(_ => 0L)
    else if (budget <= waiting.size) oneEach(lags, waiting, budget.toInt, turn)
    else byLag(lags, waiting, budget, total)
  }

  private def oneEach(
      lags: IndexedSeq[Long],
      waiting: IndexedSeq[Int],
      budget: Int,
      turn: Long
  ): IndexedSeq[Long] = {
    // Turn n starts at the partition after the last one of turn n - 1, as long as the same partitions have lag.
    val first = (BigInt(turn) * budget).mod(waiting.size).toInt
    val served = Iterator.tabulate(budget)(k => waiting((first + k) % waiting.size)).toSet
    lags.indices.map(i => if (served(i)) 1L else 0L)
  }

  /** One record for each partition, the rest in proportion to the lag, with the largest remainders rounded up. */
  private def byLag(
      lags: IndexedSeq[Long],
      waiting: IndexedSeq[Int],
      budget: Long,
      total: BigInt
  ): IndexedSeq[Long] = {
    val spare = BigInt(budget) - waiting.size
    val weight = total - waiting.size
    val shares = waiting.map { i =>
      val (whole, remainder) = ((BigInt(lags(i)) - 1) * spare) /% weight
      (i, whole.toLong, remainder)
    }
    val left = (spare - shares.iterator.map(s => BigInt(s._2)).sum).toInt
    val more = shares.sortBy(s => (-s._3, s._1)).iterator.map(_._1).take(left).toSet
    val granted = shares.iterator.map { case (i, whole, _) =>
      i -> (1L + whole + (if (more(i)) 1L else 0L))
    }.toMap
    lags.indices.map(i => granted.getOrElse(i, 0L))
  }
}

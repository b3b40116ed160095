package io.github.dynamickafka.offset

/**
 * Shares a trigger's budget over all partitions of all clusters by lag. Pure.
 *
 * Never more than the budget, never past what is available, and nobody starves: each partition with lag gets
 * at least one record when the budget allows, and where it does not, the turn moves on from trigger to trigger.
 */
private[dynamickafka] object BudgetShare {

  /**
   * @param lags records waiting, by partition, in a stable order; at least 0
   * @param budget for all of them together
   * @param turn a number that grows from trigger to trigger
   * @return how many records of each, in the same order
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
    // Turn n begins where turn n - 1 ended, as long as the same partitions wait.
    val first = (BigInt(turn) * budget).mod(waiting.size).toInt
    val served = Iterator.tabulate(budget)(k => waiting((first + k) % waiting.size)).toSet
    lags.indices.map(i => if (served(i)) 1L else 0L)
  }

  /** One for everybody, the rest in proportion to the lag, what rounding leaves to the largest remainders. */
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

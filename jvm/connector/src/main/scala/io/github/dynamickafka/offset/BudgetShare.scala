package io.github.dynamickafka.offset

/**
 * Distributes the budget of a trigger over all partitions of all clusters in proportion to their lag. Pure.
 *
 * The result never exceeds the budget or the lag, and no partition starves: each partition with lag gets at least one
 * record if the budget allows, otherwise those that were served longest ago come first.
 */
private[dynamickafka] object BudgetShare {

  /**
   * @param lags the number of unread records of each partition, in a stable order; at least 0
   * @param budget the maximum number of records of all partitions
   * @param served when a partition was served last: a number that increases from trigger to trigger
   * @return the number of records to read of each partition, in the same order
   */
  def apply(lags: IndexedSeq[Long], budget: Long, served: Int => Long = _ => 0L): IndexedSeq[Long] = {
    val waiting = lags.indices.filter(lags(_) > 0)
    val total = waiting.iterator.map(i => BigInt(lags(i))).sum
    if (total <= budget) lags
    else if (budget <= 0) lags.map(_ => 0L)
    else if (budget <= waiting.size) oneEach(lags, waiting, budget.toInt, served)
    else byLag(lags, waiting, budget, total)
  }

  private def oneEach(
      lags: IndexedSeq[Long],
      waiting: IndexedSeq[Int],
      budget: Int,
      served: Int => Long
  ): IndexedSeq[Long] = {
    val first = waiting.sortBy(served).iterator.take(budget).toSet
    lags.indices.map(i => if (first(i)) 1L else 0L)
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

/**
 * The mean size of records of a partition, as tasks have measured it: keys, values and headers without compression. Pure.
 *
 * @param records how many records it is the mean of
 * @param bytes of one record
 */
private[dynamickafka] final case class MeanSize(records: Long, bytes: Double) {

  /** The mean of both. Of many records, only a limited number counts, so that the mean follows sizes that change. */
  def and(that: MeanSize): MeanSize = {
    val all = records + that.records
    if (all == 0L) this
    else MeanSize(
      math.min(all, MeanSize.MostRecords),
      (bytes * records.toDouble + that.bytes * that.records.toDouble) / all.toDouble
    )
  }
}

private[dynamickafka] object MeanSize {
  private val MostRecords = 10000L

  /** What the first batch of a run assumes of a record. */
  val Assumed: Long = 1024L

  val none: MeanSize = MeanSize(0L, 0.0)

  /** The size of a record of each partition: where it is not known, the mean of the others. */
  def estimates(known: IndexedSeq[Option[MeanSize]]): IndexedSeq[Long] = {
    val measured = known.flatten.filter(_.records > 0)
    val others = if (measured.isEmpty) Assumed else rounded(measured.reduce(_.and(_)))
    known.map(_.filter(_.records > 0).fold(others)(rounded))
  }

  private def rounded(size: MeanSize) = math.max(1L, math.ceil(size.bytes).toLong)
}

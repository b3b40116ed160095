package io.github.dynamickafka.offset

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

package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.connector.read.streaming.{
  CompositeReadLimit,
  ReadAllAvailable,
  ReadLimit,
  ReadMaxBytes,
  ReadMaxRows,
  ReadMinRows
}

import io.github.dynamickafka.config.LimitOptions
import io.github.dynamickafka.offset.{BudgetShare, LogKey, MeanSize, Span}

/**
 * The limits of a trigger.
 *
 * If limits leave partitions out, those that were served longest ago come first, within their cluster and over all
 * clusters. So the partition that has waited longest is always served, and each one is served after a number of batches
 * that is at most the number of partitions.
 */
private[dynamickafka] final class Limits {
  private var turn = 0L
  private var lastBatch: Option[Long] = None

  /** The last turn in which a partition was served, since limits have left partitions out. */
  private var served = Map.empty[LogKey, Long]

  /**
   * Returns the number of records to read of each span, in the same order.
   *
   * @param ofCluster `cluster.<id>.maxOffsetsPerTrigger`
   * @param now monotonic milliseconds
   * @param wait whether the batch may be delayed until there are `minOffsetsPerTrigger` records
   * @param sizes what is known of the sizes of records
   */
  def grant(
      spans: IndexedSeq[Span],
      limit: ReadLimit,
      ofCluster: String => Option[Long],
      now: Long,
      wait: Boolean,
      sizes: Span => Option[MeanSize] = _ => None
  ): IndexedSeq[Long] = {
    val lags = spans.map(_.lag)
    limit match {
      case _: ReadAllAvailable => lags
      case _ if wait && putOff(lags, limit, now) => lags.map(_ => 0L)
      case _ =>
        lastBatch = Some(now)
        val last = spans.map(s => served.getOrElse(s.key, 0L))
        val within = withinClusters(spans, lags, ofCluster, last)
        val records = Limits.budget(limit).fold(within)(BudgetShare(within, _, last))
        val granted = Limits.bytes(limit).fold(records)(
          ByteShare(records, MeanSize.estimates(spans.map(sizes)), _, last)
        )
        remember(spans, lags, granted, last)
        granted
    }
  }

  private def remember(
      spans: IndexedSeq[Span],
      lags: IndexedSeq[Long],
      granted: IndexedSeq[Long],
      last: IndexedSeq[Long]
  ): Unit = {
    turn += 1
    val all = lags.indices.forall(i => lags(i) == 0L || granted(i) > 0L)
    served =
      if (all) Map.empty
      else spans.indices.iterator.map(i => spans(i).key -> (if (granted(i) > 0L) turn else last(i))).toMap
  }

  /** Whether the batch waits for more records. As in Spark's Kafka source, the first one never waits. */
  private def putOff(lags: IndexedSeq[Long], limit: ReadLimit, now: Long): Boolean =
    Limits.fewest(limit).exists { fewest =>
      lastBatch.exists(
        now - _ < fewest.maxTriggerDelayMs
      ) && lags.iterator.map(BigInt(_)).sum < fewest.minRows
    }

  private def withinClusters(
      spans: IndexedSeq[Span],
      lags: IndexedSeq[Long],
      ofCluster: String => Option[Long],
      last: IndexedSeq[Long]
  ): IndexedSeq[Long] = {
    val limited = for {
      (cluster, indices) <- spans.indices.groupBy(spans(_).cluster).iterator
      most <- ofCluster(cluster).iterator
      granted <- indices.iterator.zip(BudgetShare(indices.map(lags), most, k => last(indices(k))).iterator)
    } yield granted
    val shares = limited.toMap
    if (shares.isEmpty) lags else lags.indices.map(i => shares.getOrElse(i, lags(i)))
  }
}

private[source] object Limits {
  def of(options: LimitOptions): ReadLimit = {
    // Never `allAvailable`: `Trigger.Once` passes it to disable all limits, including those of clusters.
    val upper = ReadLimit.maxRows(options.maxOffsetsPerTrigger.getOrElse(Long.MaxValue))
    val least = options.minOffsetsPerTrigger.map(ReadLimit.minRows(_, options.maxTriggerDelayMs))
    val others = least ++ options.maxBytesPerTrigger.map(ReadLimit.maxBytes)
    if (others.isEmpty) upper else ReadLimit.compositeLimit((others ++ Seq(upper)).toArray)
  }

  private def all(limit: ReadLimit): Seq[ReadLimit] = limit match {
    case many: CompositeReadLimit => many.getReadLimits.toSeq.flatMap(all)
    case one => Seq(one)
  }

  private def fewest(limit: ReadLimit): Option[ReadMinRows] =
    all(limit).collectFirst { case rows: ReadMinRows => rows }

  def budget(limit: ReadLimit): Option[Long] =
    all(limit).collect { case rows: ReadMaxRows => rows.maxRows }.minOption

  def bytes(limit: ReadLimit): Option[Long] =
    all(limit).collect { case bytes: ReadMaxBytes => bytes.maxBytes }.minOption
}

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

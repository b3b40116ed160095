package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.connector.read.streaming.{
  CompositeReadLimit,
  ReadAllAvailable,
  ReadLimit,
  ReadMaxRows,
  ReadMinRows
}

import io.github.dynamickafka.offset.{BudgetShare, Span}

/**
 * The limits of a trigger.
 *
 * @param ofCluster `cluster.<id>.maxOffsetsPerTrigger`
 */
private[source] final class Limits(ofCluster: String => Option[Long]) {
  private var turn = 0L
  private var lastBatch: Option[Long] = None

  /**
   * Returns the number of records to read of each span, in the same order.
   *
   * @param now monotonic milliseconds
   * @param wait whether the batch may be delayed until there are `minOffsetsPerTrigger` records
   */
  def grant(spans: IndexedSeq[Span], limit: ReadLimit, now: Long, wait: Boolean): IndexedSeq[Long] = {
    turn += 1
    val lags = spans.map(_.lag)
    limit match {
      case _: ReadAllAvailable => lags
      case _ if wait && putOff(lags, limit, now) => lags.map(_ => 0L)
      case _ =>
        lastBatch = Some(now)
        val within = withinClusters(spans, lags)
        Limits.budget(limit).fold(within)(BudgetShare(within, _, turn))
    }
  }

  /** As in Spark's Kafka source, the first trigger never waits. */
  private def putOff(lags: IndexedSeq[Long], limit: ReadLimit, now: Long): Boolean =
    Limits.fewest(limit).exists { fewest =>
      lastBatch.exists(
        now - _ < fewest.maxTriggerDelayMs
      ) && lags.iterator.map(BigInt(_)).sum < fewest.minRows
    }

  private def withinClusters(spans: IndexedSeq[Span], lags: IndexedSeq[Long]): IndexedSeq[Long] =
    spans.indices.groupBy(spans(_).cluster).foldLeft(lags) { case (all, (cluster, indices)) =>
      ofCluster(cluster).fold(all) { most =>
        val granted = BudgetShare(indices.map(lags), most, turn)
        indices.zip(granted).foldLeft(all) { case (out, (i, n)) => out.updated(i, n) }
      }
    }
}

private[source] object Limits {
  def limit(least: Option[Long], maxDelayMs: Long, most: Option[Long]): ReadLimit = {
    // Never `allAvailable`: `Trigger.Once` passes it to disable all limits, including those of clusters.
    val upper = ReadLimit.maxRows(most.getOrElse(Long.MaxValue))
    least.fold(upper)(n => ReadLimit.compositeLimit(Array(ReadLimit.minRows(n, maxDelayMs), upper)))
  }

  private def fewest(limit: ReadLimit): Option[ReadMinRows] = limit match {
    case rows: ReadMinRows => Some(rows)
    case many: CompositeReadLimit => many.getReadLimits.flatMap(fewest(_)).headOption
    case _ => None
  }

  def budget(limit: ReadLimit): Option[Long] = limit match {
    case rows: ReadMaxRows => Some(rows.maxRows)
    case many: CompositeReadLimit => many.getReadLimits.flatMap(budget(_)).minOption
    case _ => None
  }
}

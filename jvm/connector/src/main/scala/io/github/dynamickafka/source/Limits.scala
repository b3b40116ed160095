package io.github.dynamickafka.source

import org.apache.spark.sql.connector.read.streaming.{
  CompositeReadLimit,
  ReadAllAvailable,
  ReadLimit,
  ReadMaxRows
}

import io.github.dynamickafka.offset.{Admit, Span}

/**
 * How much of what is there a trigger takes.
 *
 * @param ofCluster `cluster.<id>.maxOffsetsPerTrigger`
 */
private[source] final class Limits(ofCluster: String => Option[Long]) {
  private var turn = 0L

  /** How many records of each span, in their order. */
  def grant(spans: IndexedSeq[Span], limit: ReadLimit): IndexedSeq[Long] = {
    turn += 1
    val lags = spans.map(_.lag)
    limit match {
      case _: ReadAllAvailable => lags
      case _ =>
        val within = withinClusters(spans, lags)
        Limits.budget(limit).fold(within)(Admit(within, _, turn))
    }
  }

  private def withinClusters(spans: IndexedSeq[Span], lags: IndexedSeq[Long]): IndexedSeq[Long] =
    spans.indices.groupBy(spans(_).cluster).foldLeft(lags) { case (all, (cluster, indices)) =>
      ofCluster(cluster).fold(all) { most =>
        val granted = Admit(indices.map(lags), most, turn)
        indices.zip(granted).foldLeft(all) { case (out, (i, n)) => out.updated(i, n) }
      }
    }
}

private[source] object Limits {
  def budget(limit: ReadLimit): Option[Long] = limit match {
    case rows: ReadMaxRows => Some(rows.maxRows)
    case many: CompositeReadLimit => many.getReadLimits.flatMap(budget(_)).minOption
    case _ => None
  }
}

package io.github.dynamickafka.sink

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.gauge.GaugeSet
import io.github.dynamickafka.sink.commit.Prepared

/**
 * The gauges of one query that writes. Those of a cluster exist while it is in the metadata or has transactions to commit. The
 * thread of the query sets the values, and any thread reads them. A failure is logged and does not fail the query.
 *
 * @param metadataAgeMs of the last good answer
 */
private[sink] final class SinkGauges(
    gauges: GaugeSet,
    metadataAgeMs: () => Long,
    metadataFailures: () => Long,
    clock: Clock
) {
  import SinkGauges._

  @volatile private var values = Values()
  private var ids = Option.empty[Set[String]]

  /**
   * The tasks of a batch are started.
   *
   * @param clusters the clusters of the metadata
   * @param open what the finished tasks have left open
   * @param timeoutMs `transaction.timeout.ms` of a cluster; None: it has no transactions
   * @param leftOut how many clusters are left out of the batch
   */
  def begin(
      clusters: Set[String],
      open: Option[OpenTransactions],
      timeoutMs: String => Option[Long],
      leftOut: Int = 0
  ): Unit =
    change(_.copy(
      leftOut = leftOut,
      clusters = clusters,
      pending = Map.empty,
      open = open,
      startedMs = clock.currentTimeMillis(),
      timeoutMs = clusters.flatMap(id => timeoutMs(id).map(id -> _)).toMap
    ))

  /** What this run or an earlier one has decided is committed now. */
  def decided(transactions: Seq[Prepared]): Unit =
    change(_.copy(pending = transactions.groupMapReduce(_.cluster)(_ => 1L)(_ + _)))

  /** The batch is committed, with these transactions. */
  def committed(written: Seq[Map[String, Written]], transactions: Int): Unit = change { v =>
    val sum = written.foldLeft(v.written)((all, task) =>
      task.foldLeft(all) { case (of, (id, more)) =>
        of.updatedWith(id)(known => Some(known.fold(more)(_ + more)))
      }
    )
    v.copy(written = sum, committed = v.committed + transactions, open = None, pending = Map.empty)
  }

  /** The batch is aborted. A decided one is not. */
  def aborted(): Unit = change(v => if (v.pending.isEmpty) v.copy(open = None) else v)

  def close(): Unit = safely(gauges.close())

  /** In real-time mode, also called by a thread of Spark when a task has finished. */
  private def change(how: Values => Values): Unit = safely(synchronized {
    values = how(values)
    val wanted = values.clusters ++ values.pending.keySet
    if (!ids.contains(wanted)) {
      gauges.show(ofQuery, wanted.map(id => id -> ofCluster(id)).toMap)
      ids = Some(wanted)
    } else gauges.changed()
  })

  private def ofQuery: Map[String, () => Long] = Map(
    "kafkaClustersCount" -> (() => values.clusters.size.toLong),
    "leftOutClusters" -> (() => values.leftOut.toLong),
    "recordsWritten" -> (() => values.written.valuesIterator.map(_.records).sum),
    "bytesWritten" -> (() => values.written.valuesIterator.map(_.bytes).sum),
    "openTransactions" -> (() => values.ids.iterator.map(values.opened).sum),
    "pendingTransactions" -> (() => values.pending.valuesIterator.sum),
    "committedTransactions" -> (() => values.committed),
    "transactionAgePercent" -> (() => values.ids.iterator.map(agePercent).maxOption.getOrElse(0L)),
    "metadataAgeMs" -> metadataAgeMs,
    "metadataFailures" -> metadataFailures
  )

  private def ofCluster(id: String): Map[String, () => Long] = Map(
    "recordsWritten" -> (() => values.written.get(id).fold(0L)(_.records)),
    "bytesWritten" -> (() => values.written.get(id).fold(0L)(_.bytes)),
    "openTransactions" -> (() => values.opened(id)),
    "pendingTransactions" -> (() => values.pending.getOrElse(id, 0L)),
    "transactionAgeMs" -> (() => ageMs(id)),
    "transactionTimeoutMs" -> (() => values.timeoutMs.getOrElse(id, 0L))
  )

  /** Of the oldest transaction of the batch. No transaction is older than its batch, whatever the clock of its executor says. */
  private def ageMs(id: String): Long = {
    val (now, v) = (clock.currentTimeMillis(), values)
    v.open.flatMap(_.of(id)).fold(0L)(transactions =>
      math.max(0L, now - math.max(transactions.beganMs, v.startedMs))
    )
  }

  private def agePercent(id: String): Long =
    values.timeoutMs.get(id).filter(_ > 0).fold(0L)(ageMs(id) * 100 / _)

  private def safely(step: => Unit): Unit =
    try step
    catch { case NonFatal(e) => log.warn("Failed to update the gauges of the query", e) }
}

private[sink] object SinkGauges {
  private val log = LoggerFactory.getLogger(classOf[SinkGauges])

  /**
   * @param clusters in the metadata
   * @param leftOut how many clusters are left out of the batch
   * @param written since the query started, in finished batches
   * @param committed the number of transactions since the query started
   * @param pending transactions that are decided and not committed, by cluster
   * @param startedMs when the tasks of the batch were started, in milliseconds since the epoch
   */
  private final case class Values(
      clusters: Set[String] = Set.empty,
      leftOut: Int = 0,
      written: Map[String, Written] = Map.empty,
      committed: Long = 0L,
      open: Option[OpenTransactions] = None,
      pending: Map[String, Long] = Map.empty,
      startedMs: Long = 0L,
      timeoutMs: Map[String, Long] = Map.empty
  ) {
    def ids: Set[String] = clusters ++ pending.keySet
    def opened(id: String): Long =
      if (pending.nonEmpty) 0L else open.flatMap(_.of(id)).fold(0L)(_.transactions.toLong)
  }
}

package io.github.dynamickafka.sink.commit

import org.apache.spark.sql.connector.write.WriterCommitMessage

/**
 * A transaction whose records are all in Kafka, and which stays open until it is committed or aborted.
 *
 * @param partition the number of the task in its batch
 * @param rows the number of records
 * @param topics the topics of the records
 */
private[sink] final case class Prepared(
    cluster: String,
    transactionalId: String,
    producerId: Long,
    epoch: Short,
    partition: Int,
    rows: Long,
    topics: Seq[String]
)

/**
 * The message of a task to the driver.
 *
 * @param retried whether an earlier attempt may have left an open transaction
 * @param withheld the number of records, by cluster, that were not written because this task's part is already
 *                 committed
 * @param ages how long its transactions have been open
 */
private[sink] final case class TaskTransactions(
    prepared: Seq[Prepared],
    retried: Boolean,
    partition: Int,
    withheld: Map[String, Long],
    ages: Ages
) extends WriterCommitMessage

/**
 * How long the transactions of a task had been open when they were prepared.
 *
 * @param openMs by cluster, in milliseconds, by the monotonic clock of the executor
 * @param atMs when they were prepared, in milliseconds since the epoch by the clock of the executor
 */
private[sink] final case class Ages(openMs: Map[String, Long], atMs: Long) {

  /**
   * The age of the transaction on a cluster now.
   *
   * @param sinceStartMs the time since the tasks were started: no transaction is older, whatever the clocks say
   * @param nowMs milliseconds since the epoch, by the clock of the driver
   */
  def of(cluster: String, sinceStartMs: Long, nowMs: Long): Long =
    openMs.get(cluster).fold(sinceStartMs)(open => math.min(sinceStartMs, open + math.max(0L, nowMs - atMs)))
}

private[sink] object Ages {
  val none: Ages = Ages(Map.empty, 0L)
}

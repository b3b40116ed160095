package io.github.dynamickafka.sink.transaction

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
 */
private[sink] final case class TaskTransactions(
    prepared: Seq[Prepared],
    retried: Boolean,
    partition: Int,
    withheld: Map[String, Long]
) extends WriterCommitMessage

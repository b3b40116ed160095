package io.github.dynamickafka.sink.transaction

import org.apache.spark.sql.connector.write.WriterCommitMessage

/**
 * A transaction with all its records in Kafka, open until somebody ends it.
 *
 * @param partition the task's number in its batch
 * @param rows records in it
 * @param topics that they are in
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
 * What a task hands to the driver.
 *
 * @param retried whether an earlier attempt may have left something behind
 * @param withheld records for clusters that have this task's part already
 */
private[sink] final case class TaskTransactions(
    prepared: Seq[Prepared],
    retried: Boolean,
    partition: Int,
    withheld: Map[String, Long]
) extends WriterCommitMessage

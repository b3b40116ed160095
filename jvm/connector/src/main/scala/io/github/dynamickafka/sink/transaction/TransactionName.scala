package io.github.dynamickafka.sink.transaction

/**
 * The transactional ids of one run of a query.
 *
 * They contain the id of the query, the run, because tasks of earlier runs may still be running, and the task attempt,
 * so that no attempt can fence the successful one. Of the batch number, they contain only its parity: the next batch
 * starts after this one is committed, so two sets of ids are sufficient. This limits the number of ids, which brokers
 * keep for days.
 *
 * @param prefix `transactionalIdPrefix`
 * @param run eight characters, unique for each start
 */
private[sink] final case class TransactionName(prefix: String, queryId: String, run: String) {

  def ofQuery: String = s"$prefix-$queryId-"
  def ofRun: String = s"$ofQuery$run-"

  def id(epoch: Long, partition: Int, stageAttempt: Int, attempt: Int): String =
    s"$ofRun${epoch % 2}-$partition-$stageAttempt.$attempt"
}

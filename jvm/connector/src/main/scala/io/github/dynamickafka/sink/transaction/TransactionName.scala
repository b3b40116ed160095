package io.github.dynamickafka.sink.transaction

/**
 * The transactional ids of one run of a query.
 *
 * They tell the query apart from others (its id), a run from earlier ones, whose tasks may still be at work somewhere, and
 * an attempt of a task from others, so that none can fence the one that wins. Of the batch, only whether its number is
 * even is told: the next batch starts when this one is committed, so two sets of ids are enough, and brokers, which
 * keep each id for days, are not filled with them.
 *
 * @param prefix `transactionalIdPrefix`
 * @param run of eight letters, another one for each start
 */
private[sink] final case class TransactionName(prefix: String, queryId: String, run: String) {

  def ofQuery: String = s"$prefix-$queryId-"
  def ofRun: String = s"$ofQuery$run-"

  def id(epoch: Long, partition: Int, stageAttempt: Int, attempt: Int): String =
    s"$ofRun${epoch % 2}-$partition-$stageAttempt.$attempt"
}

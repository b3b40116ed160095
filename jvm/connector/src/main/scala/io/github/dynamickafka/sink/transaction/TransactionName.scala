package io.github.dynamickafka.sink.transaction

/**
 * The transactional ids of one run of a query.
 *
 * They contain the id of the query; the journal, because a copied checkpoint has the same query; the generation of the
 * run, because tasks of earlier runs may still be running; the cluster, because two cluster ids may lead to one Kafka
 * cluster; and the task attempt, so that no attempt can fence the successful one. Of the batch number, they contain only
 * its parity: the next batch starts after this one is committed, so two sets of ids are sufficient, or a few more, see
 * [[IdSets]]. This limits the number of ids, which brokers keep for days.
 *
 * @param prefix `transactionalIdPrefix`
 * @param instance identifies the journal
 * @param generation grows with each start
 */
private[sink] final case class TransactionName(
    prefix: String,
    queryId: String,
    instance: String,
    generation: Long
) {
  private def ofJournal: String = s"$prefix-$queryId-$instance-"

  /** @param set the number of the set of ids */
  def id(cluster: String, set: Int, epoch: Long, partition: Int, stageAttempt: Int, attempt: Int): String =
    s"$ofJournal$generation-$cluster-$set.${epoch % 2}-$partition-$stageAttempt.$attempt"

  /** The generation of the run that has this id; None if it is not an id of this query with this journal. */
  def generationOf(id: String): Option[Long] =
    Option.when(
      id.startsWith(ofJournal)
    )(id.drop(ofJournal.length).takeWhile(_ != '-')).flatMap(_.toLongOption)
}

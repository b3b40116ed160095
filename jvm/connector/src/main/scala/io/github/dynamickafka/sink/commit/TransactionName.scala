package io.github.dynamickafka.sink.commit

/**
 * The transactional ids of one run of a query.
 *
 * First attempts of tasks use those of a slot, which the run has made, or has got from a run that had ended: brokers keep ids for
 * days. Others use ids of this run alone, because an attempt that has failed may still run when the run ends.
 *
 * The ids of a run contain the id of the query; the journal, because a copied checkpoint has the same query; the generation of the
 * run, because tasks of earlier runs may still be running; the cluster, because two cluster ids may lead to one Kafka
 * cluster; and the task attempt, so that no attempt can fence the successful one. Of the batch number, they contain only
 * its parity: the next batch starts after this one is committed, so two sets of ids are sufficient, or a few more, see
 * [[IdSets]]. This limits the number of ids.
 *
 * @param prefix `transactionalIdPrefix`
 * @param instance identifies the journal
 * @param generation grows with each start
 * @param inherited the slot of a run that had ended; None: one of its own
 */
private[sink] final case class TransactionName(
    prefix: String,
    queryId: String,
    instance: String,
    generation: Long,
    inherited: Option[String] = None
) {
  import TransactionName._

  private def ofJournal: String = s"$prefix-$queryId-$instance-"
  private def ofRun: String = s"$ofJournal$generation"

  /** What the ids of first attempts begin with. */
  def slot: String = inherited.getOrElse(ofRun)

  /** @param set the number of the set of ids */
  def id(cluster: String, set: Int, epoch: Long, partition: Int, stageAttempt: Int, attempt: Int): String = {
    val base = if (stageAttempt + attempt == 0) slot else ofRun
    s"$base-$cluster-$set.${epoch % 2}-$partition-$stageAttempt.$attempt"
  }

  /** Whether only this run uses the id. */
  def isOwn(id: String): Boolean =
    isOf(ofRun, id) || inherited.exists(isOf(_, id)) && id.endsWith(FirstAttempt)

  /** Whether an earlier run of this journal has made the id, which may be one of the slot that this run has inherited. */
  def isOfEarlier(id: String): Boolean = generationOf(id).exists(_ < generation)

  /** The generation of the run that has made this id; None if it is not an id of this query with this journal. */
  def generationOf(id: String): Option[Long] =
    Option.when(
      id.startsWith(ofJournal)
    )(id.drop(ofJournal.length).takeWhile(_ != '-')).flatMap(_.toLongOption)
}

private[sink] object TransactionName {

  /** What ids of first attempts end with. */
  private val FirstAttempt = "-0.0"

  /** Whether the id is one of a slot. */
  private def isOf(slot: String, id: String): Boolean = id.startsWith(s"$slot-")
}

/**
 * The set of transactional ids that the tasks of a batch use, one of a few. Beginning a transaction fences the former user of its
 * id. An attempt that has been stalled since an earlier batch must not do that to a task of this batch, so a batch that may
 * have left such an attempt is followed by another set. With a limit, because brokers keep ids for days: the same set is
 * used again only after [[IdSets.Most]] such batches.
 */
private[sink] final class IdSets {
  private var number = 0

  def current: Int = number

  /** @param isStalled whether an attempt of the batch that has ended may still run */
  def ended(isStalled: Boolean): Unit = if (isStalled) number = (number + 1) % IdSets.Most
}

private[sink] object IdSets {
  val Most = 4
}

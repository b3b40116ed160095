package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.sink.commit.ResumableProducer.Handle

/**
 * The transactional ids of a run: the ids of a run that has ended, or new ones.
 *
 * Beginning a transaction aborts an open one with the same id, even a decided one. So a slot is passed on only if it is known that no
 * other run can begin a transaction with its ids: the run that had it has given it up, and no run has got it since. Anything
 * else, as after a crash, counts as unknown, and the ids are not used again.
 *
 * Each slot has an id of its own on one cluster, with which no record is written. Initializing its producer increments its epoch, and
 * Kafka returns the new one: if it follows the one of the run that has given up the slot, no other run was in between. This holds for
 * runs that are paused, for copied and for restored files.
 *
 * @param own the ids of this run, if it gets no slot
 * @param arePassedOn whether runs that have ended leave their slots in the journal
 * @param follows whether the slot was not used since it was given up
 */
private[sink] final class TransactionalIds(
    own: TransactionName,
    context: CommitContext,
    arePassedOn: Boolean,
    follows: (FreeSlot, Handle) => Boolean = TransactionalIds.follows
) {
  import TransactionalIds._
  import context.{claim, clusters, journal, pool}

  private var held: Option[FreeSlot] = None
  private var set = 0

  // Whether tasks may begin transactions, and whether it is not known that none does any more, or the slot is not guarded.
  private var isRunning, isDoubtful = false
  private var silent = Set.empty[String]

  def name: TransactionName = own.copy(inherited = held.map(_.slot), set = set)

  /** Called before the first batch, after everything that is decided is ended. */
  def take(): Unit = if (arePassedOn) {
    held = guarded("No transactional ids of earlier runs are used") {
      // Only slots of this journal are taken, and not those of which it is a copy: the next run of the journal finds what is left open.
      val slots = journal.freeSlots().filter(slot => own.isOfEarlier(s"${slot.slot}-"))
      // Nothing shows any more whether another run has used them.
      slots.filter(slot => clusters.hasLeft(slot.cluster)).foreach(journal.remove)
      slots.iterator.filter(slot => clusters.isKnown(slot.cluster) && !silent(slot.cluster))
        .flatMap(inherited).nextOption()
    }.flatten
  }

  private def inherited(slot: FreeSlot): Option[FreeSlot] =
    guarded(s"Whether the transactional ids of '${slot.slot}' are free cannot be determined") {
      silent += slot.cluster
      val guard = initialized(slot.cluster, slot.slot)
      silent -= slot.cluster
      // Whoever has got it, this file is outdated.
      journal.remove(slot)
      Option.when(follows(slot, guard))(slot.copy(epoch = guard.epoch))
    }.flatten

  def begin(): Unit = isRunning = true

  /**
   * A batch is committed, or was before.
   *
   * @param wrote a cluster that has just committed
   * @param firstOnly whether each task was done by its first attempt, so that none can still begin a transaction
   * @param isStalled whether an attempt of the batch may still run
   */
  def ended(wrote: Option[String], firstOnly: Boolean, isStalled: Boolean): Unit = {
    if (isStalled) set = (set + 1) % MostSets
    if (!firstOnly) isDoubtful = true
    if (held.isEmpty && !isDoubtful && arePassedOn) for (cluster <- wrote) {
      held = guarded(s"The transactional ids of '${name.slot}' are not used again") {
        val guard = initialized(cluster, name.slot)
        FreeSlot(name.slot, cluster, guard.producerId, guard.epoch)
      }
      isDoubtful = held.isEmpty
    }
    isRunning = false
  }

  /** The run is over: its ids may be used by another one, unless an attempt of a task may be left, or a decision is open. */
  def release(): Unit = if (!isRunning && !isDoubtful) for (slot <- held) {
    isDoubtful = true
    guarded(s"The transactional ids of '${slot.slot}' are not used again") {
      journal.checkClaim(claim)
      if (journal.newest().forall(_._2)) journal.giveUp(slot)
    }
  }

  /** Runs on another thread, which may hang while it makes the producer: the thread of the query can be interrupted. */
  private def initialized(cluster: String, slot: String): Handle =
    clusters.each(Seq(cluster))(id => pool.fence(clusters.committing(id), s"$slot-$Guard")).head
}

private[sink] object TransactionalIds {
  private val log = LoggerFactory.getLogger(classOf[TransactionalIds])

  private val Guard = "slot"

  /** Most sets of ids, because brokers keep ids for days: a set is used again after as many batches that may have left an attempt. */
  val MostSets = 4

  def follows(slot: FreeSlot, guard: Handle): Boolean =
    guard.producerId == slot.producerId && guard.epoch == slot.epoch + 1

  private def guarded[A](otherwise: String)(body: => A): Option[A] =
    try Some(body)
    catch {
      case NonFatal(e) =>
        log.info(s"$otherwise: $e")
        None
    }
}

/**
 * The transactional ids of one run of a query.
 *
 * First attempts of tasks use those of a slot, which the run has made, or has got from a run that had ended: brokers keep ids for
 * days. Others use ids of this run alone, because an attempt that has failed may still run when the run ends.
 *
 * The ids of a run contain the id of the query; the journal, because a copied checkpoint has the same query; the generation of the
 * run, because tasks of earlier runs may still be running; the cluster, because two cluster ids may lead to one Kafka
 * cluster; and the task attempt, so that no attempt can fence the successful one. Of the batch number, they contain only
 * its parity, because the next batch starts after this one is committed. This limits the number of ids.
 *
 * @param inherited the slot of a run that had ended; None: one of its own
 * @param set grows, up to a limit, with each batch that may have left an attempt: beginning a transaction fences the former user of
 *            its id, and an attempt that was stalled must not do that to a task of a later batch
 */
private[sink] final case class TransactionName(
    prefix: String,
    queryId: String,
    instance: String,
    generation: Long,
    inherited: Option[String] = None,
    set: Int = 0
) {
  private def ofJournal: String = s"$prefix-$queryId-$instance-"
  private def ofRun: String = s"$ofJournal$generation"

  /** What the ids of first attempts begin with. */
  def slot: String = inherited.getOrElse(ofRun)

  def id(cluster: String, epoch: Long, partition: Int, stageAttempt: Int, attempt: Int): String = {
    val base = if (stageAttempt + attempt == 0) slot else ofRun
    s"$base-$cluster-$set.${epoch % 2}-$partition-$stageAttempt.$attempt"
  }

  def isOwn(id: String): Boolean =
    // The ids of first attempts end so.
    id.startsWith(s"$ofRun-") || inherited.exists(slot => id.startsWith(s"$slot-")) && id.endsWith("-0.0")

  /** Whether an earlier run of this journal has made the id, which may be one of the slot that this run has inherited. */
  def isOfEarlier(id: String): Boolean = generationOf(id).exists(_ < generation)

  /** The generation of the run that has made this id; None if it is not an id of this query with this journal. */
  def generationOf(id: String): Option[Long] = Option(id).filter(_.startsWith(ofJournal))
    .flatMap(_.drop(ofJournal.length).takeWhile(_ != '-').toLongOption)
}

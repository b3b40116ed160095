package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.sink.commit.ResumableProducer.Handle

/**
 * Which transactional ids a run uses: those of a run that has ended, or new ones.
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
 * @param free None: the ids are not passed on
 * @param follows whether the slot was not used since it was given up
 */
private[sink] final class Slots(
    own: TransactionName,
    claim: Claim,
    journal: Journal,
    free: Option[FreeSlots],
    clusters: Clusters,
    pool: TransactionPool,
    follows: (FreeSlot, Handle) => Boolean = Slots.follows
) {
  import Slots._

  private var held: Option[FreeSlot] = None
  private var isTaken = false
  private var isRunning = false
  private var isDoubtful = false
  private var current = own
  private var silent = Set.empty[String]

  def name: TransactionName = current

  /** Called before the first batch, after everything that is decided is ended. */
  def take(): Unit = for (f <- free) guarded("No transactional ids of earlier runs are used") {
    // Only slots of this journal are taken: the next run of the journal finds what is left open.
    val (left, there) =
      f.all().filter(slot => own.isOfEarlier(s"${slot.slot}-")).partition(slot =>
        clusters.hasLeft(slot.cluster)
      )
    // Nothing shows any more whether another run has used them.
    left.foreach(f.remove)
    held = there.iterator
      .filter(slot => clusters.isKnown(slot.cluster) && !silent(slot.cluster))
      .flatMap(inherited(f, _)).nextOption()
    current = own.copy(inherited = held.map(_.slot))
  }

  private def inherited(free: FreeSlots, slot: FreeSlot): Option[FreeSlot] =
    guarded(s"Whether the transactional ids of '${slot.slot}' are free cannot be determined") {
      silent += slot.cluster
      val guard = initialized(slot.cluster, slot.slot)
      silent -= slot.cluster
      // Whoever has got it, this file is outdated.
      free.remove(slot)
      Option.when(follows(slot, guard))(slot.copy(epoch = guard.epoch))
    }.flatten

  /** Tasks may begin transactions from now on. */
  def begin(): Unit = isRunning = true

  /**
   * A batch is committed, or was before.
   *
   * @param wrote a cluster that has just committed
   * @param firstOnly whether each task was done by its first attempt, so that none can still begin a transaction
   */
  def ended(wrote: Option[String], firstOnly: Boolean): Unit = {
    if (!firstOnly) isDoubtful = true
    if (held.isEmpty && !isTaken && free.isDefined) for (cluster <- wrote) {
      isTaken = true
      held = guarded(s"The transactional ids of '${current.slot}' are not used again") {
        val guard = initialized(cluster, current.slot)
        FreeSlot(current.slot, cluster, guard.producerId, guard.epoch)
      }
    }
    isRunning = false
  }

  /** The run is over: its ids may be used by another one, unless an attempt of a task may be left, or a decision is open. */
  def release(): Unit = if (!isRunning && !isDoubtful)
    for (f <- free; slot <- held) {
      held = None
      guarded(s"The transactional ids of '${slot.slot}' are not used again") {
        journal.checkClaim(claim)
        if (journal.newest().forall(_._2)) f.add(slot)
      }
    }

  /** On another thread, which may hang while it makes the producer: the thread of the query can be interrupted. */
  private def initialized(cluster: String, slot: String): Handle =
    clusters.each(Seq(cluster))(initialize(_, slot)).head

  private def initialize(cluster: String, slot: String): Handle = {
    val settings = clusters.committing(cluster)
    val producer = pool.acquire(settings, _.begin(s"$slot-$Guard"))
    val handle =
      try producer.prepare()
      catch {
        case NonFatal(e) =>
          val _ = pool.discard(settings, producer, e)
          throw e
      }
    pool.release(settings, producer)
    handle
  }
}

private[sink] object Slots {
  private val log = LoggerFactory.getLogger(classOf[Slots])

  private val Guard = "slot"

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

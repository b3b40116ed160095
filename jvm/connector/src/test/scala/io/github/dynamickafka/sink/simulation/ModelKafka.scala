package io.github.dynamickafka.sink.simulation

import org.apache.kafka.clients.admin.TransactionState
import org.apache.kafka.clients.admin.TransactionState._

/** Who has opened a transaction: an attempt of a task. */
private[simulation] final case class Opener(driver: Driver, batch: Long, cluster: String)

/**
 * A transactional id, as its coordinator knows it.
 *
 * @param sinceMs when it got this state
 * @param records of the transaction that is open
 */
private[simulation] final case class ModelTransaction(
    producerId: Long,
    epoch: Int,
    state: TransactionState,
    sinceMs: Long,
    opener: Opener,
    records: Vector[String] = Vector.empty
) {
  def is(id: Long, at: Int): Boolean = producerId == id && epoch == at
}

/** One transaction, whatever its id is used for later. */
private[simulation] final case class Opened(kafka: String, producerId: Long, epoch: Int)

/**
 * A Kafka cluster, as far as transactions are concerned.
 *
 * @param id `cluster.id`
 * @param timeoutMs `transaction.timeout.ms`
 * @param bumps whether the epoch grows at the end of each transaction (KIP-890)
 */
private[simulation] final class ModelKafka(val id: String, val timeoutMs: Long, bumps: Boolean) {
  var transactions = Map.empty[String, ModelTransaction]
  private var producers = 0L

  /** How often its topic was recreated. */
  private var recreations = 0
  def topicId: String = s"$id-$recreations"

  /** The topic is deleted and created again: what open transactions have written to it is gone. Returns these transactions. */
  def recreateTopic(): Seq[ModelTransaction] = {
    recreations += 1
    val (open, rest) = transactions.partition(_._2.state == ONGOING)
    transactions = rest ++ open.map { case (txn, t) => txn -> t.copy(records = Vector.empty) }
    open.values.toSeq
  }

  /** Puts it back into the state that it has now. */
  def saved(): () => Unit = {
    val (before, count, topics) = (transactions, producers, recreations)
    () => {
      transactions = before
      producers = count
      recreations = topics
    }
  }

  private def newProducer(): Long = {
    producers += 1
    producers
  }

  /** InitProducerId: aborts what is open and fences its producer. */
  def begin(txn: String, opener: Opener, nowMs: Long): ModelTransaction = {
    val next = transactions.get(txn) match {
      case None => ModelTransaction(newProducer(), 0, EMPTY, nowMs, opener)
      // Once to fence, and once when the client repeats its request after the transaction is aborted.
      case Some(t) if t.state == ONGOING =>
        ModelTransaction(t.producerId, t.epoch + 2, EMPTY, nowMs, opener)
      case Some(t) => ModelTransaction(t.producerId, t.epoch + 1, EMPTY, nowMs, opener)
    }
    transactions += txn -> next
    next
  }

  /** Whether the records are in the transaction; if not, the producer is fenced. */
  def append(txn: String, producer: Long, epoch: Int, records: Vector[String], nowMs: Long): Boolean =
    transactions.get(txn).filter(t => t.is(producer, epoch) && (t.state == EMPTY || t.state == ONGOING))
      .map { t =>
        transactions += txn -> t.copy(
          state = ONGOING,
          records = t.records ++ records,
          sinceMs = if (t.state == EMPTY) nowMs else t.sinceMs
        )
      }.isDefined

  def ended(txn: String, t: ModelTransaction, state: TransactionState, nowMs: Long): Unit =
    transactions += txn -> t.copy(state = state, epoch = if (bumps) t.epoch + 1 else t.epoch, sinceMs = nowMs)

  /** Aborts what is open for too long, and returns it; forgets ids that were not used for long. */
  def pass(nowMs: Long): Seq[(String, ModelTransaction)] = {
    val late = transactions.toSeq.filter { case (_, t) =>
      t.state == ONGOING && nowMs - t.sinceMs >= timeoutMs
    }
    late.foreach { case (txn, t) =>
      transactions += txn -> t.copy(
        state = COMPLETE_ABORT,
        epoch = t.epoch + 1,
        sinceMs = t.sinceMs + timeoutMs
      )
    }
    transactions = transactions.filter { case (_, t) =>
      t.state == ONGOING || nowMs - t.sinceMs < ModelKafka.ExpirationMs
    }
    late
  }
}

private[simulation] object ModelKafka {

  /** `transactional.id.expiration.ms` */
  val ExpirationMs: Long = 7L * 24 * 3600 * 1000
}

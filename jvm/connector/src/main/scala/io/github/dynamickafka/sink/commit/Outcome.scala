package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}

import io.github.dynamickafka.sink.transaction.Prepared

/** What became of a transaction that was to be committed. */
private[commit] sealed trait Outcome extends Product with Serializable
private[commit] object Outcome {
  case object Committed extends Outcome

  /** Kafka has aborted it, or forgotten it. */
  final case class Lost(reason: String) extends Outcome

  /** Not known, or not yet. */
  final case class Pending(cause: Throwable) extends Outcome
}

/**
 * What Kafka tells of a transaction, since an error of a commit does not tell whether it has been committed before
 * (measured: a commit that is repeated after the id was used again fails like one that was aborted).
 */
private[commit] object Verdict {

  /** None: it is still open, and can be committed. */
  def apply(transaction: Prepared, told: TransactionDescription): Option[Outcome] = {
    val epoch = told.producerEpoch
    // Newer brokers and clients count the epoch up when a transaction ends (KIP-890).
    val same = told.producerId == transaction.producerId &&
      (epoch == transaction.epoch.toInt || epoch == transaction.epoch + 1)
    told.state match {
      case TransactionState.PREPARE_COMMIT | TransactionState.COMPLETE_COMMIT if same =>
        Some(Outcome.Committed)
      case TransactionState.ONGOING if same && epoch == transaction.epoch.toInt => None
      case state =>
        Some(Outcome.Lost(
          s"Kafka has it as $state, producer ${told.producerId}, epoch $epoch; it was prepared by producer " +
            s"${transaction.producerId}, epoch ${transaction.epoch}"
        ))
    }
  }
}

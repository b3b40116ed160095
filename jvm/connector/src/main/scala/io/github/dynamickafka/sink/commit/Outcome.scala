package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}

import io.github.dynamickafka.sink.transaction.Prepared

/** The outcome of committing a transaction. */
private[commit] sealed trait Outcome extends Product with Serializable
private[commit] object Outcome {
  case object Committed extends Outcome

  /** Kafka has aborted the transaction, or it no longer exists. */
  final case class Lost(reason: String) extends Outcome

  /** The transaction is not committed yet, or the outcome is unknown. */
  final case class Pending(cause: Throwable) extends Outcome
}

/**
 * Determines the outcome from the state of the transaction in Kafka, because the error of a commit does not show
 * whether the transaction was committed before. (Measured: a repeated commit after the id was reused fails like that of
 * an aborted one.)
 */
private[commit] object Verdict {

  /** None if the transaction is still open and can be committed. */
  def apply(transaction: Prepared, told: TransactionDescription): Option[Outcome] = {
    val epoch = told.producerEpoch
    // Newer brokers and clients increment the epoch at the end of a transaction (KIP-890).
    val same = told.producerId == transaction.producerId &&
      (epoch == transaction.epoch.toInt || epoch == transaction.epoch + 1)
    told.state match {
      case TransactionState.PREPARE_COMMIT | TransactionState.COMPLETE_COMMIT if same =>
        Some(Outcome.Committed)
      case TransactionState.ONGOING if same && epoch == transaction.epoch.toInt => None
      case state =>
        Some(Outcome.Lost(
          s"its state in Kafka is $state with producer ${told.producerId}, epoch $epoch; it was prepared by producer " +
            s"${transaction.producerId}, epoch ${transaction.epoch}"
        ))
    }
  }
}

package io.github.dynamickafka.sink.commit

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.TransactionState
import org.apache.kafka.common.errors.LeaderNotAvailableException

/** What is known of a prepared transaction. */
private[sink] sealed trait Outcome extends Product with Serializable
private[sink] object Outcome {
  case object Committed extends Outcome

  /** It can be committed. */
  case object Open extends Outcome

  /** Kafka has aborted the transaction. */
  final case class Lost(reason: String) extends Outcome

  /** Kafka no longer knows whether the transaction was committed, so that no further request can determine it. */
  final case class Unknown(reason: String) extends Outcome

  /** The cluster has not answered, or a partition that it has written to has no leader. */
  final case class Pending(cause: Throwable) extends Outcome {
    def isLeaderless: Boolean = cause.isInstanceOf[LeaderNotAvailableException]
  }
}

/**
 * Determines the outcome from the state of the transaction in Kafka, because the error of a commit does not show
 * whether the transaction was committed before. (Measured: a repeated commit after the id was reused fails like that of
 * an aborted one.)
 */
private[sink] object Verdict {
  import TransactionState._

  /** @param decidedIn Kafka's id of the cluster at the decision, if the broker returned one */
  def apply(transaction: Prepared, decidedIn: Option[String], seen: Seen): Outcome = {
    val other = decidedIn.flatMap(before => seen.clusterId.filter(_ != before).map(before -> _))
    (other, seen.known.get(transaction.transactionalId)) match {
      case (Some((before, now)), _) =>
        Outcome.Unknown(
          s"it was prepared on the Kafka cluster with id $before, but this id of the metadata leads to $now"
        )
      case (None, None) =>
        Outcome.Unknown(
          "Kafka does not know its id, for example because it has expired ('transactional.id.expiration.ms', 7 days by " +
            "default), which happens to committed and to aborted transactions"
        )
      case (None, Some(found)) =>
        val epoch = found.producerEpoch
        val prepared = epoch == transaction.epoch.toInt
        // Newer brokers and clients increment the epoch at the end of a transaction (KIP-890), as a timeout does.
        val same = found.producerId == transaction.producerId && (prepared || epoch == transaction.epoch + 1)
        def text =
          s"its state in Kafka is ${found.state} with producer ${found.producerId}, epoch $epoch; it was prepared by " +
            s"producer ${transaction.producerId}, epoch ${transaction.epoch}"
        found.state match {
          case PREPARE_COMMIT | COMPLETE_COMMIT if same => Outcome.Committed
          case ONGOING if same && prepared =>
            found.topicPartitions.asScala.find(seen.leaderless).fold[Outcome](Outcome.Open)(p =>
              Outcome.Pending(Markers.noLeader(p))
            )
          case PREPARE_ABORT | COMPLETE_ABORT | PREPARE_EPOCH_FENCE if same => Outcome.Lost(text)
          // The id was used again, after either end of the transaction.
          case _ => Outcome.Unknown(text)
        }
    }
  }
}

/** The result for a decided batch, given the outcomes of its transactions. Pure. */
private[sink] sealed trait Decision extends Product with Serializable
private[sink] object Decision {

  /** All transactions are ended. If none is lost, the batch is committed. */
  final case class Ended(lost: Seq[(Prepared, String)]) extends Decision

  /** The result is not known yet. */
  final case class Open(pending: Seq[Prepared], cause: Throwable) extends Decision

  /** The result will never be known. */
  final case class Unknown(unknown: Seq[(Prepared, String)]) extends Decision

  /** @param outcomes none of them [[Outcome.Open]] */
  def of(outcomes: Seq[(Prepared, Outcome)]): Decision = {
    val pending = outcomes.collect { case (t, Outcome.Pending(cause)) => t -> cause }
    val lost = outcomes.collect { case (t, Outcome.Lost(reason)) => t -> reason }
    val unknown = outcomes.collect { case (t, Outcome.Unknown(reason)) => t -> reason }
    if (unknown.nonEmpty) Unknown(unknown)
    else if (pending.nonEmpty) Open(pending.map(_._1), pending.head._2)
    else Ended(lost)
  }

  def at(t: Prepared): String =
    s"cluster '${t.cluster}', transaction '${t.transactionalId}' (task ${t.partition}, ${t.rows} records, topic " +
      s"${t.topics.mkString(", ")})"
}

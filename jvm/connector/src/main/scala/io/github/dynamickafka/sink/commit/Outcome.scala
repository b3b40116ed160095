package io.github.dynamickafka.sink.commit

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.TransactionState
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.LeaderNotAvailableException

private[dynamickafka] sealed abstract class Outcome(of: String) extends Product with Serializable {

  def state: String = of
}
private[dynamickafka] object Outcome {
  case object Committed extends Outcome("committed")

  case object Open extends Outcome("open")

  /** Kafka has aborted the transaction. */
  final case class Lost(reason: String) extends Outcome("aborted")

  /** Kafka no longer knows whether the transaction was committed, so that no further request can determine it. */
  final case class Unknown(reason: String) extends Outcome("unknown")

  /** The cluster has not answered, or a partition that it has written to has no leader. */
  final case class Pending(cause: Throwable) extends Outcome("unreachable") {
    override def state: String = if (isLeaderless) Open.state else super.state
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
              Outcome.Pending(Committer.noLeader(p))
            )
          case PREPARE_ABORT | COMPLETE_ABORT | PREPARE_EPOCH_FENCE if same => Outcome.Lost(text)
          // The id was used again, after either end of the transaction.
          case _ => Outcome.Unknown(text)
        }
    }
  }
}

private[sink] final case class Inspection(outcomes: Seq[(Prepared, Outcome)], seen: Map[String, Seen]) {

  /** The number of replicas in sync of each partition of the transactions, by cluster id. */
  def inSync: Map[String, Map[TopicPartition, Int]] = seen.map { case (id, of) => id -> of.inSyncWritten }

  def topicIds: Map[String, Map[String, String]] = seen.map { case (id, of) => id -> of.topicIds }

  /**
   * The outcomes, with an open transaction as lost if one of its topics was recreated since an earlier time. Such a topic has none of
   * the records that the transaction had written to it, and Kafka commits the transaction without an error.
   *
   * @param counts whether a topic that was recreated makes a transaction count as lost
   */
  def ifNotRecreated(
      before: Map[String, Map[String, String]],
      counts: (Prepared, String) => Boolean = (_, _) => true
  ): Seq[(Prepared, Outcome)] = {
    def id(ids: Map[String, Map[String, String]], t: Prepared, topic: String) =
      ids.get(t.cluster).flatMap(_.get(topic))
    val now = topicIds
    outcomes.map {
      case (t, Outcome.Open) =>
        val recreated = t.topics.find(topic =>
          id(before, t, topic).exists(known => id(now, t, topic).exists(_ != known))
        )
        t -> recreated.filter(counts(t, _)).fold[Outcome](Outcome.Open)(topic =>
          Outcome.Lost(
            s"topic '$topic' was recreated after records were written to it, which it does not have now"
          )
        )
      case other => other
    }
  }
}

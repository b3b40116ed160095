package io.github.dynamickafka.sink.commit

import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.ClusterFailure

/** Queries what has become of transactions: one request per cluster, to all clusters at once. */
private[sink] final class Inspector(clusters: Clusters, clock: Clock) {
  import Inspector._

  /** @param ids Kafka's id of a cluster at the decision */
  def once(transactions: Seq[Prepared], ids: String => Option[String]): Report = {
    val byCluster = transactions.groupBy(_.cluster)
    val seen = clusters.each(byCluster.keys.toSeq.sorted)(id => id -> describe(id, byCluster(id))).toMap
    Report(
      transactions.map(t =>
        t -> seen(t.cluster).fold(Outcome.Pending(_), Verdict(t, ids(t.cluster), _))
      ),
      seen.collect { case (id, Right(Seen(Some(kafkaId), _, _, _))) => id -> kafkaId },
      seen.collect { case (id, Right(answer)) => id -> answer.inSyncWritten },
      seen.collect { case (id, Right(answer)) => id -> answer.topicIds },
      transactions.flatMap(t =>
        seen(t.cluster).toOption.flatMap(_.partitions(t.transactionalId)).map(t -> _)
      ).toMap
    )
  }

  /**
   * The same, repeated until all clusters have answered, or the time limit, or something is committed, or all others refuse
   * the credentials.
   */
  def await(transactions: Seq[Prepared], ids: String => Option[String], deadlineNanos: Long): Report =
    await(transactions, ids, deadlineNanos, failures = 1)

  @annotation.tailrec
  private def await(
      transactions: Seq[Prepared],
      ids: String => Option[String],
      deadlineNanos: Long,
      failures: Int
  ): Report = {
    val report = once(transactions, ids)
    if (!report.isIncomplete || report.isRefused || clock.nanoTime() >= deadlineNanos) report
    else {
      Committer.pause(clock, failures, deadlineNanos)
      await(transactions, ids, deadlineNanos, failures + 1)
    }
  }

  private def describe(id: String, transactions: Seq[Prepared]): Either[Throwable, Seen] =
    try {
      val seen =
        clusters.ask(id)(_.describe(
          transactions.map(_.transactionalId),
          transactions.flatMap(_.topics).toSet
        ))
      clusters.responded(id)
      Right(seen)
    } catch {
      case NonFatal(e) if ClusterFailure.isRefused(e) =>
        Left(ClusterFailure(id, clusters.properties(id).client, e))
      case e @ (_: TimeoutException | _: ju.concurrent.TimeoutException) =>
        clusters.tooSlow(id)
        Left(e)
      case NonFatal(e) => Left(e)
    }
}

private[sink] object Inspector {

  /**
   * @param kafkaIds Kafka's id of each cluster that has one, by cluster id
   * @param inSync the number of replicas in sync of each partition of the transactions, by cluster id
   * @param topicIds Kafka's ids of the topics of the transactions, by cluster id
   * @param partitions of the transactions that Kafka knows
   */
  final case class Report(
      outcomes: Seq[(Prepared, Outcome)],
      kafkaIds: Map[String, String],
      inSync: Map[String, Map[TopicPartition, Int]],
      topicIds: Map[String, Map[String, String]] = Map.empty,
      partitions: Map[Prepared, Set[TopicPartition]] = Map.empty
  ) {

    def isCommitted: Boolean = outcomes.exists(_._2 == Outcome.Committed)

    /** Nothing is committed, and a cluster has not answered: no step can be taken back yet. */
    def isIncomplete: Boolean = !isCommitted && pending.nonEmpty

    /** Each cluster that has not answered has refused the credentials. */
    def isRefused: Boolean = pending.forall(ClusterFailure.isRefused)

    private def pending: Seq[Throwable] = outcomes.collect { case (_, Outcome.Pending(cause)) => cause }
  }
}

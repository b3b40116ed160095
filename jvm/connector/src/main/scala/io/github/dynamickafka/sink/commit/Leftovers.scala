package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.sink.journal.{Claim, Journal}
import io.github.dynamickafka.sink.transaction.{Prepared, TransactionName}

/**
 * Aborts transactions that nothing will commit, so that consumers with isolation level read_committed do not wait for
 * their timeout. Errors are logged.
 *
 * Those of this run, which only this run could decide, always. Those of earlier runs on the same journal only while no
 * later run has claimed it, which may be committing what an earlier run decided. Never those of later runs.
 *
 * @param journal None: there is none
 */
private[commit] final class Leftovers(
    name: TransactionName,
    claim: Claim,
    journal: Option[Journal],
    clusters: Clusters
) {
  import Leftovers._

  // This driver may have been paused since it claimed the journal.
  def ofEarlierRuns(): Unit = abort(_ < claim.generation, () => journal.foreach(_.checkClaim(claim)))

  def ofThisRun(): Unit = abort(_ == claim.generation, () => ())

  /** Aborts transactions of this run that are not decided. */
  def abort(batch: Long, transactions: Seq[Prepared]): Unit = {
    val byCluster = transactions.groupBy(_.cluster)
    clusters.onEach(byCluster.keys.toSeq.sorted) { id =>
      guarded(s"Transactions of batch $batch on Kafka cluster '$id' could not be aborted") {
        clusters.admin(id).fence(byCluster(id).map(_.transactionalId))
      }
    }
  }

  /** On all clusters at once, because one that does not respond takes as long as a request may take. */
  private def abort(generations: Long => Boolean, check: () => Unit): Unit = clusters.onEach(clusters.ids) {
    cluster =>
      guarded(s"Searching for transactions that are left open on Kafka cluster '$cluster' failed") {
        // Read again for each cluster: what is decided meanwhile must be kept.
        val kept = journal.flatMap(_.newest()).toSeq.flatMap(_._1.transactions).map(_.transactionalId).toSet
        val left =
          clusters.ask(cluster)(_.open(id => name.generationOf(id).exists(generations) && !kept(id)))
        if (left.nonEmpty) {
          check()
          log.info(
            s"Aborting transactions that are left open on Kafka cluster '$cluster': ${left.mkString(", ")}"
          )
          clusters.admin(cluster).fence(left)
        }
      }
  }

  private def guarded(failed: String)(body: => Unit): Unit =
    try body
    catch {
      case NonFatal(e) =>
        log.warn(
          s"$failed. Kafka aborts them after their timeout; until then they block consumers with isolation level " +
            s"read_committed: $e"
        )
    }
}

private[commit] object Leftovers {
  private val log = LoggerFactory.getLogger(classOf[Leftovers])
}

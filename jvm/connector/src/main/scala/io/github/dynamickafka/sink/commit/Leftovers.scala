package io.github.dynamickafka.sink.commit

import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

/**
 * Aborts transactions that nothing will commit, so that consumers with isolation level read_committed do not wait for
 * their timeout. Errors are logged.
 *
 * Those of this run, which only this run could decide, always. Those of earlier runs on the same journal only while no
 * later run has claimed it, which may be committing what an earlier run decided. Never those of later runs.
 *
 * @param names the ids of this run
 */
private[commit] final class Leftovers(names: () => TransactionName, context: CommitContext) {
  import Leftovers._
  import context.{claim, clusters, journal}

  private val ofEarlier = new Sweeps(Sweeps.Most)
  private val own = new Sweeps(0)

  // Clusters that have not answered: each search would wait for them. They are searched when they have committed a batch.
  private var silent = Set.empty[String]

  def ofEarlierRuns(): Unit = abortEarlier(asked)

  def ofThisRun(): Unit = abortOwn(asked)

  /** A cluster that was not asked responds again. */
  def again(): Unit = {
    silent = Set.empty
    ofEarlier.again()
    own.again()
  }

  /**
   * An executor of an earlier run, or an attempt that lost, may have opened transactions since the last search: Spark does not
   * wait for their end.
   *
   * @param committed the clusters that have just committed transactions
   * @param hasRetried whether a task of the batch had a second attempt
   */
  def afterBatch(committed: Set[String], hasRetried: Boolean): Unit = {
    clusters.wrote(committed)
    (silent & committed).foreach(ofEarlier.again)
    silent --= committed
    if (hasRetried) own.again()
    abortOwn(own.next(asked))
    abortEarlier(ofEarlier.next(asked))
  }

  private def asked = clusters.ids.filterNot(silent)

  // This driver may have been paused since it claimed the journal.
  private def abortEarlier(ids: Seq[String]): Unit =
    abort(
      ids,
      id => names().isOfEarlier(id) && !names().isOwn(id),
      () => journal.checkClaim(claim)
    )

  private def abortOwn(ids: Seq[String]): Unit = abort(ids, names().isOwn, () => ())

  /** Aborts transactions of this run that are not decided. */
  def abort(batch: Long, transactions: Seq[Prepared]): Unit = {
    val byCluster = transactions.groupBy(_.cluster)
    val _ = clusters.each(byCluster.keys.toSeq.sorted) { id =>
      guarded(s"Transactions of batch $batch on Kafka cluster '$id' could not be aborted") {
        clusters.admin(id).fence(byCluster(id).map(_.transactionalId))
      }
    }
  }

  /** On all clusters at once, because one that does not respond takes as long as a request may take. */
  private def abort(ids: Seq[String], isLeft: String => Boolean, check: () => Unit): Unit = {
    val answered = clusters.each(ids) { cluster =>
      guarded(s"Searching for transactions that are left open on Kafka cluster '$cluster' failed") {
        // Read again for each cluster: what is decided meanwhile must be kept.
        val kept = journal.newest().toSeq.flatMap(_._1.transactions).map(_.transactionalId).toSet
        val left = clusters.ask(cluster)(_.open(id => isLeft(id) && !kept(id)))
        if (left.nonEmpty) {
          check()
          log.info(
            s"Aborting transactions that are left open on Kafka cluster '$cluster': ${left.mkString(", ")}"
          )
          clusters.admin(cluster).fence(left)
        }
      }
    }
    silent ++= ids.zip(answered).collect { case (id, false) => id }
  }

  private def guarded(failed: String)(body: => Unit): Boolean =
    try {
      body
      true
    } catch {
      case NonFatal(e) =>
        log.warn(
          s"$failed. Kafka aborts them after their timeout; until then they block consumers with isolation level " +
            s"read_committed: $e"
        )
        false
    }
}

private[commit] object Leftovers {
  private val log = LoggerFactory.getLogger(classOf[Leftovers])
}

/**
 * After how many batches each cluster is searched again.
 *
 * @param first the number for clusters of which nothing else is known
 */
private[commit] final class Sweeps(first: Int) {
  private var usual = first
  private var left = Map.empty[String, Int]

  /** All clusters are searched again. */
  def again(): Unit = {
    usual = Sweeps.Most
    left = Map.empty
  }

  /** A cluster is searched again. */
  def again(id: String): Unit = left -= id

  /** Which of these clusters are searched after the batch that has ended. */
  def next(ids: Seq[String]): Seq[String] = {
    val due = ids.filter(left.getOrElse(_, usual) > 0)
    left ++= due.map(id => id -> (left.getOrElse(id, usual) - 1))
    due
  }
}

private[commit] object Sweeps {
  val Most = 2
}

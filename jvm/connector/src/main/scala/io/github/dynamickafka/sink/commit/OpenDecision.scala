package io.github.dynamickafka.sink.commit

import java.time.Instant

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{ClusterScope, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream

/**
 * The open decision of a query, as operators see it, by command and by procedure.
 *
 * @param streams returns what the metadata service says; called once for each question
 */
private[dynamickafka] final class OpenDecision(
    checkpoint: String,
    streams: () => Seq[KafkaStream],
    options: SinkOptions,
    hadoop: Configuration
) {
  import OpenDecision._

  /** None: no decision is open. */
  def find(): Option[Found] = using { (journal, clusters) =>
    journal.open().map { entry =>
      clusters.remember(entry)
      val outcomes = new Committer(clusters).inspect(entry.transactions, entry.kafkaId).outcomes
      val reasons = outcomes.collect {
        case (t, p: Outcome.Pending) if p.isLeaderless => s"cluster '${t.cluster}': ${p.cause.getMessage}"
        case (t, Outcome.Pending(cause)) =>
          s"cluster '${t.cluster}' is unreachable: ${clusters.reason(t.cluster, cause)}"
        case (t, Outcome.Unknown(text)) => s"transaction '${t.transactionalId}' is unknown: $text"
      }
      Found(entry, outcomes, reasons.distinct)
    }
  }

  def resolve(batch: Long, how: Resolution, user: String): Found = {
    ResumableProducer.problem.foreach(why => throw new Refused(Seq(why)))
    using { (journal, clusters) =>
      // Three intervals: a run shows itself after one, and may be slow.
      new Resolver(journal, clusters, () => Clock.System.pauseMs(3 * Journal.BeatMs))(batch, how, user)
    }
  }

  private def using[A](use: (Journal, Clusters) => A): A = {
    val journal = new Journal(checkpoint, hadoop)
    if (!journal.exists) throw new Refused(Seq(
      s"$checkpoint has no journal of decisions (${journal.path}): it is not the checkpoint of a query that writes with exactly-once"
    ))
    val clusters = connect()
    try use(journal, clusters)
    finally clusters.close()
  }

  /** The clusters of the streams, with the properties that a query has for them without options of its own. */
  private def connect(): Clusters = {
    val found = streams().flatMap(_.entries).map { case (id, cluster) => id -> cluster.properties }.distinct
    found.groupBy(_._1).collectFirst { case (id, several) if several.size > 1 => id }.foreach(id =>
      throw Errors.metadataInvalid(
        s"metadata service ${options.service.name}",
        s"cluster '$id' has different properties in two streams"
      )
    )
    val scope = new ClusterScope(options.clusters, found.map(_._1).toSet)
    val clusters = Clusters.of(options, CommitTimeoutMs)
    clusters.set(found.map { case (id, properties) => id -> scope.producer(id, properties) }.toMap)
    clusters
  }
}

private[dynamickafka] object OpenDecision {

  /** How long commits are retried: these clusters have just answered. */
  private val CommitTimeoutMs = 30000L

  final case class Found(
      entry: JournalEntry,
      outcomes: Seq[(Prepared, Outcome)],
      reasons: Seq[String] = Nil
  )
}

/** A resolution that is not possible; nothing is closed. */
private[dynamickafka] final class Refused(val reasons: Seq[String])
    extends RuntimeException(reasons.mkString("; "))

/**
 * Closes a decision that the query cannot complete.
 *
 * No step before the last one changes what a start of the query does: until the decision is marked as finished or deleted,
 * by one file, a start continues with what it finds in Kafka, as after any interruption. The claim is taken before the first
 * step, so that a run that was paused stops. It is checked before later steps, so that the resolution stops if a run starts.
 *
 * @param watch waits for as long as a run that ends transactions may take to show itself
 */
private[sink] final class Resolver(
    journal: Journal,
    clusters: Clusters,
    watch: () => Unit,
    pool: TransactionPool = TransactionPool.shared,
    clock: Clock = Clock.System
) {
  import Resolver._

  private val committer = new Committer(clusters, pool, clock)

  def apply(batch: Long, how: Resolution, who: String): OpenDecision.Found = {
    val entry = open(batch)
    val there = entry.transactions.map(_.cluster).distinct.sorted
    how.cluster.filterNot(there.contains(_)).foreach(id =>
      refuse(s"batch $batch has no transaction on cluster '$id', only on ${there.mkString(", ")}")
    )
    refuseWhileRunning(entry)
    if (how == Resolution.Rewrite && journal.batches.isOver(batch))
      refuse(
        s"the query does not write batch $batch again, because Spark's logs have it as finished or have a later batch. First " +
          s"delete 'commits/$batch' and the later files of 'commits', and the files of 'offsets' after 'offsets/$batch'"
      )
    val claim = journal.takeOver(entry, s"resolve by $who")
    journal.ending(claim) {
      if (open(batch) != entry) refuse(s"a run of the query has decided batch $batch again")
      OpenDecision.Found(entry, end(entry, claim, how, who))
    }
  }

  private def open(batch: Long): JournalEntry = journal.open() match {
    case Some(entry) if entry.batch == batch => entry
    case Some(entry) => refuse(s"the open decision is that of batch ${entry.batch}, not of batch $batch")
    case None => refuse(s"batch $batch is not open: no decision of the journal is")
  }

  /** A run that ends transactions takes care of the decision itself, or fails and says so. */
  private def refuseWhileRunning(entry: JournalEntry): Unit = {
    def signs = journal.owner().map(owner => owner -> journal.beat(owner))
    val before = signs
    watch()
    if (signs != before) {
      val run = journal.owner().fold("a run")(claim => s"run '${claim.run}'")
      refuse(
        s"$run of the query is at work on batch ${entry.batch}. Wait until it has ended, or stop it, and keep it from being " +
          "started again"
      )
    }
  }

  private def end(
      entry: JournalEntry,
      claim: Claim,
      how: Resolution,
      who: String
  ): Seq[(Prepared, Outcome)] = {
    clusters.remember(entry)
    val report = committer.inspect(entry.transactions, entry.kafkaId)
    val note =
      Note(
        JournalJson.digest(entry),
        who,
        Instant.ofEpochMilli(clock.currentTimeMillis()).toString,
        how.name,
        how.cluster,
        closed = false,
        states(report.outcomes)
      )
    journal.checkClaim(claim)
    // What earlier resolutions have given up stays given up.
    val givenUp =
      if (how == Resolution.Rewrite) Set.empty[String]
      else journal.notes(entry).flatMap(_.cluster).toSet ++ how.cluster
    val why = refusals(entry, how, report, givenUp, clusters.reason)
    if (why.isEmpty || how.cluster.isDefined) journal.add(entry, note)
    if (why.nonEmpty) throw new Refused(how.cluster.fold(why)(id =>
      why.map(w => s"noted that cluster '$id' is given up, but $w")
    ))
    // Also the open ones of clusters that are given up are aborted, so that their readers do not wait.
    val (abort, commit) = report.outcomes.collect { case (t, Outcome.Open) => t }
      .partition(t => how == Resolution.Rewrite || givenUp(t.cluster))
    val now = (committer.commit(commit, entry.kafkaId) ++ committer.abort(abort, entry.kafkaId)).toMap
    val ended = report.outcomes.map { case (t, before) => t -> now.getOrElse(t, before) }
    val kept = ended.filterNot { case (t, _) => givenUp(t.cluster) }
    val unsuitable = left(how, kept)
    if (unsuitable.nonEmpty) throw new Refused(unsuitable)
    val committed = kept.collect { case (t, Outcome.Committed) => t }
    committer.awaitVisible(committed, report.inSync, earlier = true).foreach(cause =>
      refuse(
        s"batch ${entry.batch} is committed, but a part of it is not visible yet: ${cause.getMessage}. Repeat the resolution when " +
          "all partitions have leaders, or give the cluster up with --abandon-cluster"
      )
    )
    journal.checkClaim(claim)
    if (how == Resolution.Rewrite) journal.retract(entry) else journal.finish(entry)
    journal.add(entry, note.copy(closed = true, states = states(ended)), completes = true)
    ended
  }

  private def states(outcomes: Seq[(Prepared, Outcome)]) =
    outcomes.map { case (t, outcome) => t.transactionalId -> outcome.state }.toMap

  private def refuse(why: String): Nothing = throw new Refused(Seq(why))
}

/** Decides whether a resolution is possible, given what Kafka says about all transactions. Pure. */
private[sink] object Resolver {
  import Resolution._

  /**
   * Why a resolution is refused; nothing: it is possible.
   *
   * @param givenUp the clusters that this resolution, or an earlier one of this decision, gives up
   * @param reason returns the text of the failure of a cluster
   */
  private def refusals(
      entry: JournalEntry,
      how: Resolution,
      report: Inspection,
      givenUp: Set[String],
      reason: (String, Throwable) => String
  ): Seq[String] = {
    def silent(t: Prepared, cause: Throwable) =
      s"cluster '${t.cluster}' does not say what has become of its transactions: ${reason(t.cluster, cause)}"
    val again = Option.when(how == Rewrite && entry.round > 0)(
      s"parts of batch ${entry.batch} are committed: the decision is about the rest of it, which was written again"
    )
    val one: PartialFunction[(Prepared, Outcome), String] = how match {
      case Rewrite => {
        case (t, Outcome.Committed) => s"it is committed: ${t.shown}"
        case (t, Outcome.Unknown(text)) =>
          s"it is not known whether it was committed: ${t.shown}: $text"
        case (t, Outcome.Pending(cause)) => silent(t, cause)
      }
      case AcceptLoss => {
        case (t, Outcome.Pending(cause)) =>
          s"${silent(t, cause)}. To give them up, use --abandon-cluster ${t.cluster}"
      }
      case AbandonCluster(_) => {
        case (t, Outcome.Pending(cause)) =>
          s"${silent(t, cause)}. To give them up too, use --abandon-cluster ${t.cluster} next"
        case (t, Outcome.Lost(text)) =>
          s"it is lost on another cluster: ${t.shown}: $text. To accept that, use --accept-loss next"
        case (t, Outcome.Unknown(text)) =>
          s"it is not known whether it was committed: ${t.shown}: $text. To accept that, use --accept-loss next"
      }
    }
    again.toSeq ++ report.outcomes.filterNot { case (t, _) => givenUp(t.cluster) }.collect(one).distinct ++
      (if (how == AcceptLoss) replaced(entry, report, givenUp) else Nil)
  }

  /** A mistake in the metadata would turn open transactions into lost ones. */
  private def replaced(entry: JournalEntry, report: Inspection, givenUp: Set[String]): Seq[String] =
    entry.clusters.keys.toSeq.sorted.filterNot(givenUp).flatMap { id =>
      for {
        before <- entry.kafkaId(id)
        now <- report.seen.get(id).flatMap(_.clusterId) if now != before
      } yield s"cluster '$id' of the metadata leads to the Kafka cluster with id $now, and the decision is about the one with " +
        s"id $before. Correct the metadata, or give its part up with --abandon-cluster $id"
    }

  /** Why the batch cannot be closed after all, given what has become of the transactions that are not given up. */
  private[commit] def left(how: Resolution, ended: Seq[(Prepared, Outcome)]): Seq[String] = ended.flatMap {
    case (t, outcome) =>
      val suits = outcome match {
        case Outcome.Committed => how != Rewrite
        case Outcome.Lost(_) => how == Rewrite || how == AcceptLoss
        case Outcome.Unknown(_) => how == AcceptLoss
        case _ => false
      }
      Option.when(!suits)(t.shown + (outcome match {
        case Outcome.Lost(text) => s" is lost: $text"
        case Outcome.Unknown(text) => s": $text"
        case Outcome.Pending(cause) => s" is not ended yet: ${cause.getClass.getSimpleName}"
        case other => s" is ${other.toString.toLowerCase(java.util.Locale.ROOT)}"
      }))
  }
}

/** What an operator chooses about a decision that the query cannot complete. */
private[dynamickafka] sealed abstract class Resolution(val name: String, val cluster: Option[String] = None)

private[dynamickafka] object Resolution {

  /** What is open is committed, what is lost stays lost. */
  case object AcceptLoss extends Resolution("accept-loss")

  /** What is open is aborted, and the next start writes the batch again. */
  case object Rewrite extends Resolution("rewrite")

  /** The part on one cluster is given up, and all others are committed. */
  final case class AbandonCluster(id: String) extends Resolution("abandon-cluster", Some(id))
}

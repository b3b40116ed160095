package io.github.dynamickafka.sink.operate

import scala.jdk.CollectionConverters._

import org.apache.hadoop.conf.Configuration

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{ClusterOptions, ClusterScope, SinkOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.sink.commit.{
  Clusters,
  Inspector,
  Journal,
  JournalEntry,
  Outcome,
  Prepared,
  ResumableProducer,
  TransactionPool
}

/**
 * The open decision of a query, as operators see it, by command and by procedure.
 *
 * @param connect opens the clusters of the metadata; called once for each question, and closed after it
 */
private[dynamickafka] final class OpenDecision private[operate] (
    checkpoint: String,
    hadoop: Configuration,
    connect: () => Clusters
) {
  import OpenDecision._

  /** None: no decision is open. */
  def find(): Option[Found] = using { (journal, clusters) =>
    journal.newest().filterNot(_._2).map(_._1).map { entry =>
      clusters.remember(entry)
      val outcomes = new Inspector(clusters, Clock.System).once(entry.transactions, entry.kafkaId).outcomes
      found(entry, outcomes, States.reasons(clusters, outcomes))
    }
  }

  /**
   * Closes the decision of a batch.
   *
   * @param user whom the journal notes
   * @return the decision, with what has become of its transactions
   */
  def resolve(batch: Long, how: Resolution, user: String): Found = {
    ResumableProducer.problem.foreach(why => throw new Refused(Seq(why)))
    using { (journal, clusters) =>
      val resolver = new Resolver(
        journal,
        clusters,
        TransactionPool.shared,
        Clock.System,
        // Three intervals: a run shows itself after one, and may be slow.
        () => Clock.System.pauseMs(3 * Journal.BeatMs)
      )
      val (entry, outcomes) = resolver(batch, how, user)
      found(entry, outcomes, Nil)
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

  private def found(entry: JournalEntry, outcomes: Seq[(Prepared, Outcome)], reasons: Seq[String]) = Found(
    entry.batch,
    entry.generation,
    outcomes.map { case (t, outcome) => Transaction(t.cluster, t.transactionalId, States.of(outcome)) },
    reasons
  )
}

private[dynamickafka] object OpenDecision {

  /** @param reasons why states are not known */
  final case class Found(
      batch: Long,
      generation: Long,
      transactions: Seq[Transaction],
      reasons: Seq[String]
  )

  /** @param state see [[States]] */
  final case class Transaction(cluster: String, id: String, state: String)

  /**
   * @param streams returns what the metadata service says; called once for each question
   * @param options of a query that writes
   */
  def of(
      checkpoint: String,
      streams: () => Seq[KafkaStream],
      options: SinkOptions,
      hadoop: Configuration
  ): OpenDecision = new OpenDecision(
    checkpoint,
    hadoop,
    () =>
      Connections.of(
        streams(),
        s"metadata service ${options.service.name}",
        options.clusters,
        options.clusters.requestTimeoutMs
      )
  )
}

/** The clusters of streams, with the properties that a query has for them without options of its own. */
private[operate] object Connections {

  /** How long commits are retried: these clusters have just answered. */
  val CommitTimeoutMs = 30000L

  /** @param origin where the streams are from, for errors */
  def of(streams: Seq[KafkaStream], origin: String, options: ClusterOptions, timeoutMs: Long): Clusters = {
    val found = streams.flatMap(_.getClusterMetadataMap.asScala.toSeq)
      .map { case (id, cluster) => id -> cluster.getProperties.asScala.toMap }.distinct
    found.groupBy(_._1).collectFirst { case (id, several) if several.size > 1 => id }.foreach(id =>
      throw Errors.metadataInvalid(origin, s"cluster '$id' has different properties in two streams")
    )
    val scope = new ClusterScope(options, found.map(_._1).toSet)
    val clusters = new Clusters(
      (id, known) => new ClusterScope(options, Set(id)).producer(id, known),
      timeoutMs,
      CommitTimeoutMs
    )
    clusters.set(found.map { case (id, properties) => id -> scope.producer(id, properties) }.toMap)
    clusters
  }
}

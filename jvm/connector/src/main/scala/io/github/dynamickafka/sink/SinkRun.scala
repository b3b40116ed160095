package io.github.dynamickafka.sink

import java.util.UUID

import scala.collection.mutable

import org.apache.hadoop.conf.Configuration
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.{
  Acknowledgements,
  ClusterScope,
  DeliveryGuarantee,
  PartitionerChoice,
  SinkOptionSpecs,
  SinkOptions,
  Subscription
}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.metadata.registry.MetadataServices
import io.github.dynamickafka.metadata.watch.MetadataWatcher
import io.github.dynamickafka.sink.commit.{Clusters, CommitProbe, Journal, TwoPhaseCommit}
import io.github.dynamickafka.sink.row.InputColumns
import io.github.dynamickafka.sink.transaction.{ResumableProducer, TransactionName, TransactionPool}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.WriteTopology

/**
 * The state of a query that writes, over all of its batches, while Spark creates a new `Write` for each batch. Used
 * only by the thread of the query, except for [[close]].
 *
 * @param journal the journal of decisions; None: there is no journal
 * @param ofStreams whether it is a streaming query
 * @param earlier journals of earlier jobs
 */
private[sink] final class SinkRun(
    options: SinkOptions,
    columns: InputColumns,
    queryId: String,
    journal: Option[Journal],
    ofStreams: Boolean,
    earlier: Seq[Journal],
    hadoop: Configuration,
    clock: Clock
) extends AutoCloseable {
  private val log = LoggerFactory.getLogger(classOf[SinkRun])
  private val watcher = MetadataWatcher.forWriting(
    MetadataServices.create(options.service, hadoop),
    // The streams in the column are not known before the rows are read.
    if (columns.hasStream) Subscription.Pattern(".*".r) else Subscription.Ids(options.streamId.toSeq),
    options.discovery,
    options.service.name
  )
  private val name =
    TransactionName(options.transactions.idPrefix, queryId, UUID.randomUUID().toString.take(8))
  private val clusters = new Clusters(
    (id, known) => new ClusterScope(options.clusters, Set(id)).producer(id, known),
    options.clusters.requestTimeoutMs,
    options.transactions.commitTimeoutMs
  )
  private lazy val commits = new TwoPhaseCommit(
    name,
    journal,
    ofStreams,
    earlier,
    clusters,
    options.transactions.replayLost,
    options.transactions.commitTimeoutMs,
    TransactionPool.shared,
    CommitProbe.current,
    clock
  )
  private val timeouts = new TransactionTimeouts(clusters)
  private var plan: Option[SinkPlan] = None
  private var startedNanos = 0L
  private val told = mutable.Set.empty[String]

  /** The factory for the batch that starts now, with the current topology. */
  def factory(): WriterFactory = {
    val first = plan.isEmpty
    val topology = current()
    val next = plan.filter(_.topology eq topology).getOrElse(newPlan(topology))
    plan = Some(next)
    if (first && exactlyOnce) commits.recover()
    startedNanos = clock.nanoTime()
    WriterFactory(
      columns,
      topology.streams,
      next.producers,
      options.routing,
      options.streamId,
      options.partitioner,
      options.deadLetters,
      options.guarantee,
      Option.when(exactlyOnce)(
        WriterFactory.Transactions(
          name,
          commits.lastCommitted,
          commits.replay,
          journal.fold("-")(_.path)
        )
      )
    )
  }

  def commit(batch: Long, messages: Seq[transaction.TaskTransactions]): Unit =
    plan.foreach(p => commits.commit(batch, messages, startedNanos, p.timeoutMs))

  def abort(batch: Long, messages: Seq[transaction.TaskTransactions]): Unit =
    if (exactlyOnce && plan.isDefined) commits.abort(batch, messages)

  def metrics: Map[String, String] = {
    val state = watcher.current
    val last = Option.when(exactlyOnce && plan.isDefined)(commits.summary)
    Map(
      "kafkaClustersCount" -> plan.fold(0)(_.topology.clusters.size).toString,
      "committedTransactions" -> last.fold(0)(_.transactions).toString,
      "commitMs" -> last.fold(0L)(_.commitMs).toString,
      "metadataAgeMs" -> state.ageMs.toString,
      "metadataFailures" -> state.consecutiveFailures.toString
    )
  }

  override def close(): Unit = {
    watcher.close()
    clusters.close()
  }

  private def exactlyOnce = options.guarantee == DeliveryGuarantee.ExactlyOnce

  private def current(): WriteTopology = {
    val state = watcher.current
    state.fatal.foreach(throw _)
    state.topology.getOrElse(watcher.awaitFirst())
  }

  private def newPlan(topology: WriteTopology): SinkPlan = {
    if (plan.isEmpty && exactlyOnce)
      ResumableProducer.problem.foreach(why => throw Errors.exactlyOnceRefused(why))
    val known = topology.clusters.keySet.toSet
    for (d <- options.deadLetters; id <- d.cluster if !known(id))
      throw Errors.invalidOption(
        SinkOptionSpecs.DeadLetterCluster.name,
        id,
        s"the cluster is not in the metadata, which has ${known.toSeq.sorted.mkString(", ")}."
      )
    val scope = new ClusterScope(options.clusters, known)
    val properties = topology.clusters.map { case (id, cluster) =>
      id -> scope.producer(id, cluster.properties)
    }.toMap
    properties.values.flatMap(Acknowledgements.check(
      options.guarantee,
      _
    )).filter(told.add).foreach(log.warn(_))
    clusters.set(properties)
    val timeout = if (exactlyOnce) timeouts.of(properties) else Map.empty[String, Long]
    val partitioner = options.partitioner match {
      case PartitionerChoice.OfClass(name) => Seq("partitioner.class" -> name)
      case _ => Nil
    }
    SinkPlan(
      topology,
      properties.map { case (id, p) =>
        val more = timeout.get(id).map(ms => TransactionTimeouts.Property -> ms.toString).toSeq ++ partitioner
        id -> new ProducerSettings(id, p.client).and(more: _*)
      },
      timeout.values.minOption.getOrElse(Long.MaxValue)
    )
  }
}

/**
 * @param producers by cluster id
 * @param timeoutMs the shortest `transaction.timeout.ms` of all clusters
 */
private[sink] final case class SinkPlan(
    topology: WriteTopology,
    producers: Map[String, ProducerSettings],
    timeoutMs: Long
)

package io.github.dynamickafka.sink

import java.util.UUID
import java.util.concurrent.atomic.AtomicBoolean

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.ProducerConfig
import org.apache.spark.scheduler._
import org.apache.spark.sql.SparkSession
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{
  Acknowledgements,
  ClusterProperties,
  ClusterRouting,
  ClusterScope,
  PartitionerChoice,
  SinkOptionSpecs,
  SinkOptions,
  Subscription
}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientDefaults, ProducerSettings, TopicLimits, TransactionTimeLimits}
import io.github.dynamickafka.metadata.service.MetadataServices
import io.github.dynamickafka.metadata.watch.{MetadataWatcher, WrittenTopologies}
import io.github.dynamickafka.metadata.{KafkaStream, TopicDataset, Topology, WriteEntry}
import io.github.dynamickafka.option.OptionName
import io.github.dynamickafka.page.{DriverPage, GaugeSet, PageQuery, QueryName}
import io.github.dynamickafka.schemaregistry.{Frame, SchemaCache}
import io.github.dynamickafka.sink.commit.{
  Clusters,
  CommitContext,
  CommitProbe,
  CommitStep,
  Journal,
  Prepared,
  ResumableProducer,
  TaskTransactions,
  TransactionPool,
  TransactionalIds,
  TwoPhaseCommit
}
import io.github.dynamickafka.storage.{PlannedDeferrals, RealTimeSinks, SessionConfiguration}

/**
 * The state of a query that writes, over all of its batches, while Spark creates a new `Write` for each batch. Used
 * only by the thread of the query, except for [[close]].
 *
 * @param journal the journal of decisions; None: without exactly-once
 * @param earlier journals of earlier jobs; None: a streaming query
 * @param known the stream, if the metadata service has just been asked for it
 */
private[sink] final class SinkRun(
    options: SinkOptions,
    columns: InputColumns,
    queryId: String,
    journal: Option[Journal],
    earlier: Option[Seq[Journal]],
    known: Option[KafkaStream] = None
) extends AutoCloseable {
  import SinkRun._

  private val log = LoggerFactory.getLogger(classOf[SinkRun])
  private val clock = Clock.System
  private val spark = SparkSession.active.sparkContext
  private val name = SinkRun.name(options)
  private val source =
    WrittenTopologies.Source(options.service, options.routing.streamId.filterNot(_ => columns.hasStream))
  private val watcher = MetadataWatcher.forWriting(
    MetadataServices.create(options.service, SessionConfiguration.of(SparkSession.active), known),
    // The streams in the column are not known before the rows are read.
    source.stream.fold[Subscription](Subscription.Pattern(".*"))(id => Subscription.Ids(Seq(id))),
    options.discovery,
    options.service.name,
    WrittenTopologies.last(source),
    journal.flatMap(
      _.newest()
    ).map(_._1).filter(_.claim.queryId == queryId).fold(Set.empty[String])(_.clusters.keySet)
  )
  private val clusters = Clusters.of(options, options.delivery.transactions.commitTimeoutMs)
  private val maxima = new TransactionTimeouts(clusters)
  private val failover = Option.when(options.routing.failover)(
    new WriteFailover(
      options.routing.clusters,
      ids => clusters.each(ids)(id => id -> clusters.problem(id, WriteFailover.limitMs(options))).toMap,
      clock
    )
  )
  private val frames = new ClusterFrames(options, columns)
  private val stalled = new StalledAttempts
  if (journal.isDefined && isStreaming) spark.addSparkListener(stalled)

  /** Whether the running batch has the newest topology. Called by any thread. */
  private val fits = () => {
    val state = watcher.current
    state.fatal.isEmpty && connected.forall(of => state.topology.forall(_ eq of._1))
  }
  if (isStreaming) RealTimeSinks.add(queryId, fits)
  private var plan: Option[Plan] = None
  @volatile private var connected: Option[(Topology, Map[String, ClusterProperties])] = None

  /** Set when what earlier runs have decided is complete. */
  @volatile private var commits: Option[TwoPhaseCommit] = None
  private var startedNanos = 0L
  private val gauges = new SinkGauges(
    new GaugeSet(
      name.gauges,
      if (isStreaming) GaugeSet.registry() else None,
      if (isStreaming) page else None
    ),
    () => watcher.current.ageMs,
    () => watcher.current.consecutiveFailures.toLong,
    clock
  )
  private val loggedWarnings = mutable.Set.empty[String]

  /** Gets what tasks of real-time mode have written: their reports do not reach [[commit]]. */
  lazy val written: FromTasks[Map[String, Written]] = fromTasks(task => gauges.committed(Seq(task), 0))

  private def fromTasks[A](onTask: A => Unit): FromTasks[A] = {
    val made = new FromTasks(onTask)
    spark.register(made)
    made
  }

  def factory(): WriterFactory = {
    val known = current()
    val properties = connected.filter(_._1 eq known).fold(connect(known))(_._2)
    connected = Some(known -> properties)
    // Before other requests to a cluster: a decision does not depend on the clusters of the next batch.
    for (kept <- journal if commits.isEmpty) commits = Some(recovered(kept))
    val topology = responding(known, properties)
    val next = plan.filter(_.topology == topology).getOrElse(newPlan(known, topology, properties))
    plan = Some(next)
    commits.foreach(_.begin())
    startedNanos = clock.nanoTime()
    // A job has no gauges.
    val open = commits.filter(_ => isStreaming).map(_ => new OpenTransactions)
    gauges.begin(topology.clusters.keySet.toSet, open, next.timeouts.get, topology.leftOut.size)
    next.writer.copy(exactlyOnce =
      for (all <- commits; kept <- journal) yield WriterFactory.Transactions(
        all.name,
        all.lastCommitted,
        all.replay,
        kept.path,
        open.map(found => fromTasks(found.add))
      )
    )
  }

  private def recovered(kept: Journal): TwoPhaseCommit = {
    kept.open().foreach(entry => gauges.decided(entry.transactions))
    val context = CommitContext(
      kept.claim(queryId, UUID.randomUUID().toString.take(8)),
      kept,
      clusters,
      TransactionPool.shared,
      options.delivery.transactions,
      Steps,
      clock
    )
    val ids = new TransactionalIds(context.ownIds, context, arePassedOn = isStreaming)
    val all = new TwoPhaseCommit(ids, context, earlier, PlannedDeferrals.ofDriver)
    all.recover()
    all
  }

  /** The topology of the batch, without clusters that do not respond now. */
  private def responding(known: Topology, properties: Map[String, ClusterProperties]): Topology = {
    // A part of a batch that is written again goes where it went before.
    val repeated = commits.flatMap(_.replay).map(_.leftOut)
    val topology = known.leavingOut(
      repeated.orElse(failover.map(_.notResponding(known, properties))).getOrElse(Set.empty)
    )
    clusters.leaveOut(topology.leftOut)
    topology
  }

  def commit(batch: Long, reports: Seq[TaskReport]): Unit =
    plan.foreach { p =>
      val messages = transactions(reports)
      commits.foreach(_.commit(
        batch,
        messages,
        startedNanos,
        p.timeouts.getOrElse(_, Long.MaxValue),
        () => stalled.found(),
        p.topology.leftOut
      ))
      gauges.committed(reports.map(_.written), messages.map(_.prepared.size).sum)
    }

  /** What the tasks of the last batch have written. The result may be called later, by other threads. */
  def datasets(reports: Seq[TaskReport]): () => Seq[TopicDataset] = {
    val (topologies, written) = (connected, reports.map(_.topics))
    () =>
      topologies.fold(Seq.empty[TopicDataset]) { case (topology, properties) =>
        WrittenDatasets(topology, properties.get(_).map(_.bootstrapServers), written)
      }
  }

  def abort(batch: Long, reports: Seq[TaskReport]): Unit = {
    for (all <- commits if plan.isDefined) all.abort(batch, transactions(reports))
    gauges.aborted()
  }

  private def transactions(reports: Seq[TaskReport]): Seq[TaskTransactions] =
    reports.map(_.message).collect { case t: TaskTransactions => t }

  private object Steps extends CommitProbe {
    private val probe = CommitProbe.installed
    override def reached(step: CommitStep, batch: Long): Unit = {
      Some(step).collect { case CommitStep.Decided(transactions) => gauges.decided(transactions) }
      probe.reached(step, batch)
    }
    override def oneByOne: Boolean = probe.oneByOne
  }

  def metrics: Map[String, String] = {
    val state = watcher.current
    val last = commits.map(_.summary)
    Map(
      "kafkaClustersCount" -> plan.fold(0)(_.topology.clusters.size).toString,
      "committedTransactions" -> last.fold(0)(_.transactions).toString,
      "commitMs" -> last.fold(0L)(_.commitMs).toString,
      "metadataAgeMs" -> state.ageMs.toString,
      "metadataFailures" -> state.consecutiveFailures.toString
    ) ++ failover.map(_ => "leftOutClusters" -> plan.fold("")(_.topology.leftOut.toSeq.sorted.mkString(",")))
  }

  override def close(): Unit = {
    commits.foreach(_.close())
    spark.removeSparkListener(stalled)
    RealTimeSinks.remove(queryId, fits)
    watcher.close()
    clusters.close()
    gauges.close()
  }

  private def isStreaming = earlier.isEmpty

  private def page: Option[PageQuery] = options.page.flatMap(DriverPage.ofJar.show(
    _,
    spark,
    name.query,
    name.part,
    options.routing.streamId.fold("streams of the rows")(id => s"stream: $id")
  ))

  private def current(): Topology = {
    val state = watcher.current
    state.fatal.foreach(throw _)
    val topology = state.topology.getOrElse(watcher.awaitFirst())
    WrittenTopologies.use(source, topology)
    topology
  }

  /** Sets the clusters of the topology, without a request to any of them. */
  private def connect(topology: Topology): Map[String, ClusterProperties] = {
    if (connected.isEmpty && journal.isDefined)
      ResumableProducer.problem.foreach(why => throw Errors.exactlyOnceRefused(why))
    val known = topology.clusters.keySet.toSet
    // Later it is a reason to refuse dead letters, and not to end a query that may have none.
    if (connected.isEmpty)
      for (d <- options.routing.deadLetters; id <- d.cluster; why <- topology.writeProblem(id))
        throw Errors.invalidOption(SinkOptionSpecs.DeadLetterCluster.name, id, s"$why.")
    val scope = new ClusterScope(options.clusters, known)
    val properties = topology.clusters.map { case (id, cluster) =>
      id -> scope.producer(id, cluster.properties)
    }.toMap
    properties.flatMap { case (id, p) => Acknowledgements.check(options.delivery.guarantee, id, p.client) }
      .filter(loggedWarnings.add).foreach(log.warn(_))
    // With a column, the streams of rows are not known before they are written.
    clusters.set(properties, if (columns.hasStream) Set.empty else writable(topology).keySet)
    properties
  }

  /** The topics that the metadata names, of each cluster that takes writes. */
  private def writable(topology: Topology): Map[String, Set[String]] =
    topology.streams.values.flatMap(_.writable).groupMapReduce(_.cluster)(_.topics.keySet.toSet)(_ ++ _)

  private def newPlan(
      known: Topology,
      topology: Topology,
      properties: Map[String, ClusterProperties]
  ): Plan = {
    val topics = writable(topology)
    val timeouts = commits.fold(Map.empty[String, Long])(_ => maxima.of(properties, topics))
    val limits = WrittenTopics.limits(clusters, topics)
    val partitioner = options.routing.partitioner match {
      case PartitionerChoice.OfClass(name) => Seq("partitioner.class" -> name)
      case _ => Nil
    }
    val producers = properties.map { case (id, p) =>
      val batchSize = WrittenTopics.batchSize(limits.get(id).toSeq.flatMap(_.values))
      val more = timeouts.get(id).map(ms => TransactionTimeouts.Property -> ms.toString) ++ partitioner
      val settings = new ProducerSettings(id, p.client).and(more.toSeq: _*)
        .or(batchSize.map(ProducerConfig.BATCH_SIZE_CONFIG -> _.toString).toSeq: _*)
      id -> commits.fold(settings)(_ => TransactionTimeLimits.ofTasks(settings))
    }
    val rules = WriterFactory.Rules(
      options.routing,
      options.routing.deadLetters.flatMap(_.cluster).flatMap(known.writeProblem),
      options.delivery.guarantee
    )
    val writer =
      WriterFactory(
        columns,
        frames.of(topology),
        topology.streams,
        producers,
        limits,
        rules,
        exactlyOnce = None
      )
    Plan(topology, timeouts, writer)
  }
}

private[sink] object SinkRun {

  /** Called by the thread of the query, whose name it has. */
  def name(options: SinkOptions): QueryName =
    QueryName.of(
      Thread.currentThread.getName,
      options.routing.streamId.getOrElse("streams of the rows"),
      "sink"
    )

  /**
   * What does not change until the topology does.
   *
   * @param timeouts `transaction.timeout.ms` of each cluster, with exactly-once
   */
  private final case class Plan(topology: Topology, timeouts: Map[String, Long], writer: WriterFactory)
}

/** The topics for lineage that have got records of a batch: what is written, not what could be. Pure. */
private[sink] object WrittenDatasets {

  /** @param written of each task, the topics by cluster */
  def apply(
      topology: Topology,
      address: String => Option[String],
      written: Seq[Map[String, Set[String]]]
  ): Seq[TopicDataset] =
    for {
      (cluster, topics) <- written.flatten.groupMapReduce(_._1)(_._2)(_ ++ _).toSeq.sortBy(_._1)
      servers <- address(cluster).toSeq
      topic <- topics.toSeq.sorted
      stream = topology.streams.values.find(_.entry(cluster).exists(_.has(topic))).map(_.id)
      dataset <- TopicDataset.of(servers, cluster, topic, stream)
    } yield dataset
}

/**
 * Whether Spark has started a second attempt of any task or has lost an executor, so that a first attempt may still run
 * when its batch is over. Spark reports this within a moment, and a set of ids is used again in the batch after the next
 * one, so a late report is in time.
 */
private[sink] final class StalledAttempts extends SparkListener {
  private val isFound = new AtomicBoolean

  override def onTaskStart(start: SparkListenerTaskStart): Unit =
    if (start.stageAttemptId > 0 || start.taskInfo.attemptNumber > 0 || start.taskInfo.speculative)
      isFound.set(true)

  override def onExecutorRemoved(removed: SparkListenerExecutorRemoved): Unit = isFound.set(true)

  /** Since the last call. */
  def found(): Boolean = isFound.getAndSet(false)
}

/** What precedes keys and values on the clusters that a query writes to, whose registries the metadata may change. */
private[sink] final class ClusterFrames(
    options: SinkOptions,
    columns: InputColumns,
    registrar: SchemaCache = SchemaCache.shared
) {

  /**
   * The schemas of all records whose cluster and topic do not depend on their rows have their ids, so that a schema that is missing or
   * refused is found before anything is written. For all others, tasks ask at their first record: a schema is not registered for a
   * topic that gets none.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException see [[SchemaCache.id]]
   */
  def of(topology: Topology): BatchFrames = {
    val ofClusters = (for {
      stream <- options.routing.streamId.flatMap(topology.streams.get).toSeq
      entry <- stream.clusters
      registry = options.records.registries.of(entry.registry) if registry.nonEmpty
    } yield entry.cluster ->
      columns.frames.map(frame => frame.copy(registries = frame.registries.in(registry)))).toMap
    val ids = for {
      entry <- targets(topology)
      topic <- entry.only.toSeq
      frame <- ofClusters.getOrElse(entry.cluster, columns.frames)
      place = Frame.TopicSide(entry.cluster, topic, frame.ofKeys)
    } yield place -> frame.id(entry.cluster, topic, registrar)
    BatchFrames(columns.frames, ofClusters, ids.toMap)
  }

  private def targets(topology: Topology): Seq[WriteEntry] =
    if (columns.hasStream || columns.hasCluster) Nil
    else options.routing.streamId.flatMap(topology.streams.get).toSeq.flatMap { stream =>
      options.routing.clusters match {
        case ClusterRouting.First => stream.first.toSeq
        case ClusterRouting.Key | ClusterRouting.All => stream.writable
      }
    }
}

/**
 * Determines the transaction timeout: the value of the user or, by default, the maximum of the brokers, up to
 * [[TransactionTimeouts.Default]]. A cluster is asked for its maximum when it is written to for the first time, all of
 * them at once. One that does not respond is assumed to have Kafka's default: if it is written to, the task fails.
 */
private[sink] final class TransactionTimeouts(clusters: Clusters) {
  import TransactionTimeouts._

  // The maximum of each cluster, and the topics that it was asked for. A topic that does not exist is not asked for in each batch.
  private var known = Map.empty[(String, ClusterProperties), (Option[Long], Set[String])]

  /**
   * @param topics the topics of the clusters to which rows can be routed: others are not asked. The ids of the topics are learned, so that
   *               it is noticed if one is recreated
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION
   */
  def of(
      properties: Map[String, ClusterProperties],
      topics: Map[String, Set[String]]
  ): Map[String, Long] = {
    val due = properties.toSeq.filter { of =>
      topics.get(of._1).exists(written => !known.get(of).exists(k => written.subsetOf(k._2)))
    }.sortBy(_._1)
    known ++= clusters.each(due)(of =>
      ask(of._1, known.get(of).map(_._1), topics(of._1)).map(of -> _)
    ).flatten
    properties.map { case of @ (id, p) =>
      val max = known.get(of).flatMap(_._1)
      val chosen = p.client.get(Property)
      id -> chosen.fold(max.fold(Default)(math.min(Default, _)))(text => checked(id, text, max))
    }
  }

  /**
   * The maximum of a cluster, which also learns the ids of the topics; None: it does not respond, so that it is asked again.
   *
   * @param max the maximum, if it is known, for topics that the metadata has added to a cluster
   */
  private def ask(
      id: String,
      max: Option[Option[Long]],
      topics: Set[String]
  ): Option[(Option[Long], Set[String])] =
    try {
      val found = max.getOrElse(clusters.ask(id)(_.maxTimeoutMs()))
      clusters.learnTopics(id, topics)
      Some(found -> topics)
    } catch {
      case NonFatal(e) =>
        log.warn(
          (if (max.isDefined) s"The ids of the topics of cluster '$id' are not known: "
           else s"The maximum transaction timeout is not known, $Default ms is assumed: ") + clusters.reason(
            id,
            e
          )
        )
        None
    }

  private def checked(id: String, text: String, max: Option[Long]): Long = {
    def refuse(reason: String) = throw Errors.invalidOption(OptionName.Kafka + Property, text, reason)
    val chosen =
      text.trim.toLongOption.filter(_ > 0).getOrElse(refuse("it is not a positive number of milliseconds."))
    max.filter(_ < chosen).foreach { most =>
      refuse(
        s"the maximum of cluster '$id' is $most ('transaction.max.timeout.ms' of its brokers). Lower the value, for this " +
          s"cluster with 'cluster.$id.kafka.$Property', or raise the maximum of the brokers."
      )
    }
    chosen
  }
}

private[sink] object TransactionTimeouts {
  val Property = "transaction.timeout.ms"

  private val log = LoggerFactory.getLogger(classOf[TransactionTimeouts])

  /** 15 minutes, the default maximum of brokers. */
  private val Default = 900000L
}

/** What is known of the settings of topics that a query writes to. */
private[sink] object WrittenTopics {
  private val log = LoggerFactory.getLogger(WrittenTopics.getClass)

  private val Margin = 512

  /**
   * The limits of the topics that a batch may write to, by cluster id and topic. They are not known without the right to describe the
   * settings of a topic, and of topics that are given by a pattern.
   */
  def limits(
      clusters: Clusters,
      topics: Map[String, Set[String]]
  ): Map[String, Map[String, TopicLimits]] =
    clusters.each(topics.filter(_._2.nonEmpty).keys.toSeq.sorted) { id =>
      try id -> clusters.ask(id)(_.topicLimits(topics(id)))
      catch {
        case NonFatal(e) =>
          log.warn(
            s"The limits of the topics on Kafka cluster '$id' are not known: ${clusters.reason(id, e)}"
          )
          id -> Map.empty[String, TopicLimits]
      }
    }.toMap

  /**
   * The default of `batch.size` for these topics, if it has to be lower than the connector's.
   * Kafka's client before 4.1 splits a batch that is too large into parts of `batch.size`, until the records time out.
   */
  def batchSize(topics: Iterable[TopicLimits]): Option[Int] =
    topics.flatMap(_.maxBytes).minOption.filter(_ < ClientDefaults.batchSize)
      .map(most => math.max(1, most - Margin))
}

/**
 * The gauges of one query that writes. Those of a cluster exist while it is in the metadata or has transactions to commit. The
 * thread of the query sets the values, and any thread reads them. A failure is logged and does not fail the query.
 *
 * @param metadataAgeMs of the last good answer
 */
private[sink] final class SinkGauges(
    gauges: GaugeSet,
    metadataAgeMs: () => Long,
    metadataFailures: () => Long,
    clock: Clock
) {
  import SinkGauges._

  @volatile private var values = Values()

  /**
   * The tasks of a batch are started.
   *
   * @param timeoutMs `transaction.timeout.ms` of a cluster; None: it has no transactions
   */
  def begin(
      clusters: Set[String],
      open: Option[OpenTransactions],
      timeoutMs: String => Option[Long],
      leftOut: Int = 0
  ): Unit =
    change(_.copy(
      pending = Map.empty,
      batch = Batch(
        clusters,
        leftOut,
        open,
        clock.currentTimeMillis(),
        clusters.flatMap(id => timeoutMs(id).map(id -> _)).toMap
      )
    ))

  /** What this run or an earlier one has decided is committed now. */
  def decided(transactions: Seq[Prepared]): Unit =
    change(_.copy(pending = transactions.groupMapReduce(_.cluster)(_ => 1L)(_ + _)))

  def committed(written: Seq[Map[String, Written]], transactions: Int): Unit = change { v =>
    val sum = (v.written +: written).flatten.groupMapReduce(_._1)(_._2)(_ + _)
    Values(sum, v.committed + transactions, batch = v.batch.copy(open = None))
  }

  /** The batch is aborted. A decided one is not. */
  def aborted(): Unit = change(v =>
    if (v.pending.isEmpty) v.copy(batch = v.batch.copy(open = None)) else v
  )

  def close(): Unit = safely(gauges.close())

  /** In real-time mode, also called by a thread of Spark when a task has finished. */
  private def change(how: Values => Values): Unit = safely(synchronized {
    values = how(values)
    gauges.show(ofQuery, values.ids.map(id => id -> ofCluster(id)).toMap)
  })

  private def ofQuery: Map[String, () => Long] = Map(
    "kafkaClustersCount" -> (() => values.batch.clusters.size.toLong),
    "leftOutClusters" -> (() => values.batch.leftOut.toLong),
    "recordsWritten" -> (() => values.written.valuesIterator.map(_.records).sum),
    "bytesWritten" -> (() => values.written.valuesIterator.map(_.bytes).sum),
    "openTransactions" -> (() => values.ids.iterator.map(values.opened).sum),
    "pendingTransactions" -> (() => values.pending.valuesIterator.sum),
    "committedTransactions" -> (() => values.committed),
    "transactionAgePercent" -> (() => values.ids.iterator.map(agePercent).maxOption.getOrElse(0L)),
    "metadataAgeMs" -> metadataAgeMs,
    "metadataFailures" -> metadataFailures
  )

  private def ofCluster(id: String): Map[String, () => Long] = Map(
    "recordsWritten" -> (() => values.written.get(id).fold(0L)(_.records)),
    "bytesWritten" -> (() => values.written.get(id).fold(0L)(_.bytes)),
    "openTransactions" -> (() => values.opened(id)),
    "pendingTransactions" -> (() => values.pending.getOrElse(id, 0L)),
    "transactionAgeMs" -> (() => ageMs(id)),
    "transactionTimeoutMs" -> (() => values.batch.timeoutMs.getOrElse(id, 0L))
  )

  /** The age of the oldest transaction of the batch. No transaction is older than its batch, whatever the clock of its executor says. */
  private def ageMs(id: String): Long = {
    val (now, v) = (clock.currentTimeMillis(), values)
    v.batch.open.flatMap(_.of(id)).fold(0L)(transactions =>
      math.max(0L, now - math.max(transactions.beganMs, v.batch.startedMs))
    )
  }

  private def agePercent(id: String): Long =
    values.batch.timeoutMs.get(id).filter(_ > 0).fold(0L)(ageMs(id) * 100 / _)

  private def safely(step: => Unit): Unit =
    try step
    catch { case NonFatal(e) => log.warn("Failed to update the gauges of the query", e) }
}

private[sink] object SinkGauges {
  private val log = LoggerFactory.getLogger(classOf[SinkGauges])

  /** @param startedMs when the tasks of the batch were started, in milliseconds since the epoch */
  private final case class Batch(
      clusters: Set[String] = Set.empty,
      leftOut: Int = 0,
      open: Option[OpenTransactions] = None,
      startedMs: Long = 0L,
      timeoutMs: Map[String, Long] = Map.empty
  )

  /**
   * @param written since the query started, in finished batches
   * @param committed the number of transactions since the query started
   * @param pending transactions that are decided and not committed, by cluster
   */
  private final case class Values(
      written: Map[String, Written] = Map.empty,
      committed: Long = 0L,
      pending: Map[String, Long] = Map.empty,
      batch: Batch = Batch()
  ) {
    def ids: Set[String] = batch.clusters ++ pending.keySet
    def opened(id: String): Long =
      if (pending.nonEmpty) 0L else batch.open.flatMap(_.of(id)).fold(0L)(_.transactions.toLong)
  }
}

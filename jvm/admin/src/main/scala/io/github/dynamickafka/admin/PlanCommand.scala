package io.github.dynamickafka.admin

import scala.util.{Failure, Success, Using}

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException
import org.apache.spark.sql.connector.read.streaming.ReadLimit

import io.github.dynamickafka.base.{Clock, Json}
import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.ClusterClient
import io.github.dynamickafka.metadata.watch.{RemovalGuard, Resolution}
import io.github.dynamickafka.metadata.{KafkaStream, Topology}
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.offset.{
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  Continuation,
  LogKey,
  Loss,
  NextOffset,
  Positions,
  StoppingOffsets,
  Transition
}
import io.github.dynamickafka.source.checkpoint.{Refusal, SourceId, SparkCheckpoint}
import io.github.dynamickafka.source.cluster.{
  ClusterAdmin,
  ClusterConfig,
  ClusterConfigs,
  FunctionCalls,
  Futures
}
import io.github.dynamickafka.source.trigger.{
  DecidedReplacements,
  Limits,
  PlannedReplacements,
  TriggerContext,
  TriggerPlanner
}

/** `plan`: what the next batch of a query would do with the metadata of the catalog, or of a file. Nothing is changed. */
private[admin] object PlanCommand {
  import PlannedChange.{Drains, Enters, Leaves}

  private val Metadata = Parameter.text(
    "metadata",
    "A metadata file, any URI that Spark reads. NULL: the metadata service of the catalog, as it is now"
  ).optional.onlyInSql

  val all: Seq[Command] = Seq(
    Command(
      "plan",
      "What the next batch of a query would do with other metadata: what enters, drains and leaves. It is decided by the code of the " +
        "query, and nothing is changed. Exit code 2: unread records are lost, 1: that is not known",
      Seq(Parameter.Checkpoint, Parameter.File, Metadata, Parameter.Timeout),
      "change STRING, cluster STRING, topic STRING, partition INT, position BIGINT, target BIGINT, records BIGINT, " +
        "bytes BIGINT, lost BOOLEAN",
      (context, arguments) => {
        val log = SparkCheckpoint(arguments(Parameter.Checkpoint), context.hadoop)
        val file = arguments.get(Metadata)
        val streams = file.fold(context.streams())(context.streamsOf)
        val isActive: String => Boolean =
          if (file.isDefined || context.file.isDefined) _ => true else context.catalog.service.isClusterActive
        val newest = log.newest
        new Plan(
          newest.number,
          log.composite(newest).map { case (source, start) =>
            new QueryPlan(context, log, source, start, streams, isActive).planned
          }
        )
      }
    )
  )

  private[admin] final class Plan(batch: Long, sources: Seq[Planned]) extends Result {
    private val changes = sources.flatMap(_.changes)
    private val nextBatch = sources.flatMap(_.nextBatch).groupMapReduce(_._1)(_._2)(_ + _).toSeq.sortBy(_._1)
    private val rights = sources.flatMap(_.rights)
    private val assumed = sources.flatMap(_.assumed).distinct
    private val enters = changes.collect { case c @ PlannedChange(_, _, Enters(by)) => c -> by }
    private val drains = changes.collect { case c @ PlannedChange(_, _, Drains(target)) => c -> target }
    private val leaves = changes.collect { case c @ PlannedChange(_, _, left: Leaves) => c -> left }
    private val lostRecords = changes.filter(_.isLost).flatMap(_.records).sum
    private val lostBytes = changes.flatMap(_.bytes).sum

    override def rows: Seq[Seq[Any]] = {
      sources.flatMap(_.hidden).headOption.foreach(why => throw new Refusal(why))
      changes.map { c =>
        val LogKey(cluster, topic, partition) = c.at
        Seq(c.kind.name, cluster, topic, partition, c.position, c.target, c.records, c.bytes, c.isLost)
      }
    }

    private def place(c: PlannedChange): Seq[(String, Any)] = Seq(
      "cluster" -> c.at.cluster,
      "topic" -> c.at.topic,
      "partition" -> c.at.partition,
      "position" -> c.position
    )

    override def json: Any = Json.fields(
      "batch" -> batch,
      "enters" -> enters.map { case (c, by) => Json.Fields(place(c) :+ ("by" -> by)) },
      "drains" -> drains.map { case (c, target) => Json.Fields(place(c) :+ ("target" -> target)) },
      "leaves" -> leaves.map { case (c, left) =>
        Json.Fields(place(c) ++ Seq("end" -> left.end, "records" -> c.records))
      },
      "lost" -> Json.fields(
        "records" -> lostRecords,
        "bytes" -> lostBytes,
        "bytes_estimated" -> true
      ),
      "rights" -> rights.map { case (cluster, topic, right) =>
        Json.fields("cluster" -> cluster, "topic" -> topic, "right" -> right)
      },
      "next_batch" -> Json.fields("records" -> nextBatch.map(_._2).sum, "clusters" -> Json.Fields(nextBatch)),
      "assumed" -> assumed
    )

    override def text: String = {
      def at(c: PlannedChange) = s"cluster ${c.at.cluster}, topic ${c.at.topic}, partition ${c.at.partition}"
      val byCluster = nextBatch.map { case (id, records) => s"$id $records" }.mkString(", ")
      (Seq(s"after batch $batch") ++
        enters.map { case (c, by) => s"+ ${at(c)} enters at ${c.position} (${by.getOrElse("")})" } ++
        drains.map { case (c, target) => s"~ ${at(c)} drains from ${c.position} to $target" } ++
        leaves.map { case (c, _) =>
          val records = c.records.fold("unknown")(Text.count(_, "unread record"))
          s"- ${at(c)} leaves at ${c.position}: $records"
        } ++
        rights.map { case (cluster, topic, right) =>
          s"! cluster $cluster, topic $topic: no right to $right"
        } ++
        Option.when(lostRecords > 0)(
          s"lost: ${Text.count(lostRecords, "record")}, about $lostBytes bytes"
        ) ++
        Seq(s"next batch: ${Text.count(nextBatch.map(_._2).sum, "record")}" +
          (if (byCluster.isEmpty) "" else s" ($byCluster)")) ++
        assumed.map(text => s"assumed: $text")).mkString("\n")
    }

    override def reasons: Seq[String] = sources.flatMap(s => s.hidden ++ s.unknown)

    override def exitCode: Int = if (reasons.nonEmpty) 1 else if (lostRecords > 0) 2 else 0
  }
}

/**
 * What the next batch of one source does.
 *
 * @param nextBatch the number of records by cluster
 * @param rights that are missing: cluster, topic, right
 * @param hidden why the plan lacks topics that may not be described
 * @param unknown why the number of records that are lost is not known
 * @param assumed what the plan leaves out
 */
private[admin] final case class Planned(
    changes: Seq[PlannedChange],
    nextBatch: Seq[(String, Long)],
    rights: Seq[(String, String, String)],
    hidden: Seq[String],
    unknown: Seq[String],
    assumed: Seq[String]
)

/**
 * What happens to one partition in the next batch of a query.
 *
 * @param position where it enters, from where it drains, where it leaves
 */
private[admin] final case class PlannedChange(at: LogKey, position: Long, kind: PlannedChange.Kind) {
  import PlannedChange._

  /** The offset up to which it drains. */
  def target: Option[Long] = Some(kind).collect { case Drains(target) => target }

  /** How many are left to drain, or unread; None: not known. */
  def records: Option[Long] = (kind match {
    case Enters(_) => None
    case Drains(target) => Some(target)
    case Leaves(end, _, _) => end
  }).map(end => math.max(0L, end - position))

  /** Whether it may leave with unread records, and without a drain. */
  def canLose: Boolean = kind match {
    case left: Leaves => left.canLose
    case _ => false
  }
  def isLost: Boolean = canLose && records.exists(_ > 0)

  /** The estimated size of the records that are lost. */
  def bytes: Option[Long] = Some(kind).collect { case Leaves(_, _, Some(bytes)) => bytes }
}

private[admin] object PlannedChange {
  sealed abstract class Kind(val name: String) extends Product with Serializable

  /** @param by why it enters where it does: `retained`, or the start */
  final case class Enters(by: Option[String] = None) extends Kind("enters")
  final case class Drains(target: Long) extends Kind("drains")

  /** @param end the latest offset; None: not known */
  final case class Leaves(end: Option[Long], canLose: Boolean, bytes: Option[Long] = None)
      extends Kind("leaves")

  /**
   * What `Reconcile` and `NextOffset` have decided. Pure.
   *
   * @param topology the metadata, with the topics that match patterns
   * @param latest returns the latest offset of a partition that leaves, if it is known
   * @param continued clusters that are read no more because others continue where they were
   */
  def all(
      start: CompositeOffset,
      topology: Topology,
      drainRemoved: Boolean,
      next: NextOffset,
      latest: LogKey => Option[Long],
      continued: Set[String] = Set.empty
  ): Seq[PlannedChange] = {
    val enters = next.spans.filter(_.enters).map(s => PlannedChange(s.key, s.from, Enters()))
    val from = next.spans.map(s => s.key -> s.from).toMap
    val drains = each(next.rest.draining).map { case (place, target) =>
      PlannedChange(place, from.get(place).orElse(in(start, place)).getOrElse(target), Drains(target))
    }
    val leaves = leaving(start, next).map { case (place @ LogKey(id, topic, p), at) =>
      // Only what has reached its target leaves like this.
      val drained = topology.clusters.get(id).flatMap(_.topics.get(topic))
        .fold(drainRemoved && !topology.removes(id, topic))(t => t.draining && t.reads(p))
      PlannedChange(place, at, Leaves(latest(place), !drained && !continued(id)))
    }
    Seq(enters, drains, leaves).flatMap(_.sortBy(c => (c.at.cluster, c.at.topic, c.at.partition)))
  }

  /** The positions that are not read any more. */
  def leaving(start: CompositeOffset, next: NextOffset): Seq[(LogKey, Long)] = {
    val after = next.latest
    each(start.clusters).filter { case (place, _) => in(after, place).isEmpty }
  }

  private def in(offset: CompositeOffset, place: LogKey): Option[Long] =
    offset.position(place.cluster).get(place.topic, place.partition)

  private def each(clusters: Iterable[(String, Positions)]): Seq[(LogKey, Long)] =
    for ((id, all) <- clusters.toSeq; (topic, p, at) <- all.iterator) yield LogKey(id, topic, p) -> at
}

/**
 * What the next trigger of one source would decide, by the code of a trigger: the options are those that the checkpoint has of
 * the last run, and each cluster is asked now.
 *
 * @param start the end of the newest batch
 * @param isActive whether the metadata service calls a cluster active
 */
private[admin] final class QueryPlan(
    context: Context,
    log: SparkCheckpoint,
    source: SourceId,
    start: CompositeOffset,
    streams: Seq[KafkaStream],
    isActive: String => Boolean
) {
  import PlannedChange.{Enters, Leaves}

  private val clusters = new QueryClusters(context, log, streams)
  private val known = clusters.remembered(source)
  private val checkpoint = log.source(source)
  private val options = {
    if (known.options.isEmpty) {
      refuseMismatch()
      refuse("the checkpoint does not name the streams of the query: it does once the query has run with it")
    }
    context.catalog.readingAs(known.options)
  }

  def planned: Planned = {
    refuseUnreadFiles()
    if (start.ends.nonEmpty)
      refuse("the query has stopping offsets, which are not among what is planned")
    val (lacking, described) = withoutHidden(withTopics(resolved))
    val now = Clock.System.currentTimeMillis()
    val replacing = ReplacingClusters(start, described, options.changes.drainRemoved, now)
    val topology = replacing.topology
    val trigger = TriggerContext.begin(
      replacing.start,
      topology,
      new ClusterConfigs.ByScope(options),
      now,
      TriggerContext.Started(checkpoint.initial)
    )
    val transition = trigger.transition(options, topology)
    val views: Map[String, ClusterView] =
      KafkaOffsets.inParallel(transition.clusters.toSeq) { case (id, work) => id -> ask(id, work) }.toMap
    def nextOf(views: Map[String, ClusterView], continued: Map[String, Continuation]) =
      NextOffset(replacing.start, transition, views, options.changes.replaced, _ => false, continued)
    val asked = nextOf(views, Map.empty)
    val decided = replacements(replacing, transition, views, asked)
    val next = decided.fold(asked)(d => nextOf(d.views, d.continued))
    refuseLosses(next)
    // What the former cluster has is not known to the new one, which has its id.
    val replaced = next.replaced.filter(_.of.isEmpty).map(_.cluster).toSet
    val ends =
      latest(PlannedChange.leaving(start, next).map(_._1).filterNot(place => replaced(place.cluster)))
    val continuing = next.replaced.filter(c => options.changes.replaced.continues && c.former != c.cluster)
    val changes = PlannedChange.all(
      start,
      topology,
      options.changes.drainRemoved,
      next,
      ends.get(_).flatten,
      continuing.map(_.former).toSet
    ).map(c =>
      c.kind match {
        case Enters(_) => c.copy(kind = Enters(Some(by(c.at, transition, next))))
        case left: Leaves if c.isLost => c.copy(kind = left.copy(bytes = Some(bytes(c))))
        case _ => c
      }
    )
    val limit = ReadLimit.maxRows(options.batches.limits.maxOffsetsPerTrigger.getOrElse(Long.MaxValue))
    val granted = new Limits()
      .grant(next.spans, limit, trigger.configs.ofTopology.maxOffsetsPerTrigger, now = 0L, wait = false)
    Planned(
      changes,
      next.spans.map(_.cluster).zip(granted).groupMapReduce(_._1)(_._2)(_ + _).toSeq,
      lacking,
      lacking.collect { case (id, topic, Brokers.Describe) =>
        s"cluster '$id', topic '$topic': whether it exists is not known without the right Describe"
      },
      changes.filter(c => c.canLose && !ends.contains(c.at)).map(_.at)
        .map(at =>
          s"cluster '${at.cluster}', topic '${at.topic}', partition ${at.partition}: how many records are unread is not " +
            "known, because it does not answer"
        ),
      QueryPlan.assumed(known.options)
    )
  }

  /** Why a partition enters where it does. */
  private def by(
      place: LogKey,
      transition: Transition,
      next: NextOffset
  ): String = {
    val LogKey(id, topic, partition) = place
    val entering = transition.clusters.get(id).flatMap(_.entering.get(topic))
    val isRenamed = next.renamed.exists(r => r.cluster == id && r.topic == topic)
    val isReplaced = next.replaced.exists(r =>
      r.cluster == id &&
        (entering.isEmpty || r.continued.exists(_.positions.get(topic, partition).isDefined))
    )
    val isRetained = start.retained.get(id).exists(_.positions.get(topic, partition).isDefined)
    if (isRenamed || isRetained && !isReplaced) "retained"
    else if (isReplaced) known.replacedClusterPolicy
    else entering.flatMap(StoppingOffsets.wording(id, topic, _)).getOrElse("earliest")
  }

  /** The rights that are missing, and the metadata without topics that may not be described and were not read. */
  private def withoutHidden(topology: Topology): (Seq[(String, String, String)], Topology) = {
    val lacking = KafkaOffsets.inParallel(topology.clusters.values.toSeq) { cluster =>
      Using.resource(new Brokers(config(cluster.id)))(
        _.lacking(cluster.topics.keys.toSeq).map { case (topic, right) => (cluster.id, topic, right) }
      )
    }.flatten
    val hidden = lacking.collect {
      case (id, topic, Brokers.Describe) if !start.position(id).topics.contains(topic) => id -> topic
    }.toSet
    lacking -> (if (hidden.isEmpty) topology else topology.without(hidden))
  }

  /** Where the query continues in clusters that take the place of others, or why it fails. */
  private def replacements(
      replacing: ReplacingClusters,
      transition: Transition,
      views: Map[String, ClusterView],
      next: NextOffset
  ): Option[DecidedReplacements] =
    try
      PlannedReplacements.decide(
        options.changes.replaced,
        checkpoint,
        transition.clusters.map { case (id, _) => id -> config(id) }.toMap,
        replacing.start,
        transition,
        views,
        next
      )
    catch {
      case e: DynamicKafkaError if e.condition.endsWith(".CLUSTER_REPLACED") =>
        val Seq(id, found, former, reason) = Seq("cluster", "found", "known", "reason").map(e.parameters)
        val what = replacing.former.get(id).fold(
          s"is another Kafka cluster than the one that was read: $found instead of $former"
        )(former => s"replaces cluster '$former'")
        val policy = known.replacedClusterPolicy
        refuse(
          s"cluster '$id' $what. The query fails with CLUSTER_REPLACED: $reason (replacedClusterPolicy is '$policy')"
        )
    }

  /** What the first start with a checkpoint of `migrate` would fail with. */
  private def refuseMismatch(): Unit = if (checkpoint.initial.isEmpty) {
    val migrated = QueryClusters.migrated(start, streams)
    if (migrated.missing.nonEmpty) refuse(
      s"the query fails with MIGRATION_MISMATCH: the metadata lacks ${migrated.missing.mkString(", ")}." +
        migrated.suggestion.fold("")(Errors.meant) +
        " 'rename-cluster' gives a cluster of the checkpoint its id of the metadata"
    )
  }

  private def refuseUnreadFiles(): Unit = if (start.history.nonEmpty) {
    val left = checkpoint.history.fold(0L)(_.pending(start))
    if (left > 0 || checkpoint.history.isEmpty)
      refuse(s"the query still reads a history: $left ${if (left == 1) "file is" else "files are"} left")
  }

  private def resolved: Topology = {
    val answer = Resolution.resolve(
      options.metadata.subscription,
      options.metadata.discovery.allowMissingStreams,
      streams.map(s => s.streamId -> s).toMap,
      isActive
    )
    val guard = new RemovalGuard(
      options.metadata.service.name,
      options.metadata.discovery.maxRemovedClusters,
      confirmations = 1,
      options.metadata.subscription.includes
    )
    guard.begin(known.current)
    guard(answer).topology
  }

  private def withTopics(topology: Topology): Topology = {
    val open = topology.clusters.values.filter(_.patterns.nonEmpty).toSeq
    val found = KafkaOffsets.inParallel(open)(cluster =>
      cluster.id -> cluster.matching(on(cluster.id)((config, client) =>
        KafkaOffsets.await(config, client.topics)
      ))
    )
    topology.copy(clusters = topology.clusters ++ found)
  }

  private def ask(id: String, work: ClusterTransition): ClusterView.Reachable = on(id) { (config, client) =>
    // First, so that the time of a log-in is none of the attempt.
    val kafkaId = KafkaOffsets.kafkaId(config, client)
    val until = Clock.System.monotonicMs() + config.attemptMs
    val question = TriggerPlanner.question(work, complete = true, afterwards = true)
    val functions = new FunctionCalls(id, () => config.attemptMs)
    val view = KafkaOffsets.await(
      config,
      new ClusterAdmin(id, config, client, Clock.System).ask(question, Map.empty, until, functions)
    ).view
    view.unanswered.headOption.foreach { case ((topic, p), why) =>
      refuse(s"cluster '$id', topic '$topic', partition $p: $why")
    }
    view.in(kafkaId)
  }

  /** What the query would fail with, or skip. */
  private def refuseLosses(next: NextOffset): Unit = next.losses.find {
    case _: Loss.TopicGone | _: Loss.PartitionGone => false
    case _ => true
  }.foreach(loss => refuse(s"cluster '${loss.cluster}', topic '${loss.topic}': ${loss.text}"))

  /** The latest offsets; None of a topic that is gone, and nothing of a cluster that does not answer. */
  private def latest(asked: Seq[LogKey]): Map[LogKey, Option[Long]] =
    KafkaOffsets.inParallel(asked.groupBy(_.cluster).toSeq) { case (id, places) =>
      val specs = places.map(KafkaOffsets.at(_) -> OffsetSpec.latest()).toMap
      def place(at: TopicPartition) = LogKey(id, at.topic, at.partition)
      clusters.config(source, id, options).toSeq.flatMap(KafkaOffsets.of(context, _, specs)).collect {
        case (at, Success(offset)) => place(at) -> Some(offset)
        case (at, Failure(e)) if Futures.cause(e.getCause).isInstanceOf[UnknownTopicOrPartitionException] =>
          place(at) -> None
      }
    }.flatten.toMap

  private def bytes(change: PlannedChange): Long = {
    val at = KafkaOffsets.at(change.at)
    val each = KafkaOffsets.recordBytes(config(change.at.cluster), at, change.position)
    math.round(change.records.getOrElse(0L).toDouble * each)
  }

  private def on[A](id: String)(use: (ClusterConfig, ClusterClient) => A): A = {
    val reached = config(id)
    KafkaOffsets.using(context, reached, s"cluster '$id': ")(use(reached, _))
  }

  private def config(id: String): ClusterConfig =
    clusters.config(source, id, options).fold(why => refuse(s"cluster '$id': $why"), identity)

  private def refuse(reason: String): Nothing = throw new Refusal(reason)
}

private[admin] object QueryPlan {
  private val MayBeSmaller = Seq(
    "minOffsetsPerTrigger" -> "waits until it has %s records, which may delay the batch",
    "maxBytesPerTrigger" -> "limits the bytes of a batch (%s), so the batch may be smaller",
    "alignment" -> "aligns clusters by time (%s), so the batch may be smaller"
  )

  /** What the plan leaves out, given the options of the last run. */
  def assumed(options: collection.Map[String, String]): Seq[String] = MayBeSmaller.flatMap {
    case (name, text) =>
      options.get(name).filterNot(_.equalsIgnoreCase("none")).map(value => s"the query ${text.format(value)}")
  }
}

package io.github.dynamickafka.source.simulation

import scala.collection.concurrent.TrieMap
import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.streaming.{ReadAllAvailable, ReadLimit}

import io.github.dynamickafka.config.{Options, SourceOptions}
import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy, Topology}
import io.github.dynamickafka.offset._
import io.github.dynamickafka.offset.replacement.ReplacingClusters
import io.github.dynamickafka.source.checkpoint.InitialOffset
import io.github.dynamickafka.source.cluster.{ClusterConfigs, ClusterQuestion}
import io.github.dynamickafka.source.trigger.{
  Limits,
  LossGrace,
  TriggerContext,
  TriggerPlanner,
  UnconfirmedClusters
}

/** Where the driver dies in a trigger. */
private[simulation] object Crash extends Enumeration {
  val Never, BeforeLogging, BeforeReading, AfterDeferring, BeforeCommitting = Value
}

/** Whether logged batches are deferred, and what the sink is: it knows whether it has a batch, or the source cannot ask. */
private[simulation] object Deferring extends Enumeration {
  val Off, WithForeignSink, WithOwnSink = Value
}

/**
 * The loop of Spark's `MicroBatchExecution` around the rules that decide what a batch reads: an offset log, a commit log, a
 * sink that keeps the first complete attempt of a batch. Data loss does not fail the query, but is declared.
 *
 * @param entry where clusters and topics enter
 * @param ownStart where cluster c enters instead, by an option of its own
 * @param limit the most records of cluster a in a batch
 * @param logsSome whether some batches are not logged (asynchronous progress tracking): then the sink can get records again
 *                 after a restart
 * @param deferring with a foreign sink, records that it had when their batch was deferred are delivered again
 * @param stop where each log stops, as a time of records in epoch milliseconds
 * @param aligned whether clusters advance together in record time, and how
 * @param defect what is put back; [[Defect.None]] for the product
 * @param copies where the query continues in Kafka clusters that take the place of others
 * @param retentionMs how long positions of what has left the metadata are kept; -1: for good
 * @param availableNow whether each run of the query has `Trigger.AvailableNow`
 * @param history files that are read before Kafka
 */
private[simulation] final class SimulatedQuery(
    world: World,
    drainRemoved: Boolean,
    ifReplaced: ReplacedClusterPolicy,
    entry: OffsetsPolicy,
    ownStart: Option[OffsetsPolicy],
    limit: Option[Long],
    stop: Option[Long],
    logsSome: Boolean,
    deferring: Deferring.Value,
    aligned: Option[Alignment.Rules],
    defect: Defect,
    copies: Option[ModelReplacements] = None,
    retentionMs: Long = -1L,
    availableNow: Boolean = false,
    history: Option[ModelHistory] = None
) {
  private val options = SimulatedQuery.options(drainRemoved, entry, ownStart, limit, stop, retentionMs)
  private val configs = new ClusterConfigs.ByScope(options)

  /** What is determined before batch 0, if anything is. */
  private val initial: Option[InitialOffset] = history.map { of =>
    val first = TriggerContext.FirstStart(of.plan.handOver)
    val trigger = TriggerContext.begin(CompositeOffset.empty, world.topology, configs, world.now, first)
    val transition = trigger.transition(options, trigger.topology)
    val views = transition.clusters.map { case (id, work) => id -> ModelViews(world, id, work) }
    val found = NextOffset(trigger.start, transition, views, ifReplaced, _ => true)
    val position = found.offset(found.spans.map(_ => 0L)).withoutEntries
    InitialOffset(position.copy(history = of.plan.nothing), Set.empty, history = Some(of.plan))
  }
  private val log =
    new OffsetLog(world, logsSome, initial = initial.fold(CompositeOffset.empty)(_.offset))
  private val sink = new ModelSink(isIdempotent = !logsSome)
  private var limits = new Limits
  private var grace = newGrace()
  private val ahead = new ModelAgents(world)
  private var deferrals = Deferrals.none
  private val sizes = new ModelSizes(defect)
  private val alignment = aligned.map(new ModelAlignment(world, _, defect))

  /** Records that a sink may get again. */
  def repeated: Set[Long] = sink.repeated

  /** What the query has declared, and need not deliver. */
  val truth: ModelTruth =
    new ModelTruth(world, drainRemoved, ifReplaced, entry, ownStart, () => log.reached)
  private val tasks = new ModelTasks(world, truth, defect, copies)

  /** Batches with more records of cluster a than its limit. */
  var excessive = Vector.empty[String]

  /** Batches with more bytes than their limit. */
  def tooLarge: Vector[String] = sizes.excessive

  /** Whether each log has a stopping offset. */
  def isStopped: Boolean = stop.isDefined

  def isAligned: Boolean = aligned.isDefined

  /** Records that were read too early. */
  def tooNew: Vector[String] = alignment.fold(Vector.empty[String])(_.tooNew)

  /** The batches of files. */
  var ofFiles = Set.empty[Int]

  /** Ranges that were read before older records of their partition, which are in files. */
  var beforeFiles = Vector.empty[String]

  /** Whether cluster a has a limit of its own. */
  def isLimited: Boolean = limit.isDefined

  def delivered: Vector[Long] = sink.delivered

  /** The end of the last batch that was computed. */
  def reached: CompositeOffset = log.reached

  def restart(): Unit = {
    pinned = None
    former = None
    limits = new Limits
    grace = newGrace()
    ahead.clear()
    sizes.restart()
    alignment.foreach(_.restart())
    log.restart()
    if (logsSome) {
      truth.restored(reached)
      sink.getsAgainFrom(log.firstRead)
    }
  }

  private def newGrace() = new LossGrace(World.GraceMs)

  /**
   * Whether it notices at once that a cluster id leads elsewhere: a run with `AvailableNow` keeps the address of a cluster that its
   * metadata lack.
   */
  def follows(id: String): Boolean = pinned.forall(_._1.clusters.contains(id))

  /** Whether a trigger has used the address that the metadata have of a cluster. */
  def hasSeen(id: String): Boolean = (for {
    before <- former.flatMap(_.clusters.get(id))
    now <- world.topology.clusters.get(id)
  } yield before.properties == now.properties).getOrElse(true)

  /** The address of a cluster has changed: what was asked of the former one is not used. */
  def moved(): Unit = ahead.clear()

  /** The losses that it has declared. */
  var losses = Vector.empty[Loss]

  /** The records of the batches with these numbers. */
  def deliveredIn(batches: Int => Boolean): Vector[Long] = sink.deliveredIn(batches)

  /** From now on, clusters respond in time: a query is at rest if two triggers in a row find nothing to do. */
  def respondInTime(): Unit = ahead.isPrompt = true

  /** @return whether there was anything to do */
  def trigger(most: ReadLimit, crash: Crash.Value): Boolean =
    log.unfinished match {
      case Some(batch) =>
        run(batch, crash, replay = true)
        true
      case None =>
        val start = log.begin()
        // Otherwise files and Kafka alternate.
        val files = history.filter(_ => start.history.nonEmpty && !isAligned)
          .flatMap(_.plan.next(start, most = 1))
        val end = files.fold(next(start, most))(_.carrying(start, log.certain))
        // To Spark, offsets with the same text are no batch.
        if ((end eq start) || end.json == start.json) {
          if (availableNow) restart()
          false
        } else {
          if (crash != Crash.BeforeLogging) {
            truth.note(end)
            copies.foreach(_.planned(log.next, end))
            run(log.add(start, end), crash, replay = false)
          } else restart()
          true
        }
    }

  private def next(start: CompositeOffset, most: ReadLimit): CompositeOffset = {
    if (defect.marksDeferrals)
      deferrals = deferrals.entered(deferrals.entering(start).filter(log.last > _ || defect.marksUnlogged))
    deferrals = deferrals.without(deferrals.over(start))
    val reached = if (defect.resumesDeferred) deferrals.reached(start) else start
    // A run with `AvailableNow` has the clusters and topics of its beginning, at their newest addresses.
    def topology = pinned.fold(world.topology)(_._1.withPropertiesOf(world.topology))
    def replacing() = defect.replacing(reached, topology, drainRemoved, world.now)
    def begin(of: ReplacingClusters) =
      TriggerContext.begin(of.start, of.topology, configs, world.now, TriggerContext.Started(initial))
    val begun = begin(replacing())
    world.changeInTrigger()
    val trigger = defect.trigger(begun, begin(replacing()))
    val transition = defect.transition(trigger.transition(options, trigger.topology))
    val questions = transition.clusters.map { case (id, work) => id -> question(id, work, trigger.topology) }
    val moved = former.fold(Set.empty[String])(TriggerPlanner.moved(_, trigger.topology))
    former = Some(trigger.topology)
    val now = transition.clusters.map { case (id, work) =>
      id -> (() => defect.view(ModelViews(world, id, work)))
    }
    val found: Map[String, ClusterView] =
      if (!availableNow) questions.map { case (id, q) => id -> ahead.ask(id, q, now(id)) }
      else pinned.fold(questions.map { case (id, _) => id -> now(id)() }.toMap) { case (_, views) =>
        val asked = questions.keys.filter(id => moved(id) && defect.followsMoves)
        TriggerPlanner.followed(views, asked.map(id => id -> now(id)()).toMap)
      }
    def isLost(loss: Loss) = !defect.waitsForMissing || grace.isLost(loss, world.now)
    val first = NextOffset(trigger.start, transition, found, ifReplaced, isLost)
    val unconfirmed =
      if (defect.confirms && !availableNow) UnconfirmedClusters(transition, first).intersect(ahead.earlier)
      else Set.empty[String]
    val views = found ++ unconfirmed.map(id => id -> ahead.askNow(id, questions(id), now(id)))
    val certain =
      if (unconfirmed.isEmpty) first else NextOffset(trigger.start, transition, views, ifReplaced, isLost)
    val replaced = copies.flatMap(_.decide(trigger.start, transition, views, certain))
    val decided = replaced.fold(certain)(of =>
      NextOffset(trigger.start, transition, of.views, ifReplaced, isLost(_), of.continued)
    )
    val advance = defect.next(Planned(trigger.start, transition, views, decided))
    if (availableNow) pinned = Some((pinned.fold(world.topology)(_._1), replaced.fold(views)(_.views)))
    val lost = grace.observe(advance.losses, world.now)
    losses ++= lost
    truth.declared(reached, lost, advance.replaced, trigger.topology)
    def ofCluster(id: String) = trigger.configs.all.maxOffsetsPerTrigger(id)
    val files = history.filter(_ => isAligned).flatMap(_.plan.unread(start, most = 1))
    val (spans, read) = alignment.fold((advance.spans, Option.empty[UnreadFiles]))(_.align(
      advance.spans,
      views,
      files,
      trigger.topology
    ))
    val granted =
      if (read.isDefined) spans.map(_ => 0L)
      else
        defect.granted.fold(limits.grant(
          spans,
          most,
          ofCluster,
          world.now,
          wait = false,
          sizes.known
        ))(
          _(spans, most, ofCluster, log.next)
        )
    val left = read.orElse(files)
    alignment.foreach(_.planned(advance.spans, granted, views, files, left, trigger.topology))
    checkLimit(advance.spans, granted, most)
    if (defect.granted.isEmpty) sizes.check(advance.spans, granted, most)
    val ofKafka = advance.offset(granted)
    val computed = left.fold(ofKafka)(files => ofKafka.copy(history = files.read))
    val resumed = if (defect.resumesDeferred) deferrals.resumed(start, computed) else computed
    val end = defect.carried(resumed, start, log.certain)
    if (read.isEmpty && end.sameAs(start)) start
    else {
      if (defect.validates) { val _ = OffsetRange.beforeLogging(start, end) }
      end
    }
  }

  private var former: Option[Topology] = None

  /** The clusters and topics of a run with `AvailableNow`, and what the clusters have responded. */
  private var pinned: Option[(Topology, Map[String, ClusterView])] = None

  private def checkLimit(spans: IndexedSeq[Span], granted: IndexedSeq[Long], most: ReadLimit): Unit = {
    val records = spans.iterator.zip(granted.iterator).collect { case (s, n) if s.cluster == "a" => n }.sum
    if (!most.isInstanceOf[ReadAllAvailable] && limit.exists(_ < records))
      excessive :+= s"$records records of cluster a in a batch"
  }

  private def question(id: String, work: ClusterTransition, topology: Topology): ClusterQuestion =
    TriggerPlanner.question(
      work,
      complete = false,
      afterwards = former.exists(_.clusters.get(id) != topology.clusters.get(id))
    )

  private def run(batch: ModelBatch, crash: Crash.Value, replay: Boolean): Unit = {
    import batch.{end, start}
    val whole = if (replay) OffsetRange.between(start, end) else OffsetRange.beforeLogging(start, end)
    val decided = if (defect.readsDeferrals) deferrals.of(start, end) else None
    val ranges = decided.fold(whole)(_.rest(whole))
    val elsewhere =
      if (replay) copies.fold(Set.empty[String])(_.elsewhere(end, ranges.keySet)) else Set.empty[String]
    val away = ranges.filter { case (id, _) => world.down(id) || elsewhere(id) }
    if (crash == Crash.BeforeReading) restart()
    else if (away.nonEmpty && !(replay && defers(batch.number, decided))) {
      world.tell(s"batch ${batch.number} waits for its clusters")
      if (elsewhere.nonEmpty) throw new ModelReplacements.Refused("a logged batch of the former cluster")
      if (logsSome) restart()
    } else {
      if (away.nonEmpty) {
        deferrals = deferrals.added(batch.number.toLong, Deferral(start, end, away))
        if (deferring == Deferring.WithForeignSink) sink.getsAgain(batch.number)
        world.tell(s"batch ${batch.number} defers $away")
      }
      if (crash == Crash.AfterDeferring) restart()
      else if (!(ranges -- away.keySet).forall { case (id, of) => of.forall(readable(id, _)) }) {
        // The task waits, and fails.
        world.tell(s"batch ${batch.number} waits for leaders, or for records")
        restart()
      } else {
        read(batch, ranges -- away.keySet, replay)
        if (crash == Crash.BeforeCommitting) restart()
        else {
          log.finish(batch)
          copies.foreach(_.finished(deferrals.reached(end)))
        }
      }
    }
  }

  private def readable(id: String, range: OffsetRange): Boolean =
    world.hasLeader(id, range.topic, range.partition) && (defect.endsAtLogEnd ||
      world.topic(id, range.topic).flatMap(_.logs.lift(range.partition)).forall(_.end >= range.until))

  private def defers(batch: Int, decided: Option[Deferral]): Boolean = deferring match {
    case Deferring.Off => false
    case Deferring.WithForeignSink => decided.isEmpty
    case _ => decided.isEmpty && (!sink.has(batch) || defect.defersDecided)
  }

  private def withReplaced(id: String) = former.fold(Seq(id))(_.withReplaced(id))

  private def read(
      batch: ModelBatch,
      ranges: SortedMap[String, Seq[OffsetRange]],
      replay: Boolean
  ): Unit = {
    val files = history.fold(Vector.empty[Long])(_.read(batch.start, batch.end))
    if (files.nonEmpty) ofFiles += batch.number
    val (rows, replaced) = ranges.toVector.flatMap { case (id, of) =>
      of.map { range =>
        if (range.until > range.from && history.exists(_.precedes(batch.start, withReplaced(id), range)))
          beforeFiles :+= s"batch ${batch.number} reads $range"
        val found = tasks.read(id, batch.end.identity(id), range, replay)
        sizes.read(id, range, found._1.size)
        found
      }
    }.foldLeft((files, Set.empty[Long])) { case ((all, others), (more, replaced)) =>
      (all ++ more, others ++ replaced)
    }
    sink.add(batch.number, rows).foreach { first =>
      val foreign = rows.filterNot(first.toSet).filterNot(truth.excused).filterNot(replaced)
      if (foreign.nonEmpty) truth.falseLosses :+= s"batch ${batch.number} had $first and then $rows"
    }
  }
}

private[simulation] object SimulatedQuery {
  private val parsed =
    TrieMap.empty[
      (Boolean, OffsetsPolicy, Option[OffsetsPolicy], Option[Long], Option[Long], Long),
      SourceOptions
    ]

  def options(
      drainRemoved: Boolean,
      entry: OffsetsPolicy,
      ownStart: Option[OffsetsPolicy],
      limit: Option[Long],
      stop: Option[Long] = None,
      retentionMs: Long = -1L
  ): SourceOptions = parsed.getOrElseUpdate(
    (drainRemoved, entry, ownStart, limit, stop, retentionMs), {
      val chosen = Seq(
        "streamMetadataRemovedClusterRetentionMs" -> retentionMs.toString,
        "removedClusterPolicy" -> (if (drainRemoved) "drain" else "stop"),
        "newClusterStartingOffsets" -> text(entry),
        "newTopicStartingOffsets" -> text(entry)
      ) ++ ownStart.map("cluster.c.startingOffsets" -> text(_)) ++
        limit.map("cluster.a.maxOffsetsPerTrigger" -> _.toString) ++
        stop.map("endingTimestamp" -> _.toString)
      Options.parse(chosen: _*)
    }
  )

  private def text(policy: OffsetsPolicy): String =
    if (policy == OffsetsPolicy.Latest) "latest" else "earliest"
}

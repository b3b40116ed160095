package io.github.dynamickafka.source.simulation

import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy, Topology}
import io.github.dynamickafka.offset._
import io.github.dynamickafka.source.checkpoint.DecidedEntries
import io.github.dynamickafka.source.cluster.ClusterConfigs
import io.github.dynamickafka.source.realtime.{RealTimeRanges, TaskPositions}
import io.github.dynamickafka.source.trigger.{LossGrace, TriggerContext, TriggerPlanner, UnconfirmedClusters}

/** Where the driver dies in a batch of real-time mode. */
private[simulation] object RealTimeCrash extends Enumeration {
  val Never, InBatch, BeforeLogging, BeforeCommitting = Value
}

/**
 * The loop of Spark's `MicroBatchExecution` in real-time mode around the rules that decide what a batch reads, as `RealTimeBatches`
 * applies them: batches run before they are logged, end when they no longer fit, and the sink gets what was not logged
 * again. The query can be switched to micro-batches and back.
 *
 * @param hasHoles whether some batches are not logged (asynchronous progress tracking)
 * @param defect what is put in place of the product's rules; [[RealTimeDefect.None]] for the product
 */
private[simulation] final class SimulatedRealTimeQuery(
    world: World,
    drainRemoved: Boolean,
    ifReplaced: ReplacedClusterPolicy,
    entry: OffsetsPolicy,
    hasHoles: Boolean,
    defect: RealTimeDefect
) {
  private val log =
    new OffsetLog(world, hasHoles, onCommit = end => committed :+= end)
  private val sink = new ModelSink(isIdempotent = false)
  private val ahead = new ModelAgents(world)
  private var grace = newGrace()
  private var former: Option[Topology] = None

  /** The file of the checkpoint, which outlives a crash. */
  private var decided = DecidedEntries.none

  /** What Spark has committed, and the file of the decisions does not know yet. */
  private var committed = Vector.empty[CompositeOffset]
  private var prepared: Option[PreparedEnd] = None
  private var settled: Option[(CompositeOffset, Planned)] = None
  private var isRealTime = true

  val truth: ModelTruth =
    new ModelTruth(world, drainRemoved, ifReplaced, entry, ownStart = None, () => log.reached)
  private val tasks = new ModelTasks(world, truth, Defect.None)
  private val options = SimulatedQuery.options(drainRemoved, entry, None, None)
  private val configs = new ClusterConfigs.ByScope(options)

  private def newGrace() = new LossGrace(World.GraceMs)

  def delivered: Vector[Long] = sink.delivered

  /** Records that the sink may get again: those of batches that were not logged, after a restart. */
  def repeated: Set[Long] = sink.repeated

  /** The end of the last batch that was computed. */
  def reached: CompositeOffset = log.reached

  def respondInTime(): Unit = ahead.isPrompt = true

  /** The query is stopped, or its driver dies. */
  private def restart(): Unit = {
    grace = newGrace()
    former = None
    ahead.clear()
    settled = None
    prepared = None
    committed = Vector.empty
    log.restart()
    decided = defect.restored(decided)
    if (isRealTime) log.purge().foreach(end => decided = defect.purged(decided, end))
    truth.restored(reached)
    sink.getsAgainFrom(log.firstRead)
  }

  /** The query continues with the other trigger. */
  def switch(): Unit = {
    isRealTime = !isRealTime
    world.tell(if (isRealTime) "real-time" else "micro-batches")
    restart()
  }

  /** @return whether the batch has had anything to do */
  def batch(crash: RealTimeCrash.Value): Boolean = if (isRealTime) realTime(crash) else microBatch(crash)

  private def realTime(crash: RealTimeCrash.Value): Boolean = {
    val start = log.begin()
    val planned = settled.collect { case (`start`, planned) => planned }.getOrElse(next(start))
    val position = positionOf(planned)
    val from = if (position.sameAs(start)) Some(start) else defect.readsFrom(position)
    val followers = from.toSeq.flatMap(RealTimeRanges(_)).map { case (id, range) =>
      new ModelFollower(world, truth, id, defect.range(range))
    }
    if (from.isDefined) {
      runUntilEnd(start, followers)
      if (!world.isSettled || world.chance(50)) prepareEnd(start, followers)
    }
    truth.read(start, TaskPositions.reached(start, followers.map(_.positions)))
    val rows = followers.toVector.flatMap(_.rows)
    val _ = sink.add(log.next, rows)
    if (rows.nonEmpty) world.tell(s"read $rows in ${log.next}")
    if (crash == RealTimeCrash.InBatch) {
      restart()
      true
    } else {
      val end = endOf(start, followers)
      if (crash == RealTimeCrash.BeforeLogging) restart()
      else {
        val logged = log.add(start, end)
        if (crash == RealTimeCrash.BeforeCommitting) restart() else log.finish(logged)
      }
      rows.nonEmpty || (end ne start)
    }
  }

  private def runUntilEnd(start: CompositeOffset, followers: Seq[ModelFollower]): Unit = {
    def read() = followers.foreach(f => f.read(if (world.isSettled) Int.MaxValue else world.upTo(4)))
    read()
    while (!world.isSettled && world.chance(70) && !followers.exists(_.asksForEnd) && fits(start)) {
      world.change()
      read()
    }
  }

  /** The driver decides that the batch ends; more happens before the tasks end. */
  private def prepareEnd(start: CompositeOffset, followers: Seq[ModelFollower]): Unit = {
    tidy()
    val planned = plan(start)
    if (defect.isCertain(planned.next) && !positionOf(planned).sameAs(start)) {
      val end = planned.next.offset(planned.next.spans.map(_ => 0L)).carrying(start, log.certain)
      prepared = Some(PreparedEnd(planned, former, decided))
      decided = defect.added(decided, end, planned.views)
      world.tell(s"prepared ${end.json}")
      if (!world.isSettled && world.chance(50)) world.change()
      followers.foreach(f => f.read(if (world.isSettled) Int.MaxValue else world.upTo(4)))
    }
  }

  private def tidy(): Unit = {
    decided = committed.foldLeft(decided)(_.committed(_))
    committed = Vector.empty
  }

  /** What the driver looks at while the batch runs. */
  private def fits(start: CompositeOffset): Boolean = {
    tidy()
    val planned = plan(start)
    val _ = grace.observe(
      planned.next.losses.filter {
        case _: Loss.TopicGone | _: Loss.PartitionGone => true
        case _ => false
      },
      world.now
    )
    positionOf(planned).sameAs(start)
  }

  private def endOf(start: CompositeOffset, followers: Seq[ModelFollower]): CompositeOffset = {
    val reached = defect.reached(start, followers.map(_.positions))
    val planned = further(reached).getOrElse(next(reached))
    val computed = planned.next.offset(planned.next.spans.map(_ => 0L)).carrying(start, log.certain)
    val end = if (computed.sameAs(start)) start else computed
    val _ = OffsetRange.beforeLogging(start, end)
    val before = prepared.fold(decided)(_.before)
    decided = defect.decided(
      prepared.map(_ => decided),
      if (end ne start) defect.added(before, end, planned.views) else before
    )
    if (end ne start) truth.note(end)
    prepared = None
    settled = Some(end -> planned)
    end
  }

  /** What was prepared, at what was read since. */
  private def further(reached: CompositeOffset): Option[Planned] = for {
    PreparedEnd(found, topology, _) <- prepared if topology.contains(world.topology)
    trigger =
      TriggerContext.begin(reached, world.topology, configs, world.now, TriggerContext.Started(None, decided))
    transition = trigger.transition(options, world.topology)
    (views, next) <-
      defect.further(reached, found.transition, transition, found.views, decided, ifReplaced)
  } yield {
    world.tell("ended as prepared")
    truth.declared(reached, Nil, Nil, world.topology)
    Planned(reached, transition, views, next)
  }

  private def microBatch(crash: RealTimeCrash.Value): Boolean = {
    val found = inMicroBatches(crash)
    tidy()
    found
  }

  private def inMicroBatches(crash: RealTimeCrash.Value): Boolean = log.unfinished match {
    case Some(batch) =>
      run(batch, crash, isReplay = true)
      true
    case None =>
      val start = log.begin()
      val next = this.next(start).next
      val end = next.offset(next.spans.map(_.lag)).carrying(start, log.certain)
      val isBatch = !end.sameAs(start)
      if (isBatch) {
        val _ = OffsetRange.beforeLogging(start, end)
        if (crash == RealTimeCrash.BeforeLogging) restart()
        else {
          truth.note(end)
          run(log.add(start, end), crash, isReplay = false)
        }
      }
      isBatch
  }

  private def run(batch: ModelBatch, crash: RealTimeCrash.Value, isReplay: Boolean): Unit = {
    val ranges = OffsetRange.between(batch.start, batch.end)
    val isRead = ranges.forall { case (id, of) =>
      !world.down(id) && of.forall(range => world.hasLeader(id, range.topic, range.partition))
    }
    if (isRead) {
      val rows = ranges.toVector.flatMap { case (id, of) =>
        of.flatMap(tasks.read(id, batch.end.identity(id), _, isReplay)._1)
      }
      val _ = sink.add(batch.number, rows)
    }
    if (!isRead || crash == RealTimeCrash.InBatch || crash == RealTimeCrash.BeforeCommitting) restart()
    else log.finish(batch)
  }

  private def positionOf(planned: Planned): CompositeOffset =
    planned.next.offset(planned.next.spans.map(_ => 0L)).withoutEntries

  private def next(from: CompositeOffset): Planned = {
    val planned = plan(from)
    val losses = grace.observe(planned.next.losses, world.now)
    truth.declared(from, losses, planned.next.replaced, former.getOrElse(world.topology))
    planned
  }

  private def plan(from: CompositeOffset): Planned = {
    val origin = TriggerContext.Started(None, decided)
    val trigger = TriggerContext.begin(from, world.topology, configs, world.now, origin)
    world.changeInTrigger()
    val transition = trigger.transition(options, trigger.topology)
    val questions = transition.clusters.map { case (id, work) =>
      val isNew = former.exists(_.clusters.get(id) != trigger.topology.clusters.get(id))
      id -> TriggerPlanner.question(work, complete = false, afterwards = isNew)
    }
    former = Some(trigger.topology)
    val now = transition.clusters.map { case (id, work) => id -> (() => ModelViews(world, id, work)) }
    val found = questions.map { case (id, question) => id -> ahead.ask(id, question, now(id)) }
    def isLost(loss: Loss) = grace.isLost(loss, world.now)
    def nextOf(views: Map[String, ClusterView]) =
      NextOffset(from, transition, decided.in(views), ifReplaced, isLost(_), decided.continued(views))
    val first = nextOf(found)
    val unconfirmed = UnconfirmedClusters(transition, first).intersect(ahead.earlier)
    val views = found ++ unconfirmed.map(id => id -> ahead.askNow(id, questions(id), now(id)))
    Planned(from, transition, views, if (unconfirmed.isEmpty) first else nextOf(views))
  }
}

/**
 * What was stored before the tasks of a batch have ended.
 *
 * @param topology the one to which it belongs
 * @param before the decisions without it
 */
private[simulation] final case class PreparedEnd(
    planned: Planned,
    topology: Option[Topology],
    before: DecidedEntries
)

package io.github.dynamickafka.source.realtime

import java.util.UUID
import java.util.concurrent.{ConcurrentHashMap, CountDownLatch, TimeUnit}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.apache.spark.sql.streaming.StreamingQuery
import org.slf4j.LoggerFactory

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{ReplacedClusterPolicy, Topology}
import io.github.dynamickafka.offset.{
  ClusterIdentity,
  ClusterTransition,
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  LogIdentity,
  NextOffset,
  OffsetRange,
  Positions,
  Transition
}
import io.github.dynamickafka.source.checkpoint.DecidedEntries
import io.github.dynamickafka.source.read.{RangeBundle, ReadSettings, StreamRange}
import io.github.dynamickafka.source.report.QueryReporter
import io.github.dynamickafka.source.trigger.{QueryState, TriggerSnapshot, TriggerSnapshots}
import io.github.dynamickafka.storage.RealTimeSinks

/**
 * The batches of a query in real-time mode: planned from their start alone, and ended by what their tasks report. See
 * docs/dev/decisions/0043-real-time-mode.md, and 0052 for what is done before the tasks end. Used by the thread of the query,
 * but for [[fits]] and [[prepareEnd]].
 *
 * @param settings of all tasks
 * @param cores the current number of cores of the session
 * @param query the id of the query on whose thread this is called
 * @param pendingFiles the number of files of histories that are not read at an offset
 */
private[source] final class RealTimeBatches(
    state: QueryState,
    snapshots: TriggerSnapshots,
    reporter: QueryReporter,
    settings: () => ReadSettings,
    cores: () => Int,
    query: () => Option[UUID],
    pendingFiles: CompositeOffset => Long
) extends AutoCloseable {
  import RealTimeBatches._
  import state._

  private val log = LoggerFactory.getLogger(classOf[RealTimeBatches])
  private val latencies = new BatchLatencies
  private val watch =
    new BatchWatch(options.batches.realTime.minBatchMs, clock, latencies, () => fits(), () => prepareEnd())
  private val held = new CountDownLatch(1)
  @volatile private var isStopping = false
  private var isPrepared = false
  @volatile private var ofQuery: Option[UUID] = None
  private var running: Option[Running] = None
  private var settled: Option[Settled] = None
  private var ahead: Option[Ahead] = None

  /** What Spark has committed, and [[tidy]] has not applied to the decisions. */
  private var commits = Vector.empty[CompositeOffset]

  /** A topology that is stored, perhaps with what no offset has any more. */
  private var untidy: Option[Topology] = None
  private var lookedAt = 0L
  private var looked: Option[Topology] = None
  private var failure: Option[Throwable] = None

  /** Whether the query runs in this mode. */
  def isOn: Boolean = isPrepared

  /** @throws DynamicKafkaIllegalArgumentException `INVALID_OPTION` */
  def prepare(): Unit = {
    options.batches.realTime.refused.foreach { case (name, value) =>
      throw Errors.invalidOption(name, value, "it cannot be combined with real-time mode.")
    }
    // Spark deletes these batches before it plans the first one.
    val entries = checkpoint.entries
    entries.write(
      checkpoint.uncommitted.map(CompositeOffsetJson.read(_)).foldLeft(entries.current)(_.addOlder(_))
    )
    isPrepared = true
    reporter.metrics.showLatencies(latencies.of)
    ofQuery = query()
    ofQuery.foreach(RealTimeQueries.add(_, this))
  }

  /** The running batch ends, and the thread of the query is held before the next one. */
  def stopAfterBatch(): Unit = {
    isStopping = true
    watch.request()
  }

  /** Whether the thread of the query is held, and so its last batch is logged and committed. Waits for it. */
  def awaitHeld(time: Long, unit: TimeUnit): Boolean = held.await(time, unit)

  /** Waits until the query is stopped, which interrupts its thread. */
  private def hold(): Unit = {
    held.countDown()
    new CountDownLatch(1).await()
  }

  /**
   * Before each batch.
   *
   * @return the same offset: a batch of this mode has no end before it has ended
   */
  def begin(start: CompositeOffset): CompositeOffset = {
    start.history.keys.headOption.filter(_ => pendingFiles(start) > 0).foreach(stream =>
      throw Errors.invalidOption(
        "history",
        stream,
        "the files of the stream are not read completely, and real-time mode reads Kafka only. Run the query with another " +
          "trigger until 'pendingHistoryFiles' is 0."
      )
    )
    logged.starts(start)
    deferred.committed(start)
    failure.foreach(throw _)
    if (isStopping) hold()
    start
  }

  /** The tasks of the batch that starts here. Of the same batch the same ones: Spark may plan a batch several times. */
  def partitions(start: CompositeOffset): Array[InputPartition] = synchronized {
    running.filter(_.start == start).fold(plan(start))(_.partitions)
  }

  private def plan(start: CompositeOffset): Array[InputPartition] = {
    val from = deferred.reached(start)
    val snapshot = settled.collect { case Settled(`start`, snapshot) => snapshot }.getOrElse(next(from))
    // If not, the batch ends at once: what is decided now is in its end, before a record is read.
    val isSettled = from == start && snapshot.position.sameAs(start)
    // The end of the batch before has stored it: only what no offset has any more is left out, while this batch runs.
    if (settled.exists(_.snapshot eq snapshot)) untidy = Some(snapshot.topology)
    else checkpoint.remember(snapshot.topology, logged.named)
    val ranges = if (isSettled) rangesOf(start) else Nil
    val parts = RealTimeTasks.divide(
      ranges,
      options.batches.realTime.tasks.getOrElse(cores()).min(watch.knownSlots.getOrElse(Int.MaxValue))
    )
    // The first batch may last for minutes, with gauges.
    reporter.triggered(from, snapshot, latestOffsets.current)
    latencies.begin()
    val address = watch.begin(parts.size)
    if (!isSettled) watch.endNow()
    if (isStopping) watch.request()
    val readSettings = settings()
    val tasks = parts.map { part =>
      val bundles = part.groupBy(_._1).toSeq.sortBy(_._1).map { case (id, ofCluster) =>
        RangeBundle(streams(id).config.consumer.forRealTime, ofCluster.map(_._2), readSettings, Nil)
      }
      RealTimeTask(bundles, address, options.clusters.unreachable.skip): InputPartition
    }.toArray
    looked = Some(snapshot.trigger.topology)
    lookedAt = clock.monotonicMs()
    ahead = None
    running = Some(Running(start, from, propertiesOf(snapshot.trigger.topology, start), tasks))
    checkpoint.planned()
    tasks
  }

  private def rangesOf(start: CompositeOffset): Seq[(String, StreamRange)] =
    RealTimeRanges(start).map { case (id, range) =>
      id -> StreamRange(checkpoint.streamOf(id, range.topic), range)
    }

  /** The end of the running batch, of which tasks have reported this. It fits the newest topology. */
  def end(reported: Seq[TaskPositions]): CompositeOffset = synchronized {
    watch.end()
    reported.foreach(task => latencies.add(task.latencies))
    val batch = running.getOrElse(throw new IllegalStateException("no batch is running"))
    running = None
    val reached = TaskPositions.reached(batch.from, reported)
    // What was read is logged, whatever has happened to the clusters; the next batch fails.
    val snapshot =
      if (failure.isDefined) None
      else
        try Some(further(batch, reached).getOrElse(next(reached)))
        catch {
          case NonFatal(e) =>
            failure = Some(e)
            None
        }
    val position = snapshot.fold(reached.withoutEntries)(s => s.next.start)
    val (end, ranges) = endOf(batch.start, position)
    snapshot.foreach { s =>
      checkpoint.remember(s.topology, logged.named)
      lost.add(s.trigger.start, s.next, latestOffsets.update(s))
      reporter.ended(reached, s, latestOffsets.current)
    }
    // Without what was decided ahead and does not enter here. After a failure the decisions stay, as after a crash.
    snapshot.foreach { s =>
      val before = ahead.fold(checkpoint.entries.current)(_.before)
      checkpoint.entries.write(if (end ne batch.start) before.add(end, s.views) else before)
    }
    ahead = None
    settled = snapshot.map(Settled(end, _))
    reporter.planned(end, ranges)
    if (end ne batch.start) reporter.changed(batch.start, end).foreach(log.info(_))
    end
  }

  /** What was found before the tasks have ended, at what they have read since; None if the clusters have to be asked. */
  private def further(batch: Running, reached: CompositeOffset): Option[TriggerSnapshot] =
    for {
      found <- ahead.map(_.snapshot)
      // Another change of the metadata since then is in the end of this batch, too.
      if batch.from == batch.start && feed.newest.exists(_ eq found.trigger.topology)
      trigger <- found.trigger.readFurther(reached, clock.currentTimeMillis(), checkpoint.entries.current)
      transition = trigger.transition(options, found.topology)
      (views, next) <- FurtherRead(
        reached,
        found.transition,
        transition,
        found.views,
        trigger.decided,
        options.changes.replaced
      )
    } yield {
      val snapshot = TriggerSnapshot(trigger, found.topology, transition, views, next)
      snapshots.found(snapshot)
      snapshot
    }

  private def next(from: CompositeOffset): TriggerSnapshot = {
    val snapshot = snapshots.next(from)
    snapshots.judgeUnanswered(snapshot)
    snapshot
  }

  /** Whether the start of the running batch is what the newest topology and the clusters ask for. */
  private def fits(): Boolean = {
    val newest = feed.newest
    val isDue = clock.monotonicMs() - lookedAt >= LookEveryMs || newest.exists(n => !looked.exists(_ eq n))
    ofQuery.forall(id => RealTimeSinks.fit(id.toString)) && (!isDue || synchronized {
      running.forall { batch =>
        lookedAt = clock.monotonicMs()
        looked = newest
        try {
          tidy()
          newest.forall(propertiesOf(_, batch.start) == batch.properties) && {
            val snapshot = snapshots.preview(batch.from)
            snapshots.judgeUnanswered(snapshot)
            // What enters is looked at as soon as it has responded.
            if (snapshot.views.valuesIterator.contains(ClusterView.Pending)) looked = None
            snapshot.position.sameAs(batch.from)
          }
        } catch {
          case NonFatal(e) =>
            failure = Some(e)
            false
        }
      }
    })
  }

  /**
   * Before the tasks are ended: stores what the end of their batch requires, while records are still read. If the batch then ends
   * otherwise, by another change or a crash, what was decided here is withdrawn, or is a decision as that of a batch that Spark did
   * not log.
   */
  private def prepareEnd(): Unit = synchronized {
    running.filter(batch => failure.isEmpty && ahead.isEmpty && batch.from == batch.start).foreach { batch =>
      try {
        tidy()
        val snapshot = snapshots.preview(batch.from)
        val isChanged = !snapshot.position.sameAs(batch.from) ||
          propertiesOf(snapshot.trigger.topology, batch.start) != batch.properties
        if (isChanged && FurtherRead.isCertain(snapshot.next)) {
          val before = checkpoint.entries.current
          val position = snapshot.next.start
          val (end, named) = logged.expecting(batch.start, position)
          val _ = OffsetRange.beforeLogging(batch.start, end)
          // From here on, the end of the batch withdraws what does not enter.
          ahead = Some(Ahead(snapshot, before))
          checkpoint.remember(snapshot.topology, named)
          checkpoint.entries.write(before.add(end, snapshot.views))
        }
      } catch {
        case NonFatal(e) => log.info("The end of the batch is not prepared: {}", e.getMessage)
      }
    }
  }

  /** Spark has committed this offset. The decisions that it has are forgotten while a batch runs. */
  def committed(end: CompositeOffset): Unit = synchronized(commits :+= end)

  /** Leaves out of the checkpoint what is not needed any more, while records are read. */
  private def tidy(): Unit = {
    val entries = checkpoint.entries
    entries.write(commits.foldLeft(entries.current)(_.committed(_)))
    commits = Vector.empty
    untidy.foreach(checkpoint.remember(_, logged.named))
    untidy = None
  }

  override def close(): Unit = {
    RealTimeQueries.remove(this)
    watch.close()
  }
}

private[realtime] object RealTimeBatches {

  /** The interval between two looks at the clusters, which are asked ahead. */
  private val LookEveryMs = 1000L

  /**
   * @param from the positions that the query has reached at `start`
   * @param properties of the clusters that are read
   */
  private final case class Running(
      start: CompositeOffset,
      from: CompositeOffset,
      properties: Map[String, Map[String, String]],
      partitions: Array[InputPartition]
  )

  /**
   * What was found and stored before the tasks of a batch have ended.
   *
   * @param before the decisions without those that were made ahead
   */
  private final case class Ahead(snapshot: TriggerSnapshot, before: DecidedEntries)

  /** An offset of this run, and what it was computed from. */
  private final case class Settled(offset: CompositeOffset, snapshot: TriggerSnapshot)

  private def propertiesOf(topology: Topology, offset: CompositeOffset): Map[String, Map[String, String]] =
    topology.clusters.iterator.collect {
      case (id, cluster) if offset.clusters.contains(id) => id -> cluster.properties
    }.toMap
}

/**
 * The end of a batch by the responses of clusters from before its tasks have ended: records were read since, and nothing else has changed. Pure.
 */
private[source] object FurtherRead {

  /**
   * Whether what is found at the start of a batch is so at its end, too, but for how far it has read. Not so is where a cluster continues in
   * the place of another one, which is still read, and what is lost.
   */
  def isCertain(atStart: NextOffset): Boolean =
    atStart.losses.isEmpty && atStart.replaced.isEmpty && atStart.renamed.isEmpty

  /**
   * @param reached what the tasks have read
   * @param before the effect of the topology on the start of the batch, to which `views` are the responses
   * @param transition the same of `reached`
   * @return None if these responses do not suffice: then the clusters have to be asked
   */
  def apply(
      reached: CompositeOffset,
      before: Transition,
      transition: Transition,
      views: Map[String, ClusterView],
      decided: DecidedEntries,
      ifReplaced: ReplacedClusterPolicy
  ): Option[(Map[String, ClusterView], NextOffset)] =
    if (!sameWork(before, transition) || !views.forall { case (id, view) => suffices(reached, id, view) })
      None
    else {
      val further = views.map {
        case (id, view: ClusterView.Reachable) =>
          id -> view.copy(ends = view.ends ++ beyond(reached, id, view))
        case other => other
      }
      val next = NextOffset(reached, transition, decided.in(further), ifReplaced, _ => false)
      Option.when(isCertain(decided.losses(further, next)))((further, next))
    }

  private def suffices(reached: CompositeOffset, id: String, view: ClusterView): Boolean = view match {
    case view: ClusterView.Reachable =>
      val epochs = reached.identity(id).epochs
      view.unanswered.isEmpty &&
      // Below a position behind the response, records may be of a later leader than that of the response.
      beyond(reached, id, view).iterator.forall { case (topic, p, _) =>
        epochs.get(topic, p).isDefined || view.epochs.get(topic, p).isEmpty
      }
    case ClusterView.Unreachable | ClusterView.Pending => true
  }

  /** Where records were read that the response does not have. */
  private def beyond(reached: CompositeOffset, id: String, view: ClusterView.Reachable): Positions =
    Positions.from(reached.position(id).iterator.filter { case (topic, p, at) =>
      view.ends.get(topic, p).exists(_ < at)
    })

  private def sameWork(before: Transition, now: Transition): Boolean =
    before.clusters.keySet == now.clusters.keySet && before.clusters.forall { case (id, work) =>
      val other = now.clusters(id)
      withoutOffsets(work) == withoutOffsets(other) && (work.staying -- other.staying).isEmpty &&
      (other.staying -- work.staying).isEmpty
    }

  private def withoutOffsets(work: ClusterTransition): ClusterTransition =
    work.copy(staying = Positions.empty)
}

/**
 * What a batch reads that starts at an offset, by cluster. Pure.
 *
 * Kafka's client gets the leader epoch of each start. It compares the log with it before it reads, and again at each election: while
 * it has read no record, it knows no other epoch, and would read on in a log that was truncated and has grown past the start.
 */
private[source] object RealTimeRanges {

  def apply(start: CompositeOffset): Seq[(String, OffsetRange)] =
    for {
      (id, positions) <- start.clusters.toSeq
      identity = start.identity(id)
      targets = start.draining.getOrElse(id, Positions.empty)
      (topic, p, from) <- positions.iterator.toSeq
      stop = start.endsOf(id).get(topic).flatMap(_.offsets.get(p))
      until = (targets.get(topic, p) ++ stop).minOption.getOrElse(OffsetRange.NoEnd) if from < until
    } yield id -> OffsetRange(
      topic,
      p,
      from,
      until,
      identity.epochs.get(topic, p),
      LogIdentity(identity.topics.get(topic))
    )
}

/** The sources of this driver's queries in real-time mode, by the id of the query. Thread-safe. */
private[dynamickafka] object RealTimeQueries {
  private val all = ConcurrentHashMap.newKeySet[(UUID, RealTimeBatches)]()
  private val LookEveryMs = 50L

  private[realtime] def add(query: UUID, source: RealTimeBatches): Unit = { val _ = all.add(query -> source) }

  private[realtime] def remove(source: RealTimeBatches): Unit = { val _ = all.removeIf(_._2 eq source) }

  /** Stops a query when its batch has ended and is logged, so that the next start repeats nothing. Other queries are stopped at once. */
  def stop(query: StreamingQuery): Unit = {
    val sources = all.asScala.toSeq.collect { case (id, source) if id == query.id => source }
    sources.foreach(_.stopAfterBatch())
    // One of them holds the thread of the query before its next batch.
    while (
      sources.nonEmpty && query.isActive && !sources.exists(_.awaitHeld(LookEveryMs, TimeUnit.MILLISECONDS))
    ) ()
    query.stop()
  }
}

/**
 * What one task of a batch in real-time mode reads: any number of clusters, perhaps none.
 *
 * @param bundles one for each cluster
 * @param batch tells when the batch ends
 * @param skipUnreachable whether to wait for clusters to which no connection can be opened
 */
private[source] final case class RealTimeTask(
    bundles: Seq[RangeBundle],
    batch: BatchAddress,
    skipUnreachable: Boolean
) extends InputPartition {

  override def toString: String = bundles.mkString("RealTimeTask(", ", ", ")")
}

/** The end of a batch as a task asks for it: the endpoint of the query in the driver, and the number of the batch there. */
private[source] final case class BatchAddress(endpoint: String, batch: Long)

private[realtime] object RealTimeTasks {

  /**
   * Divides ranges into at most `count` parts of about the same size, in the same order, so that those of a cluster are in few
   * parts. There is at least one, which may be empty: without a task, a batch would end at once.
   */
  def divide[A](ranges: Seq[A], count: Int): Seq[Seq[A]] =
    if (ranges.isEmpty) Seq(Nil)
    else {
      val parts = math.min(math.max(1, count), ranges.size)
      def from(part: Int) = (part.toLong * ranges.size / parts).toInt
      (0 until parts).map(i => ranges.slice(from(i), from(i + 1)))
    }
}

/**
 * The positions that a task has reached, by cluster.
 *
 * @param epochs the leader epochs of the records right below these positions, as far as they are known
 * @param latencies of the records that the task has not reported before, as [[LatencyRecorder.take]]
 */
private[source] final case class TaskPositions(
    clusters: SortedMap[String, Positions],
    epochs: SortedMap[String, Positions],
    latencies: Seq[(String, Array[Long])] = Nil
)

private[source] object TaskPositions {

  /**
   * The start offset of a batch, moved to the positions that tasks have reported, in whatever order. What no task has reported stays
   * where it is: clusters without a task, partitions of a task that has not ended, retained and draining positions. A position
   * never moves back.
   */
  def reached(start: CompositeOffset, reported: Seq[TaskPositions]): CompositeOffset =
    reported.foldLeft(start) { (offset, task) =>
      task.clusters.foldLeft(offset) { case (at, (id, positions)) =>
        val known = at.position(id)
        val moved = Positions.from(positions.iterator.filter { case (topic, p, to) =>
          known.get(topic, p).exists(_ < to)
        })
        if (moved.isEmpty) at
        else {
          val identity = at.identity(id)
          // The epoch of the position before is too low for records of a later leader below this position.
          val epochs = (identity.epochs -- moved) ++ task.epochs.getOrElse(id, Positions.empty).at(moved)
          at.copy(
            clusters = at.clusters.updated(id, known ++ moved),
            identities = withIdentity(at, id, identity.copy(epochs = epochs))
          )
        }
      }
    }

  private def withIdentity(at: CompositeOffset, id: String, identity: ClusterIdentity) =
    if (identity.isEmpty) at.identities - id else at.identities.updated(id, identity)
}

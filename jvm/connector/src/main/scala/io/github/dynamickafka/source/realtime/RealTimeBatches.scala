package io.github.dynamickafka.source.realtime

import java.util.UUID
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.sql.connector.read.InputPartition
import org.slf4j.LoggerFactory

import io.github.dynamickafka.config.SourceOptions
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, OffsetRange}
import io.github.dynamickafka.source.checkpoint.{LoggedOffsets, SourceCheckpoint}
import io.github.dynamickafka.source.cluster.ClusterStreams
import io.github.dynamickafka.source.loss.LostRecords
import io.github.dynamickafka.source.read.{RangeBundle, ReadSettings, StreamRange}
import io.github.dynamickafka.source.report.{OffsetChangeText, QueryReporter}
import io.github.dynamickafka.source.trigger.{
  DeferredRanges,
  KnownLatestOffsets,
  TopologyFeed,
  TriggerSnapshot,
  TriggerSnapshots
}
import io.github.dynamickafka.time.Clock
import io.github.dynamickafka.topology.Topology

/**
 * The batches of a query in real-time mode: planned from their start alone, and ended by what their tasks report. See
 * docs/dev/decisions/0043-real-time-mode.md. Used by the thread of the query, but for [[fits]].
 *
 * @param settings of all tasks
 * @param cores the current number of cores of the session
 * @param query the id of the query on whose thread this is called
 * @param pendingFiles the number of files of histories that are not read at an offset
 */
private[source] final class RealTimeBatches(
    options: SourceOptions,
    feed: TopologyFeed,
    snapshots: TriggerSnapshots,
    streams: ClusterStreams,
    checkpoint: SourceCheckpoint,
    logged: LoggedOffsets,
    deferred: DeferredRanges,
    lost: LostRecords,
    latestOffsets: KnownLatestOffsets,
    reporter: QueryReporter,
    settings: () => ReadSettings,
    cores: () => Int,
    query: () => Option[UUID],
    pendingFiles: CompositeOffset => Long,
    clock: Clock
) extends AutoCloseable {
  import RealTimeBatches._

  private val log = LoggerFactory.getLogger(classOf[RealTimeBatches])
  private val latencies = new BatchLatencies
  private val watch = new BatchWatch(options.realTime.minBatchMs, clock, latencies, () => fits())
  private val held = new CountDownLatch(1)
  @volatile private var isStopping = false
  private var isPrepared = false
  private var running: Option[Running] = None
  private var settled: Option[Settled] = None
  private var lookedAt = 0L
  private var looked: Option[Topology] = None
  private var failure: Option[Throwable] = None

  /** Whether the query runs in this mode. */
  def isOn: Boolean = isPrepared

  /** @throws DynamicKafkaIllegalArgumentException `INVALID_OPTION` */
  def prepare(): Unit = {
    options.realTime.refused.foreach { case (name, value) => throw refused(name, value) }
    // Spark deletes these batches before it plans the first one.
    val entries = checkpoint.entries
    entries.write(
      checkpoint.ofQuery.uncommitted.map(CompositeOffsetJson.read(_)).foldLeft(entries.current)(_.addOlder(_))
    )
    isPrepared = true
    reporter.showLatencies(latencies.of)
    query().foreach(RealTimeQueries.add(_, this))
  }

  /** The running batch ends, and the thread of the query is held before the next one. */
  def stopAfterBatch(): Unit = {
    isStopping = true
    watch.request()
  }

  /** Whether the thread of the query is held, and so its last batch is logged and committed. Waits for it. */
  def awaitHeld(time: Long, unit: TimeUnit): Boolean = held.await(time, unit)

  /** Until the query is stopped, which interrupts its thread. */
  private def hold(): Unit = {
    held.countDown()
    new CountDownLatch(1).await()
  }

  private def refused(name: String, value: String) =
    Errors.invalidOption(name, value, "it cannot be combined with real-time mode.")

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
    // Otherwise the batch ends at once: what is decided now is in its end, before a record is read.
    val isSettled = from == start && snapshot.position.sameAs(start)
    checkpoint.remember(snapshot.topology, logged.named)
    val ranges = if (isSettled) rangesOf(start, snapshot) else Nil
    val parts = RealTimeTasks.divide(
      ranges,
      options.realTime.tasks.getOrElse(cores()).min(watch.knownSlots.getOrElse(Int.MaxValue))
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
      RealTimeTask(bundles, address, options.clusters.skipUnreachable): InputPartition
    }.toArray
    looked = Some(snapshot.trigger.topology)
    lookedAt = clock.monotonicMs()
    running = Some(Running(start, from, propertiesOf(snapshot.trigger.topology, start), tasks))
    checkpoint.planned()
    tasks
  }

  private def rangesOf(start: CompositeOffset, snapshot: TriggerSnapshot): Seq[(String, StreamRange)] =
    RealTimeRanges(start).map { case (id, range) =>
      val stream = snapshot.topology.clusters.get(id).flatMap(_.topics.get(range.topic))
        .fold(checkpoint.streamOf(id, range.topic))(_.stream)
      id -> StreamRange(stream, range)
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
        try Some(next(reached))
        catch {
          case NonFatal(e) =>
            failure = Some(e)
            None
        }
    val position = snapshot.fold(reached.withoutEntries)(s => s.next.offset(s.next.spans.map(_ => 0L)))
    val following = logged.next(batch.start, deferred.resumed(batch.start, position))
    val end = if (following.sameAs(batch.start)) batch.start else following
    // Before anything is written: an offset that cannot be planned must not reach the checkpoint.
    val ranges = OffsetRange.beforeLogging(batch.start, end)
    snapshot.foreach { s =>
      checkpoint.remember(s.topology, logged.named)
      lost.add(s.trigger.start, s.next, latestOffsets.update(s))
      reporter.ended(reached, s, latestOffsets.current)
    }
    if (end.entered.nonEmpty && (end ne batch.start)) checkpoint.entries.add(end)
    settled = snapshot.map(Settled(end, _))
    reporter.planned(end, ranges)
    if (end ne batch.start) {
      val changes = OffsetChangeText.changes(batch.start, end)
      OffsetChangeText.describe(changes).foreach(log.info(_))
      reporter.changed(changes)
    }
    end
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
    !isDue || synchronized {
      running.forall { batch =>
        lookedAt = clock.monotonicMs()
        looked = newest
        try
          newest.forall(propertiesOf(_, batch.start) == batch.properties) && {
            val snapshot = snapshots.look(batch.from)
            snapshots.judgeUnanswered(snapshot)
            snapshot.position.sameAs(batch.from)
          }
        catch {
          case NonFatal(e) =>
            failure = Some(e)
            false
        }
      }
    }
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

  /** An offset of this run, and what it was computed from. */
  private final case class Settled(offset: CompositeOffset, snapshot: TriggerSnapshot)

  private def propertiesOf(topology: Topology, offset: CompositeOffset): Map[String, Map[String, String]] =
    topology.clusters.iterator.collect {
      case (id, cluster) if offset.clusters.contains(id) => id -> cluster.properties
    }.toMap
}

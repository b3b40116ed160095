package io.github.dynamickafka.source.report

import java.time.Instant
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.offset.{
  ClusterView,
  CompositeOffset,
  CompositeOffsetJson,
  OffsetRange,
  Positions
}
import io.github.dynamickafka.page.{GaugeSet, PageQuery, QueryName}
import io.github.dynamickafka.source.cluster.CommitCounter
import io.github.dynamickafka.source.trigger.{QueryState, TriggerSnapshot}

/**
 * Reports the state of a query outside of its progress: commits offsets to a consumer group of each cluster, and sets
 * gauges. The thread of the query calls it for each step. It neither blocks the query nor fails it.
 *
 * A batch is complete when it is in Spark's commit log; no offset is committed before. Spark indicates this three
 * times: when it requests the metrics for the progress, right after the batch, which is the only indication for the
 * last batch of a stopped query or of `Trigger.Once`; when it requests the next offset, which after a restart starts
 * from the commit log; and by `commit`, with the next batch.
 *
 * @param name of the query, in gauges and logs
 * @param timeLags the record times at the position of the query
 * @param watermark the watermark of the query, in milliseconds since the epoch, if it has one
 * @param page the query on the page of the driver, if it is shown
 */
private[source] final class QueryReporter(
    state: QueryState,
    val name: QueryName,
    timeLags: TimeLags,
    watermark: () => Option[Long] = () => None,
    page: Option[PageQuery] = None
) {
  import state.{clock, feed, streams}

  private val log = LoggerFactory.getLogger(classOf[QueryReporter])
  private val commitCounter = new CommitCounter

  /** At the end of the last batch that is [[finished]]. */
  val metrics: QueryMetrics =
    new QueryMetrics(
      () => feed.ageMs,
      () => feed.failures.toLong,
      commitCounter,
      () => streams.times.ages,
      clock
    )
  private lazy val gauges = new GaugeSet(name.gauges, GaugeSet.registry(), page)

  private var beginning: Option[CompositeOffset] = None
  // What enters at the start of the query. The end of batch 0 has the same once more.
  private var begun = Seq.empty[OffsetChange]
  private var last: Option[TriggerSnapshot] = None
  private var latestOffsets = SortedMap.empty[String, Positions]
  // The offsets up to which each partition can be read.
  private var ends = SortedMap.empty[String, Positions]
  private var consumed = CompositeOffset.empty
  // The position that is reached, also with a batch 0 that is not complete.
  private var position = CompositeOffset.empty
  private var planned: Option[(CompositeOffset, SortedMap[String, Long])] = None
  private var read = Map.empty[String, Long]
  private val lateClusters = new LateClusters(watermark, clock)
  private var counts = RecordCounts()

  /** Sets the start offset of batch 0, which no batch has reached. */
  def begins(at: CompositeOffset): Unit = {
    beginning = Some(at)
    val entered = at.clusters.toSeq.map { case (id, positions) => OffsetChange("enters", id, positions) }
    changed(entered)
    begun = entered
  }

  /**
   * @param start the start offset of the next batch, without records that were deferred
   * @param known the latest offsets that are known, by cluster
   */
  def triggered(
      start: CompositeOffset,
      snapshot: TriggerSnapshot,
      known: SortedMap[String, Positions]
  ): Unit =
    safely {
      if (!beginning.contains(start)) reached(start, Some(snapshot))
      shows(start, snapshot, known)
    }

  /** The tasks of a batch that begins here are planned, also if an earlier run has logged it. */
  def reads(start: CompositeOffset): Unit = timeLags.reads(start)

  /**
   * The next batch is one of files, and what Kafka has is not known.
   *
   * @param start the start offset of the batch
   * @param known the latest offsets that an earlier trigger or run has found
   */
  def readsFiles(start: CompositeOffset, known: SortedMap[String, Positions]): Unit = safely {
    if (!beginning.contains(start)) reached(start, last)
    latestOffsets = known
    updateTimes(start)
  }

  /** The changes of the topology in the batch that is planned now, as text, if there are any. */
  def changed(start: CompositeOffset, end: CompositeOffset): Option[String] = {
    val changes = OffsetChangeText.changes(start, end)
    changed(changes)
    OffsetChangeText.describe(changes).map(text => s"$text (query '${name.query}')")
  }

  private def changed(changes: Seq[OffsetChange]): Unit = safely {
    for (shown <- page; change <- changes if !begun.contains(change))
      shown.event(change.what, change.cluster, change.topics)
  }

  /**
   * The tasks of a batch have ended, in real-time mode. It is not in Spark's logs yet, so no group offset is committed.
   *
   * @param reached what the tasks have read
   */
  def ended(
      reached: CompositeOffset,
      snapshot: TriggerSnapshot,
      known: SortedMap[String, Positions]
  ): Unit =
    safely {
      consumed = reached
      shows(reached, snapshot, known)
    }

  private def shows(
      at: CompositeOffset,
      snapshot: TriggerSnapshot,
      known: SortedMap[String, Positions]
  ): Unit = {
    if (!last.exists(_ eq snapshot) || (latestOffsets ne known))
      ends = TimeLags.ends(known, snapshot.next.spans)
    last = Some(snapshot)
    latestOffsets = known
    timeLags.retain(at)
    updateTimes(at)
    lateClusters.check(timeLags.clusters)
    show()
  }

  /** Sets the ranges of the batch that ends here. */
  def planned(end: CompositeOffset, ranges: SortedMap[String, Seq[OffsetRange]]): Unit = safely {
    planned = Some(end -> ranges.map { case (id, ofCluster) => id -> ofCluster.map(_.size).sum })
    // Responses of clusters have arrived meanwhile, and are shown while the batch runs.
    updateTimes(position)
    show()
  }

  /**
   * The batch that ends here is in Spark's commit log.
   *
   * @param at `end` without records that were deferred
   * @param counts of records since the start of the query
   */
  def finished(end: CompositeOffset, at: CompositeOffset, counts: RecordCounts): Unit = safely {
    this.counts = counts
    begun = Nil
    planned.filter(_._1 == end).foreach { case (_, sizes) =>
      read = sizes.foldLeft(read) { case (all, (id, n)) => all.updated(id, all.getOrElse(id, 0L) + n) }
      planned = None
    }
    reached(at, last)
    updateTimes(at)
    show()
  }

  def close(): Unit = safely(gauges.close())

  /** Where the cluster of this snapshot is not known, nothing is committed. */
  private def reached(offset: CompositeOffset, snapshot: Option[TriggerSnapshot]): Unit = {
    consumed = offset
    if (state.options.offsets.commit)
      for {
        id <- offset.clusters.keys
        view <- snapshot.flatMap(_.views.get(id)).collect { case view: ClusterView.Reachable => view }
      } streams.commit(id, offset, view, commitCounter)
  }

  private def updateTimes(at: CompositeOffset): Unit = {
    position = at
    timeLags.update(at, ends, streams.times.requestedAt)
  }

  private def show(): Unit = {
    val answeredAt = metrics.snapshot.answeredAt ++ streams.times.requestedAt
    val known = last.fold(
      QuerySnapshot(
        consumed,
        clusters = KnownClusters(consumed.clusters.keySet.toSet),
        answeredAt = answeredAt
      )
    )(QuerySnapshot.of(_, consumed, answeredAt))
    metrics.set(
      known.copy(
        latest = latestOffsets,
        clusters = known.clusters.copy(unreachable = streams.unreachable),
        read = read,
        times = timeLags.clusters,
        counts = counts
      ),
      last.map(_ => gauges)
    )
  }

  private def safely(update: => Unit): Unit =
    try update
    catch { case NonFatal(e) => log.warn("Failed to update the gauges or group offsets of the query", e) }
}

/**
 * Warns of clusters whose unread records are older than the watermark of the query: Spark has one watermark for all clusters of a stream,
 * and drops such records as late, without an error. Once for a cluster until it has caught up. Used by the thread of the query.
 *
 * @param watermark in milliseconds since the epoch; None: the query has none
 */
private[report] final class LateClusters(watermark: () => Option[Long], clock: Clock) {
  private val log = LoggerFactory.getLogger(classOf[LateClusters])
  private var late = Set.empty[String]

  /** @param clusters those that are read */
  def check(clusters: Map[String, ClusterTimes]): Unit = {
    late = late.filter(clusters.get(_).exists(!_.isLevel))
    if (clusters.size > 1 && clusters.valuesIterator.exists(_.certain.isDefined)) watermark().foreach { at =>
      val (behind, others) =
        (for ((id, times) <- clusters.iterator; time <- times.certain) yield (id, time)).partition(_._2 < at)
      val now = behind.toMap
      late --= others.map(_._1)
      (now -- late).foreach { case (id, time) => log.warn(LateClusters.text(id, time, at, clusters, clock)) }
      late ++= now.keySet
    }
  }
}

private object LateClusters {

  /** @param first the time of the first unread record of the cluster */
  private def text(
      id: String,
      first: Long,
      watermark: Long,
      clusters: Map[String, ClusterTimes],
      clock: Clock
  ): String = {
    val now = clock.currentTimeMillis()
    val known = clusters.updated(id, clusters(id).copy(unread = Some(first)))
    val ahead = ClusterTimes.driftMs(known, now)
      .maxBy { case (other, drift) => (drift, other) }
    s"Kafka cluster '$id' lags behind the watermark of the query: its first unread record is of " +
      s"${Instant.ofEpochMilli(first)} (lag ${math.max(0L, now - first)} ms) and the watermark is at " +
      s"${Instant.ofEpochMilli(watermark)}, because cluster '${ahead._1}' has been read further " +
      s"(drift ${ahead._2} ms). Windows, joins and deduplication by event time drop records that are older than the " +
      "watermark as late, without an error. To read the clusters together by time, use alignment=timestamp with an " +
      "alignmentMaxDrift of at most the delay of the watermark: see docs/event-time.md"
  }
}

/**
 * What has changed for a cluster.
 *
 * @param what `enters`, `leaves`, `drains` or `stops`
 */
private[source] final case class OffsetChange(what: String, cluster: String, positions: Positions) {

  /** The topics with the numbers of their partitions, for people. */
  def topics: String = positions.byTopic.map { case (topic, partitions) =>
    s"$topic: ${partitions.size} partition${if (partitions.size == 1) "" else "s"}"
  }.mkString(", ")
}

/** The changes of the topology, also as a log message: topics that enter, leave, drain or have new stopping offsets. */
private[source] object OffsetChangeText {

  def changes(start: CompositeOffset, end: CompositeOffset): Seq[OffsetChange] = {
    val entered = end.entered.toSeq.map { case (id, positions) => OffsetChange("enters", id, positions) }
    val retired = end.retained.toSeq.map { case (id, kept) =>
      id -> newly(kept.positions, start.retained.get(id).map(_.positions))
    }.collect { case (id, left) if left.nonEmpty => OffsetChange("leaves", id, left) }
    val draining = end.draining.toSeq.map { case (id, targets) =>
      id -> newly(targets, start.draining.get(id))
    }
      .collect { case (id, fresh) if fresh.nonEmpty => OffsetChange("drains", id, fresh) }
    val ending = end.ends.toSeq.map { case (id, topics) =>
      id -> Positions(topics.toSeq.collect {
        case (topic, ends) if !start.endsOf(id).get(topic).contains(ends) => topic -> ends.offsets
      })
    }.collect { case (id, fresh) if fresh.nonEmpty => OffsetChange("stops", id, fresh) }
    entered ++ retired ++ draining ++ ending
  }

  def describe(changes: Seq[OffsetChange]): Option[String] = Option.when(changes.nonEmpty)(
    changes.map { change =>
      val verb = if (change.what == "drains") "drains up to" else s"${change.what} at"
      s"cluster '${change.cluster}' $verb ${json(change.positions)}"
    }.mkString("Topology change: ", "; ", "")
  )

  private def newly(now: Positions, before: Option[Positions]): Positions =
    now.filterTopics(topic => !before.exists(_.topics(topic)))

  private def json(positions: Positions) = CompositeOffsetJson.writePositions(positions)
}

/**
 * Renders the snapshot of a query that reads as gauges and as metrics of its progress. The gauges of a cluster exist while it is read; one
 * that has drained keeps its state until it leaves the metadata. The thread of the query sets the snapshot, and any thread reads the
 * gauges.
 *
 * @param metadataAgeMs of the last good answer
 * @param responseAgesMs how old the offsets of the clusters were that the last trigger used
 */
private[source] class QueryMetrics(
    metadataAgeMs: () => Long,
    metadataFailures: () => Long,
    commits: CommitCounter,
    responseAgesMs: () => Map[String, Long],
    clock: Clock
) {
  import QueryMetrics._

  @volatile private var current = QuerySnapshot()
  @volatile private var latencies = Option.empty[Latencies]
  private val startedAt = clock.monotonicMs()
  private var isShown = false

  def snapshot: QuerySnapshot = current

  /** The query runs in real-time mode, in which it knows its latencies. */
  def showLatencies(of: Latencies): Unit = latencies = Some(of)

  /** @param gauges None: no trigger has found out which clusters there are */
  def set(next: QuerySnapshot, gauges: Option[GaugeSet]): Unit = {
    val isSame = current.isSame(next)
    if (!isSame) current = next
    gauges.filterNot(_ => isSame && isShown).foreach { set =>
      isShown = true
      val listed = next.clusters.listed.map(id => id -> ofCluster(id)).toMap
      set.show(ofQuery, listed ++ next.clusters.retained.map(id => id -> ofRetained(id)))
    }
  }

  protected def ofQuery: Map[String, () => Long] = Map(
    "kafkaClustersCount" -> (() => current.clusters.metadata.size.toLong),
    "pendingRecords" -> (() => current.pending.valuesIterator.sum),
    "unreachableClusters" -> (() => current.clusters.unreachable.size.toLong),
    "drainingClusters" -> (() => current.at.draining.size.toLong),
    "retainedClusters" -> (() => current.retained.toLong),
    "lostRecords" -> (() => current.counts.lost),
    "deferredRecords" -> (() => current.counts.deferred),
    "decodeErrors" -> (() => current.counts.decodeErrors),
    "droppedRecords" -> (() => current.counts.dropped),
    "deadLetterRecords" -> (() => current.counts.deadLetters),
    "metadataAgeMs" -> metadataAgeMs,
    "metadataFailures" -> metadataFailures,
    "commitsSucceeded" -> (() => commits.total.succeeded),
    "commitsFailed" -> (() => commits.total.failed)
  )

  /** The gauges of a cluster that is not read any more: it has no current records. */
  private def ofRetained(id: String): Map[String, () => Long] = Map("state" -> (() => current.state(id)))

  private def ofCluster(id: String): Map[String, () => Long] = {
    def times = {
      val now = current
      now.lagAndDriftMs(now.clusters.listed + id, clock.currentTimeMillis())(id)
    }
    Map(
      "pendingRecords" -> (() => current.pending.getOrElse(id, 0L)),
      "recordsRead" -> (() => current.read.getOrElse(id, 0L)),
      "answerAgeMs" -> (() =>
        math.max(0L, clock.monotonicMs() - current.answeredAt.getOrElse(id, startedAt))
      ),
      "state" -> (() => current.state(id)),
      "unreachable" -> (() => if (current.clusters.unreachable(id)) 1L else 0L),
      "eventTimeLagMs" -> (() => times._1),
      "eventTimeDriftMs" -> (() => times._2),
      "commitsSucceeded" -> (() => commits.of(id).succeeded),
      "commitsFailed" -> (() => commits.of(id).failed)
    ) ++ latenciesOf(id).map { case (percentile, ms) => s"latencyMs.$percentile" -> ms }
  }

  private def latenciesOf(id: String): Seq[(String, () => Long)] = latencies.toSeq.flatMap(of =>
    Percentiles.map { case (percentile, part) => percentile -> (() => of(id, part)) }
  )

  /** The metrics of the source in `StreamingQueryProgress.sources[].metrics`. */
  def progress(pendingHistoryFiles: Long): ju.Map[String, String] = {
    val now = current
    val lags = now.lags.valuesIterator.flatten.toSeq
    val average = if (lags.isEmpty) 0.0 else lags.map(_.toDouble).sum / lags.size
    val ages = responseAgesMs()
    val times = now.lagAndDriftMs(now.clusters.metadata, clock.currentTimeMillis())
    val byCluster = now.clusters.metadata.toSeq.flatMap(id =>
      Seq(
        "pendingRecords" -> now.pending.getOrElse(id, 0L),
        "snapshotAgeMs" -> ages.getOrElse(id, -1L),
        "eventTimeLagMs" -> times(id)._1,
        "eventTimeDriftMs" -> times(id)._2
      ).map { case (name, value) => s"$name.$id" -> value } ++
        latenciesOf(id).map { case (percentile, ms) => s"latencyMs.$id.$percentile" -> ms() }
    )
    val all = ofQuery.map { case (name, value) => name -> value() } ++ byCluster ++ Seq(
      "minOffsetsBehindLatest" -> lags.minOption.getOrElse(0L),
      "maxOffsetsBehindLatest" -> lags.maxOption.getOrElse(0L),
      "pendingHistoryFiles" -> pendingHistoryFiles,
      "repeatedRecords" -> now.counts.repeated
    )
    (all.map { case (name, value) =>
      name -> value.toString
    } + ("avgOffsetsBehindLatest" -> average.toString)).asJava
  }
}

private[source] object QueryMetrics {

  /** The latency that this part of the records of a cluster does not exceed, in milliseconds; -1 if it is not known. */
  type Latencies = (String, Double) => Long

  private val Percentiles: Seq[(String, Double)] = Seq("p50" -> 0.5, "p99" -> 0.99)
}

package io.github.dynamickafka.page

import io.github.dynamickafka.base.Clock

/**
 * One source or the sink of a query, as the page shows it. The thread of the query calls all methods but `point` and `view`, which
 * the page calls. Thread-safe. Gauges are read under the lock of the object, so they must not wait for the query.
 *
 * @param name of the query; if it has none, what it reads or writes
 * @param part the index of the source in the query, or `sink`
 * @param title what is read or written, as in progress
 */
private[page] final class LiveQuery(name: String, part: String, title: String, clock: Clock)
    extends PageQuery {
  private var total = Map.empty[String, () => Long]
  private var clusters = Map.empty[String, Map[String, () => Long]]
  private var state = {
    val now = clock.currentTimeMillis()
    LiveQuery.View(
      name,
      part,
      title,
      now,
      None,
      Reading(now),
      QueryHistory().event(PageEvent(now, "started"))
    )
  }

  override def show(
      ofQuery: Map[String, () => Long],
      ofClusters: Map[String, Map[String, () => Long]]
  ): Unit =
    synchronized {
      total = ofQuery
      clusters = ofClusters
      changed()
    }

  private def changed(): Unit = read(_.read(_))

  override def event(what: String, cluster: String, detail: String): Unit = synchronized {
    val event = PageEvent(clock.currentTimeMillis(), what, cluster, detail)
    state = state.copy(history = state.history.event(event))
  }

  def point(): Unit = read(_.point(_))

  override def close(): Unit = synchronized {
    if (isRunning) {
      changed()
      event("ended", "", "")
      state = state.copy(endedMs = Some(clock.currentTimeMillis()))
      total = Map.empty
      clusters = Map.empty
    }
  }

  def isRunning: Boolean = synchronized(state.endedMs.isEmpty)

  private[page] def view: LiveQuery.View = synchronized {
    read((history, _) => history)
    state
  }

  private def read(next: (QueryHistory, Reading) => QueryHistory): Unit = synchronized {
    if (isRunning) {
      val now = Reading(
        clock.currentTimeMillis(),
        total.map { case (gauge, value) => gauge -> value() },
        clusters.map { case (id, gauges) => id -> gauges.map { case (gauge, value) => gauge -> value() } }
      )
      state = state.copy(last = now, history = next(state.history, now))
    }
  }
}

private[page] object LiveQuery {

  /** A query at one moment. */
  final case class View(
      name: String,
      part: String,
      title: String,
      startedMs: Long,
      endedMs: Option[Long],
      last: Reading,
      history: QueryHistory
  )
}

/** The values of all gauges of a query at one moment, as [[io.github.dynamickafka.page.GaugeSet]] has them. */
private[page] final case class Reading(
    atMs: Long,
    total: Map[String, Long] = Map.empty,
    clusters: Map[String, Map[String, Long]] = Map.empty
)

/** What the charts show of one cluster: its lag, and the number of records since the query started. */
private[page] final case class Counts(lag: Long, records: Long)

private[page] final case class Point(atMs: Long, clusters: Map[String, Counts])

/**
 * The state of a cluster at one moment.
 *
 * @param name a word of [[ClusterState]]
 */
private[page] final case class ShownState(name: String, isUnreachable: Boolean = false)

private[page] object ShownState {

  /** From the gauges of a cluster. A cluster that is written to is active. */
  def apply(values: Map[String, Long]): ShownState =
    ShownState(
      ClusterState.names(values.getOrElse("state", ClusterState.Active)),
      values.get("unreachable").contains(1L)
    )
}

/** A cluster had this state during this time, by its readings. */
private[page] final case class StatePeriod(cluster: String, state: ShownState, fromMs: Long, untilMs: Long)

/**
 * Something that has happened to a query.
 *
 * @param what one word: `enters`, `leaves`, `drains`, `stops`, `unreachable`, `reachable`, `started`, `ended`
 * @param cluster empty if it concerns the whole query
 */
private[page] final case class PageEvent(
    atMs: Long,
    what: String,
    cluster: String = "",
    detail: String = ""
)

/** What the page shows of the past of a query: the newest part of it. Immutable and pure. */
private[page] final case class QueryHistory(
    points: Vector[Point] = Vector.empty,
    spans: Vector[StatePeriod] = Vector.empty,
    events: Vector[PageEvent] = Vector.empty,
    current: Map[String, StatePeriod] = Map.empty
) {
  import QueryHistory._

  /** A reading may come between two points: it changes the states and the last moment of the past only. */
  def read(reading: Reading): QueryHistory = {
    val states = reading.clusters.map { case (id, values) => id -> ShownState(values) }
    val stay = current.filter { case (id, span) => states.get(id).contains(span.state) }
    val ended = (current -- stay.keySet).values.toVector.map(_.copy(untilMs = reading.atMs))
    val begun = (states -- stay.keySet).map { case (id, state) =>
      id -> StatePeriod(id, state, reading.atMs, reading.atMs)
    }
    val outages = (current.keySet ++ begun.keySet).toVector.sorted.flatMap { id =>
      val (before, now) = (current.get(id).map(_.state), states.get(id))
      val wasUnreachable = before.exists(_.isUnreachable)
      if (now.exists(_.isUnreachable) && !wasUnreachable)
        Some(PageEvent(reading.atMs, "unreachable", id))
      else if (wasUnreachable && now.exists(!_.isUnreachable))
        Some(PageEvent(reading.atMs, "reachable", id))
      else None
    }
    copy(
      spans = (spans ++ ended.sortBy(_.cluster)).takeRight(MostSpans),
      current = stay.map { case (id, span) => id -> span.copy(untilMs = reading.atMs) } ++ begun,
      events = (events ++ outages).takeRight(MostEvents)
    )
  }

  /** Adds a point of the charts. A cluster that is retained has no such values. */
  def point(reading: Reading): QueryHistory = read(reading).copy(points =
    (points :+ Point(
      reading.atMs,
      for {
        (id, v) <- reading.clusters
        records <- v.get("recordsRead").orElse(v.get("recordsWritten"))
      } yield id -> Counts(v.getOrElse("pendingRecords", 0L), records)
    )).takeRight(MostPoints)
  )

  def event(event: PageEvent): QueryHistory = copy(events = (events :+ event).takeRight(MostEvents))

  def allSpans: Vector[StatePeriod] = spans ++ current.values.toVector.sortBy(_.cluster)
}

private[page] object QueryHistory {

  /** A quarter of an hour, as [[LivePage]] makes points. */
  val MostPoints = 450
  val MostSpans = 1000
  val MostEvents = 200
}

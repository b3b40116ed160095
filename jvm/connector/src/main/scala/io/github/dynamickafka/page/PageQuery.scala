package io.github.dynamickafka.page

import io.github.dynamickafka.base.Clock

/**
 * One source or the sink of a query, as the page shows it. The thread of the query calls all methods but `point` and `view`, which
 * the page calls. Thread-safe. Gauges are read under the lock of the object, so they must not wait for the query.
 *
 * @param name of the query; its id if it has none
 * @param part the index of the source in the query, or `sink`
 * @param title what is read or written, as in progress
 */
private[dynamickafka] final class PageQuery(
    name: String,
    part: String,
    title: String,
    clock: Clock
) {
  private var total = Map.empty[String, () => Long]
  private var clusters = Map.empty[String, Map[String, () => Long]]
  private var state = {
    val now = clock.currentTimeMillis()
    PageQuery.View(name, part, title, now, None, Reading(now), QueryHistory().event(PageEvent(now, "started")))
  }

  /** Exactly these gauges exist from now on. */
  def show(ofQuery: Map[String, () => Long], ofClusters: Map[String, Map[String, () => Long]]): Unit =
    synchronized {
      total = ofQuery
      clusters = ofClusters
      changed()
    }

  /** Values have changed: a state that lasts only shortly is not missed. */
  def changed(): Unit = read(_.read(_))

  def event(what: String, cluster: String, detail: String): Unit = synchronized {
    val event = PageEvent(clock.currentTimeMillis(), what, cluster, detail)
    state = state.copy(history = state.history.event(event))
  }

  /** A point of the charts. */
  def point(): Unit = read(_.point(_))

  /** The values of the last moment stay. */
  def close(): Unit = synchronized {
    if (isRunning) {
      changed()
      event("ended", "", "")
      state = state.copy(endedMs = Some(clock.currentTimeMillis()))
      total = Map.empty
      clusters = Map.empty
    }
  }

  def isRunning: Boolean = synchronized(state.endedMs.isEmpty)

  private[page] def view: PageQuery.View = synchronized {
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

private[page] object PageQuery {

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

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
    val name: String,
    val part: String,
    val title: String,
    clock: Clock
) {
  private val startedMs = clock.currentTimeMillis()
  private var total = Map.empty[String, () => Long]
  private var clusters = Map.empty[String, Map[String, () => Long]]
  private var last = Reading(startedMs)
  private var history = QueryHistory().event(PageEvent(startedMs, "started"))
  private var endedMs = Option.empty[Long]

  /** Exactly these gauges exist from now on. */
  def show(ofQuery: Map[String, () => Long], ofClusters: Map[String, Map[String, () => Long]]): Unit =
    synchronized {
      total = ofQuery
      clusters = ofClusters
      changed()
    }

  /** Values have changed: a state that lasts only shortly is not missed. */
  def changed(): Unit = synchronized {
    if (isRunning) history = history.read(read())
  }

  def event(what: String, cluster: String, detail: String): Unit = synchronized {
    history = history.event(PageEvent(clock.currentTimeMillis(), what, cluster, detail))
  }

  /** A point of the charts. */
  def point(): Unit = synchronized {
    if (isRunning) history = history.point(read())
  }

  /** The values of the last moment stay. */
  def close(): Unit = synchronized {
    if (isRunning) {
      history = history.read(read()).event(PageEvent(clock.currentTimeMillis(), "ended"))
      endedMs = Some(clock.currentTimeMillis())
      total = Map.empty
      clusters = Map.empty
    }
  }

  def isRunning: Boolean = synchronized(endedMs.isEmpty)

  private[page] def view: PageQuery.View = synchronized {
    PageQuery.View(name, part, title, startedMs, endedMs, if (isRunning) read() else last, history)
  }

  private def read(): Reading = {
    last = Reading(
      clock.currentTimeMillis(),
      total.map { case (gauge, value) => gauge -> value() },
      clusters.map { case (id, gauges) => id -> gauges.map { case (gauge, value) => gauge -> value() } }
    )
    last
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

package io.github.dynamickafka.page

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class QueryHistorySuite extends AnyFunSuite with TimeLimit {

  private def reading(atMs: Long, clusters: (String, Long)*) = Reading(
    atMs,
    clusters = clusters.map { case (id, state) =>
      id -> Map("state" -> state, "pendingRecords" -> atMs, "recordsRead" -> 2 * atMs)
    }.toMap
  )

  private def unreachable(id: String) = id -> Map("state" -> 1L, "unreachable" -> 1L)

  private val (active, draining) = (ShownState("active"), ShownState("draining"))

  test("a cluster is a bar for each state, from the first reading of it to the last") {
    val history = Seq(
      reading(1, "blue" -> 0),
      reading(2, "blue" -> 0, "green" -> 0),
      reading(3, "blue" -> 1, "green" -> 0),
      reading(4, "green" -> 0)
    ).foldLeft(QueryHistory())(_.read(_))
    assert(history.allSpans == Seq(
      StatePeriod("blue", active, 1, 3),
      StatePeriod("blue", draining, 3, 4),
      StatePeriod("green", active, 2, 4)
    ))
    assert(history.points.isEmpty && history.events.isEmpty)
  }

  test("an outage is two events, also of a cluster that enters unreachable") {
    val history = Seq(
      Reading(1, clusters = reading(1, "blue" -> 1).clusters + unreachable("red")),
      Reading(2, clusters = Map(unreachable("blue"), unreachable("red"))),
      reading(3, "blue" -> 1)
    ).foldLeft(QueryHistory())(_.read(_))
    assert(history.events == Seq(
      PageEvent(1, "unreachable", "red"),
      PageEvent(2, "unreachable", "blue"),
      PageEvent(3, "reachable", "blue")
    ))
    // The state of a cluster stays what it was.
    assert(history.allSpans.filter(_.cluster == "blue") == Seq(
      StatePeriod("blue", draining, 1, 2),
      StatePeriod("blue", draining.copy(isUnreachable = true), 2, 3),
      StatePeriod("blue", draining, 3, 3)
    ))
  }

  test("points have lag and records of queries that read and that write") {
    val written = Reading(2, clusters = Map("blue" -> Map("recordsWritten" -> 7L)))
    val history = QueryHistory().point(reading(1, "blue" -> 0)).point(written)
    assert(history.points == Seq(
      Point(1, Map("blue" -> Counts(1, 2))),
      Point(2, Map("blue" -> Counts(0, 7)))
    ))
    assert(history.allSpans.last.state == active)
  }

  test("a cluster that has drained has a bar and no more points") {
    val retained = Reading(2, clusters = Map("blue" -> Map("state" -> 2L)))
    val history = QueryHistory().point(reading(1, "blue" -> 1)).point(retained)
    assert(history.points.last == Point(2, Map.empty))
    assert(history.allSpans.last == StatePeriod("blue", ShownState("retained"), 2, 2))
  }

  test("only the newest part of the past is kept, however long a query runs") {
    val history = (1L to 3000L).foldLeft(QueryHistory()) { (all, ms) =>
      all.point(reading(ms, "blue" -> ms % 2)).event(PageEvent(ms, "enters", "blue"))
    }
    assert(history.points.size == QueryHistory.MostPoints && history.points.last.atMs == 3000)
    assert(history.spans.size == QueryHistory.MostSpans && history.events.size == QueryHistory.MostEvents)
  }
}

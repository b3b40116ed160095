package io.github.dynamickafka.source.report

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

/** The warning about clusters whose records the watermark of the query has passed. */
class LateClustersSuite extends AnyFunSuite with TimeLimit {
  private val clock = new ManualClock
  clock.advanceMs(1000000L)
  private var watermark: Option[Long] = Some(900000L)

  private def times(read: Long, first: Long, isCertain: Boolean = true) =
    ClusterTimes(Some(read), isLevel = false, Some(first), Option.when(isCertain)(first))
  private val ahead = times(read = 950000L, first = 951000L)
  private val behind = times(read = 400000L, first = 401000L)

  private def warnings(late: LateClusters, steps: Map[String, ClusterTimes]*): Seq[Seq[String]] =
    steps.map(clusters => Logs.during(classOf[LateClusters])(late.check(clusters)))

  private def fresh = new LateClusters(() => watermark, clock)

  test("one warning for a cluster until it has caught up, with all that is needed to understand it") {
    val late = fresh
    val level = behind.copy(isLevel = true, unread = None, certain = None)
    val steps = Seq(behind, behind, ahead, behind, level, behind).map(green =>
      Map("blue" -> ahead, "green" -> green)
    )
    val found = warnings(late, steps: _*)
    assert(found.map(_.size) == Seq(1, 0, 0, 1, 0, 1))
    val text = found.head.head
    Seq(
      "'green'",
      "1970-01-01T00:06:41Z",
      "lag 599000 ms",
      "watermark is at 1970-01-01T00:15:00Z",
      "'blue'",
      "drift 549000 ms",
      "drop",
      "alignment=timestamp",
      "alignmentMaxDrift",
      "docs/event-time.md"
    ).foreach(part => assert(text.contains(part), text))
  }

  test("none without a watermark, for one cluster, for clusters that the watermark has not passed") {
    val lagging = Map("blue" -> ahead, "green" -> behind)
    assert(warnings(fresh, Map("green" -> behind), Map("blue" -> ahead, "green" -> ahead)).flatten.isEmpty)
    watermark = None
    assert(warnings(fresh, lagging).flatten.isEmpty)
    watermark = Some(0L)
    assert(warnings(fresh, lagging).flatten.isEmpty)
  }

  test("a time that is not certain neither warns nor ends a warning") {
    watermark = Some(900000L)
    val late = fresh
    val unsure = times(read = 400000L, first = 401000L, isCertain = false)
    def step(green: ClusterTimes) = Map("blue" -> ahead, "green" -> green)
    assert(warnings(late, step(unsure), step(behind), step(unsure), step(behind)).map(_.size) == Seq(
      0,
      1,
      0,
      0
    ))
  }
}

package io.github.dynamickafka.source.report

import java.util.concurrent.CompletableFuture
import java.{util => ju}

import scala.collection.immutable.SortedMap

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.util.CollectionAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ListedOffset
import io.github.dynamickafka.offset.{CompositeOffset, LogKey, Positions, Span}
import io.github.dynamickafka.source.read.{RecordTimes, Slice, TaskTimes}
import io.github.dynamickafka.testkit.TimeLimit

/** Lag and drift in time, and what clusters are asked for them. */
class TimeLagsSuite extends AnyFunSuite with TimeLimit {

  private final class Run {
    val clock = new ManualClock
    clock.advanceMs(1000000L)
    val records = new RecordTimes
    var asked = Vector.empty[(String, Map[TopicPartition, Long])]
    var answers = Map.empty[String, TimeLags.Response]
    val times = new TimeLags(
      records,
      (id, times) => {
        asked :+= id -> times
        Some(answers.getOrElse(id, new CompletableFuture[Map[TopicPartition, ListedOffset]]))
      },
      clock
    )

    /** A task has read records with these times up to `last`, and has fetched the next one. */
    def read(id: String, p: Int, last: Long, time: Long, next: Option[Long] = None): Unit = {
      val of = new ju.ArrayList[ConsumerRecord[Array[Byte], Array[Byte]]]
      def add(offset: Long, time: Long) = of.add(new ConsumerRecord(
        "t",
        p,
        offset,
        time,
        TimestampType.CREATE_TIME,
        0,
        0,
        null,
        null,
        new RecordHeaders,
        ju.Optional.empty[Integer]
      ))
      add(last, time)
      next.foreach(add(last + 1, _))
      val task = new CollectionAccumulator[Array[AnyRef]]
      val range = new TaskTimes(task, measures = false).of(LogKey(id, "t", p), None)
      range.read(Slice(new TopicPartition("t", p), of, 1), clock.currentTimeMillis())
      records.merge(task)
    }

    def update(reached: CompositeOffset, ends: SortedMap[String, Positions]): Unit =
      times.update(reached, ends, ends.map { case (id, _) => id -> clock.monotonicMs() })

    def lagMs: Map[String, Long] =
      times.clusters.map { case (id, of) => id -> of.lagMs(clock.currentTimeMillis()) }
    def driftMs: Map[String, Long] = ClusterTimes.driftMs(times.clusters, clock.currentTimeMillis())
  }

  private def at(all: (String, Seq[Long])*): SortedMap[String, Positions] =
    SortedMap.from(all.map { case (id, offsets) =>
      id -> Positions.from(offsets.zipWithIndex.map { case (offset, p) => ("t", p, offset) })
    })
  private def reached(all: (String, Seq[Long])*) = CompositeOffset(at(all: _*))
  private def tp(p: Int) = new TopicPartition("t", p)
  private def responds(all: (Int, ListedOffset)*): TimeLags.Response =
    CompletableFuture.completedFuture(all.map { case (p, found) => tp(p) -> found }.toMap)

  test("from what tasks report alone: the slowest partition decides, and no cluster is asked") {
    val run = new Run
    run.read("blue", 0, last = 9L, time = 990000L, next = Some(991000L))
    run.read("blue", 1, last = 9L, time = 995000L, next = Some(996000L))
    run.read("green", 0, last = 4L, time = 400000L, next = Some(401000L))
    run.read("red", 0, last = 7L, time = 700000L)
    run.update(
      reached("blue" -> Seq(10L, 10L), "green" -> Seq(5L), "red" -> Seq(8L)),
      at("blue" -> Seq(20L, 20L), "green" -> Seq(9L), "red" -> Seq(8L))
    )
    assert(run.lagMs == Map("blue" -> 9000L, "green" -> 599000L, "red" -> 0L))
    assert(run.driftMs == Map("blue" -> 594000L, "green" -> 0L, "red" -> 299000L))
    assert(run.asked.isEmpty)
    run.clock.advanceMs(500L)
    assert(run.lagMs == Map("blue" -> 9500L, "green" -> 599500L, "red" -> 0L))
  }

  test("without unread records, lag and drift are 0; times in the future count as now") {
    val run = new Run
    run.read("blue", 0, last = 9L, time = 9000000L, next = Some(9900000L))
    run.read("green", 0, last = 4L, time = 400000L)
    val at5 = reached("blue" -> Seq(10L), "green" -> Seq(5L))
    run.update(at5, at("blue" -> Seq(10L), "green" -> Seq(5L)))
    assert(run.lagMs == Map("blue" -> 0L, "green" -> 0L) && run.driftMs == Map("blue" -> 0L, "green" -> 0L))
    run.update(at5, at("blue" -> Seq(20L), "green" -> Seq(5L)))
    assert(run.lagMs == Map("blue" -> 0L, "green" -> 0L) && run.driftMs == Map("blue" -> 0L, "green" -> 0L))
  }

  test(
    "what is not known is -1, and absent from the minimum, until a task has read it or the cluster responds"
  ) {
    val run = new Run
    run.read("blue", 0, last = 9L, time = 990000L, next = Some(991000L))
    val start = reached("blue" -> Seq(10L), "green" -> Seq(0L, 0L), "new" -> Seq(3L))
    val ends = at("blue" -> Seq(20L), "green" -> Seq(5L, 5L))
    run.answers += "green" -> responds(0 -> ListedOffset(0L, None, Some(300000L)), 1 -> ListedOffset(-1L))
    run.update(start, ends)
    assert(run.lagMs == Map("blue" -> 9000L, "green" -> -1L, "new" -> -1L))
    assert(run.driftMs == Map("blue" -> 0L, "green" -> -1L, "new" -> -1L))
    assert(run.asked == Seq("green" -> Map(tp(0) -> 0L, tp(1) -> 0L)))
    run.update(start, ends)
    assert(run.lagMs("green") == 700000L && run.driftMs("blue") == 690000L)
    run.clock.advanceMs(60000L)
    run.update(start, ends)
    assert(run.asked.size == 1, "the answer stays true")
  }

  test("a cluster is asked once a second, for all of its partitions, after the greatest time that was read") {
    val run = new Run
    def batch(n: Long): Unit = {
      Seq(0, 1).foreach(p => run.read("blue", p, last = 10 * n - 1, time = 900000L + n))
      run.update(reached("blue" -> Seq(10 * n, 10 * n)), at("blue" -> Seq(1000L, 1000L)))
    }
    run.answers += "blue" -> responds(0 -> ListedOffset(10L, None, Some(900500L)))
    (1L to 20L).foreach { n =>
      batch(n)
      run.clock.advanceMs(100L)
    }
    assert(run.asked.map(_._2.keySet) == Seq.fill(2)(Set(tp(0), tp(1))))
    assert(run.asked.map(_._2(tp(0))) == Seq(900002L, 900012L))
    // As long as no response fits, the greatest time that was read is near enough.
    assert(run.lagMs("blue") == run.clock.currentTimeMillis() - 900020L)
  }

  test("clusters without unread records are not asked, and nothing is computed while nothing changes") {
    val run = new Run
    val ids = (1 to 64).map(i => s"c$i" -> Seq(5L, 7L))
    val (start, ends) = (reached(ids: _*), at(ids: _*))
    run.update(start, ends)
    val before = run.times.clusters
    (1 to 100).foreach { _ =>
      run.clock.advanceMs(100L)
      run.update(start, ends)
    }
    assert(run.asked.isEmpty && (run.times.clusters eq before))
  }

  test("records that have just arrived are not asked for; those that stay unread are") {
    val run = new Run
    run.read("blue", 0, last = 9L, time = 500000L)
    val start = reached("blue" -> Seq(10L))
    run.update(start, at("blue" -> Seq(10L)))
    run.clock.advanceMs(200L)
    val ends = at("blue" -> Seq(12L))
    run.update(start, ends)
    assert(run.lagMs == Map("blue" -> 200L) && run.asked.isEmpty, "not since the last record that was read")
    run.answers += "blue" -> responds(0 -> ListedOffset(11L, None, Some(1000100L)))
    run.clock.advanceMs(1000L)
    run.update(start, ends)
    assert(run.asked == Seq("blue" -> Map(tp(0) -> 500001L)))
    run.update(start, ends)
    assert(run.lagMs == Map("blue" -> (run.clock.currentTimeMillis() - 500000L)), "it is an old record")
  }

  test("a request that fails changes nothing, and is repeated") {
    val run = new Run
    run.answers += "blue" -> CompletableFuture.failedFuture(new IllegalStateException("down"))
    val (start, ends) = (reached("blue" -> Seq(0L)), at("blue" -> Seq(5L)))
    run.update(start, ends)
    run.update(start, ends)
    assert(run.lagMs == Map("blue" -> -1L) && run.asked.size == 1)
    run.answers += "blue" -> responds(0 -> ListedOffset(0L, None, Some(999000L)))
    run.clock.advanceMs(1500L)
    run.update(start, ends)
    run.update(start, ends)
    assert(run.asked.size == 2 && run.lagMs == Map("blue" -> 2500L))
  }

  test("a response about a former log is not used for the log of a topic that was recreated") {
    val run = new Run
    run.answers += "blue" -> responds(0 -> ListedOffset(12L, None, Some(700000L)))
    run.read("blue", 0, last = 9L, time = 600000L)
    val (start, ends) = (reached("blue" -> Seq(10L)), at("blue" -> Seq(20L)))
    run.update(start, ends)
    run.update(start, ends)
    assert(run.times.clusters("blue").certain.contains(600000L))
    run.times.retain(reached("blue" -> Seq(2L)))
    run.update(reached("blue" -> Seq(2L)), ends)
    assert(run.lagMs == Map("blue" -> -1L))
  }

  test("records after a stopping offset or a drain target are not unread") {
    def span(end: Long) = Span(LogKey("blue", "t", 0), 5L, end, enters = false)
    val latest = at("blue" -> Seq(9L, 9L), "green" -> Seq(3L))
    assert(TimeLags.ends(latest, Seq(span(9L))) eq latest)
    assert(TimeLags.ends(latest, Seq(span(7L))) == at("blue" -> Seq(7L, 9L), "green" -> Seq(3L)))
  }
}

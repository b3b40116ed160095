package io.github.dynamickafka.source.trigger

import scala.util.Random

import org.apache.spark.sql.connector.read.streaming.{ReadLimit, ReadMaxRows}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.config.LimitOptions
import io.github.dynamickafka.offset.Span
import io.github.dynamickafka.testkit.TimeLimit

class LimitsGrantSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def span(cluster: String, lag: Long) = Span(cluster, "t", 0, 10L, 10L + lag, enters = false)

  test("limits: the budget of all clusters together, and that of each cluster") {
    val limits = new Limits
    def ofCluster(id: String) = if (id == "slow") Some(5L) else None
    val spans = IndexedSeq(span("fast", 1000), span("slow", 1000))
    assert(limits.grant(spans, ReadLimit.maxRows(Long.MaxValue), ofCluster, 0L, wait = true) == IndexedSeq(
      1000L,
      5L
    ))
    assert(
      limits.grant(spans, ReadLimit.allAvailable(), ofCluster, 0L, wait = true) == IndexedSeq(1000L, 1000L),
      "Trigger.Once"
    )
    assert(limits.grant(spans, ReadLimit.maxRows(100), ofCluster, 0L, wait = true).sum == 100L)
    assert(limits.grant(spans, ReadLimit.maxRows(100), ofCluster, 0L, wait = true)(1) <= 5L)
    val both = ReadLimit.compositeLimit(Array(ReadLimit.minRows(1, 10), ReadLimit.maxRows(7)))
    assert(limits.grant(spans, both, ofCluster, 0L, wait = true).sum == 7L)
  }

  test("limits: with any limits, each partition with records is served within a bounded number of batches") {
    val clusters =
      Gen.choose(1, 4).flatMap(Gen.listOfN(_, Gen.zip(Gen.choose(1, 20), Gen.option(Gen.choose(1L, 25L)))))
    forAll(clusters, Gen.choose(1L, 50L), Gen.choose(0L, Long.MaxValue)) { (clusters, budget, seed) =>
      val random = new Random(seed)
      val limits = new Limits
      val partitions = clusters.indices.flatMap(c => (0 until clusters(c)._1).map(p => (c.toString, p)))
      var waiting = Map.empty[(String, Int), Int].withDefaultValue(0)
      (0 until 3 * partitions.size).foreach { _ =>
        val spans = partitions.map { case (c, p) =>
          // Partition 0 always has records, the others come and go.
          Span(
            c,
            "t",
            p,
            10L,
            if (p == 0 || random.nextBoolean()) 10L + random.nextInt(9) + 1L else 10L,
            false
          )
        }
        val granted =
          limits.grant(spans, ReadLimit.maxRows(budget), id => clusters(id.toInt)._2, 0L, wait = false)
        assert(granted.sum > 0)
        spans.indices.foreach { i =>
          waiting += partitions(i) -> (if (granted(i) > 0 || spans(i).lag == 0) 0
                                       else waiting(partitions(i)) + 1)
          assert(waiting(partitions(i)) < partitions.size, s"${partitions(i)} waits")
        }
      }
    }
  }

  test("limits: two levels of limits of half of the partitions serve all of them in turn") {
    val limits = new Limits
    val spans = for (c <- Vector("a", "b"); p <- 0 until 100) yield Span(c, "t", p, 0L, 1000L, enters = false)
    val granted =
      (0 until 4).map(_ => limits.grant(spans, ReadLimit.maxRows(50), _ => Some(50L), 0L, wait = false))
    assert(granted.forall(_.sum == 50L))
    assert(granted.transpose.forall(_.sum == 1L), "200 partitions in four batches of 50")
  }

  test("limits: a batch is delayed until there are enough records, up to the maximum delay") {
    val limits = new Limits
    val limit = Limits.of(LimitOptions(Some(20L), Some(10L), 1000L, None, None))
    def grant(lag: Long, now: Long, wait: Boolean = true) =
      limits.grant(IndexedSeq(span("a", lag), span("b", lag)), limit, _ => None, now, wait).sum
    assert(grant(2, now = 0L) == 4L, "the first batch does not wait")
    assert(grant(2, now = 999L) == 0L)
    assert(grant(2, now = 999L, wait = false) == 4L, "AvailableNow")
    assert(grant(2, now = 1000L) == 0L)
    assert(grant(5, now = 1001L) == 10L)
    assert(grant(2, now = 2000L) == 0L)
    assert(grant(2, now = 2001L) == 4L, "maximum delay")
    assert(grant(50, now = 2002L) == 20L)
    assert(
      Limits.of(LimitOptions(None, None, 1000L, None, None)).isInstanceOf[ReadMaxRows],
      "Trigger.Once has a limit of its own"
    )
  }
}

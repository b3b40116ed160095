package io.github.dynamickafka.source.trigger

import scala.util.Random

import org.apache.spark.sql.connector.read.streaming.{ReadLimit, ReadMaxRows}
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.config.LimitOptions
import io.github.dynamickafka.offset.{LogKey, MeanSize, Span}
import io.github.dynamickafka.testkit.TimeLimit

class LimitsGrantSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def span(cluster: String, lag: Long) = Span(LogKey(cluster, "t", 0), 10L, 10L + lag, enters = false)

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
    val size = Gen.option(Gen.choose(1.0, 5000.0).map(MeanSize(1L, _)))
    val bytes = Gen.option(Gen.choose(1L, 20000L))
    val budgets = Gen.zip(Gen.choose(1L, 50L), bytes, Gen.listOfN(3, size))
    forAll(clusters, budgets, Gen.choose(0L, Long.MaxValue)) {
      case (clusters, (budget, bytes, sizes), seed) =>
        val limit = ReadLimit.compositeLimit(
          (ReadLimit.maxRows(budget) +: bytes.map(ReadLimit.maxBytes(_)).toSeq).toArray
        )
        val random = new Random(seed)
        val limits = new Limits
        val partitions = clusters.indices.flatMap(c => (0 until clusters(c)._1).map(p => (c.toString, p)))
        var waiting = Map.empty[(String, Int), Int].withDefaultValue(0)
        (0 until 3 * partitions.size).foreach { _ =>
          val spans = partitions.map { case (c, p) =>
            // Partition 0 always has records, the others come and go.
            Span(
              LogKey(c, "t", p),
              10L,
              if (p == 0 || random.nextBoolean()) 10L + random.nextInt(9) + 1L else 10L,
              false
            )
          }
          val granted =
            limits.grant(
              spans,
              limit,
              id => clusters(id.toInt)._2,
              0L,
              wait = false,
              s => sizes(s.partition % 3)
            )
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
    val spans =
      for (c <- Vector("a", "b"); p <- 0 until 100) yield Span(LogKey(c, "t", p), 0L, 1000L, enters = false)
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

  test("limits: bytes over all clusters, by the sizes that are known, and at least one record") {
    val limit = Limits.of(LimitOptions(None, None, 1000L, None, None, maxBytesPerTrigger = Some(10240L)))
    val spans = IndexedSeq(span("a", 1000), span("b", 1000))
    def grant(sizes: Span => Option[MeanSize], by: ReadLimit = limit, limits: Limits = new Limits) =
      limits.grant(spans, by, _ => None, 0L, wait = false, sizes)
    def of(bytes: Double): Span => Option[MeanSize] = _ => Some(MeanSize(1, bytes))
    assert(grant(_ => None) == IndexedSeq(5L, 5L), "1 KB at first")
    val different = grant(s => Some(MeanSize(1, if (s.cluster == "a") 10 else 1000)))
    val bytes = different(0) * 10 + different(1) * 1000
    assert(bytes > 9240L && bytes <= 10240L && different.forall(_ > 1L))
    val large = new Limits
    assert(
      Seq.fill(4)(grant(of(1e9), limits = large)).transpose.forall(_.sum == 2L),
      "one record, in turn"
    )
    val smaller =
      Limits.of(LimitOptions(Some(3L), None, 1000L, None, None, maxBytesPerTrigger = Some(10240L)))
    assert(grant(of(10), smaller).sum == 3L, "the smaller limit")
    assert(grant(of(5000), smaller).sum == 2L, "the smaller limit")
    assert(grant(_ => None, ReadLimit.allAvailable()).sum == 2000L, "Trigger.Once")
    val delayed =
      Limits.of(LimitOptions(None, Some(9L), 1000L, None, None, maxBytesPerTrigger = Some(10240L)))
    assert(grant(_ => None, delayed).sum == 10L)
  }
}

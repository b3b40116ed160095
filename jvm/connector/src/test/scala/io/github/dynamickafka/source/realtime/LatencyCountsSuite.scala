package io.github.dynamickafka.source.realtime

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit

class LatencyCountsSuite extends AnyFunSuite with ScalaCheckPropertyChecks with TimeLimit {

  test("a latency is known exactly below 128 ms, and to 1/64 above") {
    forAll(Gen.oneOf(Gen.choose(0L, 300L), Gen.choose(0L, 30000000L))) { ms =>
      val known = LatencyCounts.greatest(LatencyCounts.bucket(ms))
      assert(known >= ms && known - ms <= (if (ms < 128) 0 else ms / 64))
    }
    assert(LatencyCounts.bucket(-5) == 0)
    assert(LatencyCounts.bucket(Long.MaxValue) == LatencyCounts.Buckets - 1)
  }

  test("percentiles are those of the sorted latencies, whatever task has reported them") {
    forAll(Gen.nonEmptyListOf(Gen.choose(0L, 120L)), Gen.choose(1, 100)) { (latencies, percent) =>
      val reported = latencies.map(ms => LatencyCounts(Map(LatencyCounts.bucket(ms) -> 1L)))
      val all = reported.foldLeft(LatencyCounts.none)(_ ++ _)
      val rank = math.max(1, math.ceil(latencies.size * (percent / 100.0)).toInt)
      assert(all.percentile(percent / 100.0).contains(latencies.sorted.apply(rank - 1)))
    }
    assert(LatencyCounts.none.percentile(0.5).isEmpty)
  }

  test("a batch shows the latencies of the one before until it has some of its own") {
    val latencies = new BatchLatencies
    assert(latencies.of("blue", 0.5) == -1L)
    latencies.add(Seq("blue" -> Array(7L, 3L)))
    latencies.begin()
    latencies.add(Nil)
    assert(latencies.of("blue", 0.99) == 7L)
    latencies.add(Seq("green" -> Array(2L, 1L)))
    assert(latencies.of("blue", 0.99) == -1L && latencies.of("green", 0.99) == 2L)
  }
}

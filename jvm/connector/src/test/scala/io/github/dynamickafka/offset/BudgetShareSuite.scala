package io.github.dynamickafka.offset

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.testkit.TimeLimit

class BudgetShareSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 300)

  private val lag =
    Gen.frequency(2 -> Gen.const(0L), 5 -> Gen.choose(1L, 50L), 2 -> Gen.choose(1L, Long.MaxValue / 4))
  private val lags = Gen.choose(0, 40).flatMap(Gen.listOfN(_, lag)).map(_.toIndexedSeq)
  private val budget = Gen.frequency(3 -> Gen.choose(0L, 100L), 1 -> Gen.choose(0L, Long.MaxValue))
  private val served: Gen[Int => Long] = Gen.choose(1, 7).map(n => i => (i % n).toLong)

  test("grants exactly the budget or the whole lag, and to no partition more than its lag") {
    forAll(lags, budget, served) { (lags, budget, served) =>
      val granted = BudgetShare(lags, budget, served)
      assert(granted.size == lags.size)
      assert(granted.zip(lags).forall { case (g, l) => 0 <= g && g <= l })
      val all = lags.map(BigInt(_)).sum
      assert(granted.map(BigInt(_)).sum == all.min(BigInt(budget)))
    }
  }

  test("each partition with lag gets at least one record if the budget allows it") {
    forAll(lags, budget, served) { (lags, budget, served) =>
      val waiting = lags.count(_ > 0)
      if (budget >= waiting) {
        val granted = BudgetShare(lags, budget, served)
        assert(lags.indices.filter(lags(_) > 0).forall(granted(_) >= 1))
      }
    }
  }

  test("otherwise those that were served longest ago come first") {
    forAll(lags, Gen.choose(1L, 30L), served) { (lags, budget, served) =>
      val waiting = lags.indices.filter(lags(_) > 0)
      whenever(waiting.size > budget && lags.map(BigInt(_)).sum > budget) {
        val granted = BudgetShare(lags, budget, served)
        val (now, later) = waiting.partition(granted(_) > 0)
        assert(now.map(served).max <= later.map(served).min)
      }
    }
  }

  test("shares in proportion to the lag, at a skew of 1:1000") {
    val granted = BudgetShare(IndexedSeq(1000000L, 1000L), 10010L)
    assert(granted.sum == 10010L && math.abs(granted(1) - 10L) <= 1, granted)
  }
}

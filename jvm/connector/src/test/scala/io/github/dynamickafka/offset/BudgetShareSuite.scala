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
  private val turn = Gen.choose(0L, 1000L)

  test("grants exactly the budget or the whole lag, and to no partition more than its lag") {
    forAll(lags, budget, turn) { (lags, budget, turn) =>
      val granted = BudgetShare(lags, budget, turn)
      assert(granted.size == lags.size)
      assert(granted.zip(lags).forall { case (g, l) => 0 <= g && g <= l })
      val all = lags.map(BigInt(_)).sum
      assert(granted.map(BigInt(_)).sum == all.min(BigInt(budget)))
    }
  }

  test("each partition with lag gets at least one record if the budget allows it") {
    forAll(lags, budget, turn) { (lags, budget, turn) =>
      val waiting = lags.count(_ > 0)
      if (budget >= waiting) {
        val granted = BudgetShare(lags, budget, turn)
        assert(lags.indices.filter(lags(_) > 0).forall(granted(_) >= 1))
      }
    }
  }

  test("otherwise partitions take turns") {
    forAll(Gen.choose(1, 30), Gen.choose(1L, 29L), turn) { (partitions, budget, first) =>
      val lags = IndexedSeq.fill(partitions)(1000L)
      val rounds = partitions / budget.toInt + 2
      val served = (0 until rounds).map(r => BudgetShare(lags, budget, first + r)).transpose.map(_.sum)
      assert(served.forall(_ > 0), s"of $partitions partitions in $rounds rounds of $budget: $served")
    }
  }

  test("shares in proportion to the lag, at a skew of 1:1000") {
    val granted = BudgetShare(IndexedSeq(1000000L, 1000L), 10010L, 0)
    assert(granted.sum == 10010L && math.abs(granted(1) - 10L) <= 1, granted)
  }
}

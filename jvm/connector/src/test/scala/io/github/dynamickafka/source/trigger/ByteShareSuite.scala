package io.github.dynamickafka.source.trigger

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.MeanSize
import io.github.dynamickafka.testkit.TimeLimit

class ByteShareSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  implicit override val generatorDrivenConfig: PropertyCheckConfiguration =
    PropertyCheckConfiguration(minSuccessful = 500)

  private val records =
    Gen.frequency(2 -> Gen.const(0L), 5 -> Gen.choose(1L, 50L), 1 -> Gen.choose(1L, Long.MaxValue / 4))
  private val size = Gen.frequency(5 -> Gen.choose(1L, 2000L), 1 -> Gen.choose(1L, 1L << 30))
  private val partitions =
    Gen.choose(0, 40).flatMap(Gen.listOfN(_, Gen.zip(records, size))).map(_.toIndexedSeq)
  private val budget = Gen.frequency(3 -> Gen.choose(1L, 100000L), 1 -> Gen.choose(1L, Long.MaxValue))
  private val served: Gen[Int => Long] = Gen.choose(1, 7).map(n => i => (i % n).toLong)

  private def bytes(granted: IndexedSeq[Long], sizes: IndexedSeq[Long]): BigInt =
    granted.zip(sizes).map { case (n, s) => BigInt(n) * s }.sum

  test("at most the budget, or one record; nothing that fits is left out") {
    forAll(partitions, budget, served) { (partitions, budget, served) =>
      val (records, sizes) = partitions.unzip
      val granted = ByteShare(records, sizes, budget, served)
      assert(granted.size == records.size)
      assert(granted.zip(records).forall { case (g, n) => 0 <= g && g <= n })
      val total = bytes(granted, sizes)
      assert(total <= budget || granted.sum == 1L)
      records.indices.filter(i => granted(i) < records(i)).foreach(i => assert(total + sizes(i) > budget))
    }
  }

  test("the partition that was served longest ago is served") {
    forAll(partitions, budget, served) { (partitions, budget, served) =>
      val (records, sizes) = partitions.unzip
      val waiting = records.indices.filter(records(_) > 0)
      whenever(waiting.nonEmpty)(assert(ByteShare(records, sizes, budget, served)(waiting.minBy(served)) > 0))
    }
  }

  test("bytes are shared in proportion to those that are unread") {
    val granted = ByteShare(IndexedSeq(1000000L, 1000L), IndexedSeq(100L, 100000L), 20000000L)
    assert(granted == IndexedSeq(100000L, 100L))
  }

  test("sizes that are not known are the mean of the others, at first 1 KB") {
    assert(MeanSize.estimates(IndexedSeq(None, Some(MeanSize.none))) == IndexedSeq(1024L, 1024L))
    assert(MeanSize.estimates(IndexedSeq(Some(MeanSize(1, 10.0)), None, Some(MeanSize(3, 20.2)))) ==
      IndexedSeq(10L, 18L, 21L))
    assert(
      MeanSize.estimates(IndexedSeq(Some(MeanSize(1, 0.0)))) == IndexedSeq(1L),
      "tombstones without keys"
    )
  }

  test("a mean is within its parts, whatever their order, and follows sizes that change") {
    val sizes = Gen.nonEmptyListOf(Gen.zip(Gen.choose(1L, 1000000L), Gen.choose(0.0, 1e9))).map(_.map {
      case (n, bytes) => MeanSize(n, bytes)
    })
    forAll(sizes) { all =>
      val mean = all.reduce(_.and(_)).bytes
      assert(mean >= all.map(_.bytes).min * 0.999 && mean <= all.map(_.bytes).max * 1.001)
    }
    val changed =
      (1 to 100).foldLeft(MeanSize(1000000, 10.0))((known, _) => known.and(MeanSize(1000, 1000.0)))
    assert(changed.bytes > 900)
    assert(MeanSize.none.and(MeanSize(5, 7.0)) == MeanSize(
      5,
      7.0
    ) && MeanSize(5, 7.0).and(MeanSize.none) == MeanSize(5, 7.0))
  }
}

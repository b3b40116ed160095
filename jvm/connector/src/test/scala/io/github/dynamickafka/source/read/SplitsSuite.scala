package io.github.dynamickafka.source.read

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.{LogIdentity, OffsetRange}
import io.github.dynamickafka.testkit.TimeLimit

class SplitsSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val sizes: Gen[Seq[Long]] =
    Gen.choose(0, 6).flatMap(Gen.listOfN(_, Gen.oneOf(Gen.choose(1L, 9L), Gen.choose(1L, 5000L))))
  private val clusters: Gen[Seq[Seq[OffsetRange]]] =
    Gen.choose(0, 4).flatMap(Gen.listOfN(_, sizes)).map(_.map(
      _.zipWithIndex.map { case (size, p) => OffsetRange("t", p, 7L * p, 7L * p + size) }
    ))
  private val least = Gen.option(Gen.choose(1, 40))
  private val most = Gen.option(Gen.choose(50L, 3000L))

  /** Joins adjacent parts. */
  private def joined(parts: Seq[OffsetRange]): Seq[OffsetRange] = parts.foldLeft(Vector.empty[OffsetRange]) {
    case (done :+ last, next) if last.partition == next.partition && last.until == next.from =>
      done :+ last.copy(until = next.until)
    case (done, next) => done :+ next
  }

  test("the parts are the ranges: each record once, in order, no empty part") {
    forAll(clusters, least, most) { (ranges, least, most) =>
      val parts = Splits(least, most)(ranges)
      assert(parts.map(joined) == ranges)
      assert(parts.flatten.forall(_.size > 0))
    }
  }

  test(
    "no part exceeds the maximum, and there are at least minPartitions parts if there are enough records"
  ) {
    forAll(clusters, least, most) { (ranges, least, most) =>
      val parts = Splits(least, most)(ranges).flatten
      most.foreach(m => assert(parts.forall(_.size <= m)))
      least.foreach(n => assert(parts.size >= math.min(n.toLong, ranges.flatten.map(_.size).sum)))
      if (least.forall(_ <= ranges.flatten.size) && most.isEmpty) assert(parts == ranges.flatten)
    }
  }

  test("only the first part of a range has its leader epoch") {
    val range = OffsetRange("t", 0, 10L, 40L, epoch = Some(3L))
    val parts = Splits(None, Some(10L))(Seq(Seq(range))).flatten
    assert(parts.map(p => p.from -> p.epoch) == Seq(10L -> Some(3L), 20L -> None, 30L -> None))
    assert(Splits(Some(1), Some(100L))(Seq(Seq(range))) == Seq(Seq(range)))
  }

  test("each part is of the log of its range") {
    val log = LogIdentity(Some("T"), Some(3L))
    val parts = Splits(None, Some(10L))(Seq(Seq(OffsetRange("t", 0, 10L, 40L, log = log)))).flatten
    assert(parts.size == 3 && parts.forall(_.log == log))
  }

  test("the largest range over all clusters is split, not one of each") {
    val ranges = Seq(Seq(OffsetRange("t", 0, 0L, 1000L)), Seq(OffsetRange("t", 0, 0L, 10L)))
    assert(Splits(Some(5), None)(ranges).map(_.size) == Seq(4, 1))
  }
}

package io.github.dynamickafka.source.reader

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.OffsetRange

class BundlesSuite extends AnyFunSuite with ScalaCheckPropertyChecks {

  private val sizes: Gen[Seq[Long]] =
    Gen.choose(0, 40).flatMap(Gen.listOfN(_, Gen.oneOf(Gen.choose(1L, 50L), Gen.choose(1L, 10000000L))))
  private val clusters: Gen[Seq[Seq[Long]]] = Gen.choose(0, 8).flatMap(Gen.listOfN(_, sizes))

  test("every range is in one bundle, in order, and with ranges of its own cluster only") {
    forAll(clusters, Gen.choose(1, 16)) { (byCluster, cores) =>
      val named = byCluster.zipWithIndex.map { case (of, c) =>
        of.zipWithIndex.map { case (n, i) => (c, i, n) }
      }
      val bundles = Bundles(named, cores)(_._3)
      assert(bundles.map(_.flatten) == named)
      assert(bundles.flatten.forall(_.nonEmpty))
    }
  }

  test("few partitions are a task each, and many records never wait for others") {
    forAll(clusters, Gen.choose(1, 16)) { (byCluster, cores) =>
      val bundles = Bundles(byCluster, cores)(identity[Long]).flatten
      if (byCluster.map(_.size).sum <= cores * Bundles.TasksPerCore) assert(bundles.forall(_.size == 1))
      assert(bundles.forall(b => b.size == 1 || b.sum <= Bundles.SmallTask))
    }
  }

  test("64 clusters of 4 partitions with a few records: a task for each cluster") {
    val bundles = Bundles(Seq.fill(64)(Seq.fill(4)(25L)), cores = 2)(identity[Long])
    assert(bundles.forall(_.size == 1))
  }

  test("the same partition of many clusters does not come to one executor, and keeps its own") {
    val places = IndexedSeq("executor_a", "executor_b", "executor_c")
    def at(partition: Int, turn: Int) =
      BundlePlanner.place(OffsetRange("orders", partition, 0L, 9L), turn, places)
    assert((0 until 3).map(at(7, _)).toSet == places.map(Option(_)).toSet)
    assert((0 until 3).map(at(_, 7)).toSet == places.map(Option(_)).toSet)
    assert(at(7, 1) == at(7, 1))
    assert(BundlePlanner.place(OffsetRange("orders", 0, 0L, 9L), 0, IndexedSeq.empty).isEmpty)
  }
}

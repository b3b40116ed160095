package io.github.dynamickafka.source.read

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class PlacesSuite extends AnyFunSuite with TimeLimit {

  private def executors(n: Int) = (0 until n).map(i => s"executor_host-${i % 7}_$i")

  test("each executor is used, for each number of them from 1 to 600, and evenly") {
    (1 to 600).foreach { n =>
      val places = new Places(executors(n))
      val used = (0 until 2 * n).flatMap(places("blue", "orders", _)).groupBy(identity).values.map(_.size)
      assert(used.size == n && used.forall(_ == 2), s"of $n executors")
    }
  }

  test("the same partition of many clusters is spread over executors and keeps its executor") {
    val all = executors(4)
    val of = (0 until 64).map(c => new Places(all)(s"cluster-$c", "orders", 0))
    val byExecutor = of.groupBy(identity).values.map(_.size)
    assert(byExecutor.size == 4 && byExecutor.forall(_ >= 6), byExecutor)
    assert((0 until 64).map(c => new Places(all)(s"cluster-$c", "orders", 0)) == of)
    assert(new Places(IndexedSeq.empty)("blue", "orders", 0).isEmpty)
  }

  test("a new cluster, and other partitions in the batch, move no partition") {
    val partitions = for (c <- 0 until 8; p <- 0 until 32) yield (s"cluster-$c", p)
    def placed(of: Seq[(String, Int)]) = {
      val places = new Places(executors(5))
      of.map { case (c, p) => (c, p) -> places(c, "orders", p) }.toMap
    }
    val before = placed(partitions)
    val after = placed(("a-first-one", 0) +: partitions.reverse)
    assert(before.forall { case (partition, at) => after(partition) == at })
    assert(placed(partitions.filter(_._2 % 3 == 1)).forall { case (partition, at) =>
      before(partition) == at
    })
  }

  test("one more executor moves a part of the partitions") {
    val partitions = for (c <- 0 until 50; p <- 0 until 10) yield (s"cluster-$c", p)
    val (ten, eleven) = (new Places(executors(10)), new Places(executors(11)))
    val moved = partitions.count { case (c, p) => ten(c, "orders", p) != eleven(c, "orders", p) }
    assert(moved < partitions.size * 0.35, s"$moved of ${partitions.size}")
  }
}

package io.github.dynamickafka.source.read

import scala.collection.immutable.SortedMap

import org.apache.spark.sql.connector.read.InputPartition
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.testkit.TimeLimit

class BundlesSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val sizes: Gen[Seq[Long]] =
    Gen.choose(0, 40).flatMap(Gen.listOfN(_, Gen.oneOf(Gen.choose(1L, 50L), Gen.choose(1L, 10000000L))))
  private val clusters: Gen[Seq[Seq[Long]]] = Gen.choose(0, 8).flatMap(Gen.listOfN(_, sizes))

  test("every range is in one bundle, in order, and only with ranges of its own cluster") {
    forAll(clusters, Gen.choose(1, 16)) { (byCluster, cores) =>
      val named = byCluster.zipWithIndex.map { case (of, c) =>
        of.zipWithIndex.map { case (n, i) => (c, i, n) }
      }
      val bundles = Bundles(named, cores)(_._3)
      assert(bundles.map(_.flatten) == named)
      assert(bundles.flatten.forall(_.nonEmpty))
    }
  }

  test("few partitions have a task each, and partitions with many records share none") {
    forAll(clusters, Gen.choose(1, 16)) { (byCluster, cores) =>
      val bundles = Bundles(byCluster, cores)(identity[Long]).flatten
      if (byCluster.map(_.size).sum <= cores * Bundles.TasksPerCore) assert(bundles.forall(_.size == 1))
      assert(bundles.forall(b => b.size == 1 || b.sum <= Bundles.SmallTask))
    }
  }

  test("64 clusters of 4 partitions with few records: one task for each cluster") {
    val bundles = Bundles(Seq.fill(64)(Seq.fill(4)(25L)), cores = 2)(identity[Long])
    assert(bundles.forall(_.size == 1))
  }

  private val placed: Gen[Seq[(Int, Long, String)]] = for {
    sizes <- Gen.listOf(Gen.oneOf(Gen.choose(1L, 50L), Gen.choose(1L, 20000L)))
    places <- Gen.listOfN(sizes.size, Gen.oneOf("", "executor_a", "executor_b"))
  } yield sizes.zip(places).zipWithIndex.map { case ((size, place), i) => (i, size, place) }

  test("bundles share tasks: each is in one task, in order, only with bundles of the same location") {
    forAll(placed, Gen.choose(1, 8)) { (bundles, cores) =>
      val tasks = Bundles.shared(bundles, cores)(_._2, _._3)
      assert(tasks.flatten.sorted == bundles)
      tasks.foreach { task =>
        assert(task == task.sorted && task.map(_._3).distinct.size == 1)
        assert(task.size == 1 || task.map(_._2).sum <= Bundles.SmallTask)
      }
    }
  }

  test("there are always enough tasks, and few bundles have a task each") {
    forAll(placed, Gen.choose(1, 8)) { (bundles, cores) =>
      val tasks = Bundles.shared(bundles, cores)(_._2, _._3)
      val worth = cores * Bundles.TasksPerCore
      if (bundles.size <= worth) assert(tasks == bundles.map(Seq(_)))
      // Not one task for all small bundles: a task waits for its clusters.
      else assert(tasks.forall(_.size <= bundles.size / worth + 1))
    }
  }

  test("64 clusters with one record each: eight clusters per task with two cores, each read once") {
    val ranges = SortedMap.from((0 until 64).map(c => f"c$c%02d" -> Seq(OffsetRange("orders", 0, 5L, 6L))))
    def tasks(splits: Splits, places: String*): Seq[InputPartition] =
      BatchPlanner.partitions(
        ranges,
        new ConsumerSettings(_, Map.empty),
        (_, _) => "s",
        ReadSettings(includeHeaders = false, failOnDataLoss = true, 1000L),
        splits,
        cores = 2,
        places.toIndexedSeq
      ).toSeq
    def read(task: InputPartition): Seq[RangeBundle] = task match {
      case one: RangeBundle => Seq(one)
      case SharedTask(several) => several
      case other => fail(other.toString)
    }
    val shared = tasks(Splits.none)
    assert(shared.map(read(_).size) == Seq.fill(8)(8))
    assert(shared.flatMap(read).map(_.cluster) == ranges.keys.toSeq)
    val placed = tasks(Splits.none, "executor_a", "executor_b")
    assert(placed.flatMap(read).map(_.cluster).sorted == ranges.keys.toSeq)
    placed.foreach(task => assert(read(task).forall(_.locations == task.preferredLocations().toSeq)))
    assert(placed.map(_.preferredLocations().toSeq).distinct.size == 2)
    // A number of tasks that the user sets is kept.
    assert(tasks(Splits(Some(64), None)).map(read(_).size) == Seq.fill(64)(1))
    assert(tasks(Splits(None, Some(7L))).size == 64)
  }

}

package io.github.dynamickafka.source.realtime

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, Positions, ReadUntil, Retained}
import io.github.dynamickafka.testkit.TimeLimit

class TaskPositionsSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def at(offsets: (String, Int, Long)*) = Positions.from(offsets)
  private def task(id: String, positions: Positions, epochs: Positions = Positions.empty) =
    TaskPositions(SortedMap(id -> positions), SortedMap(id -> epochs))

  private val start = CompositeOffset(
    SortedMap("blue" -> at(("t", 0, 5), ("t", 1, 7)), "green" -> at(("t", 0, 1))),
    retained = SortedMap("red" -> Retained.at(9L, at(("t", 0, 3)))),
    until = ReadUntil(SortedMap("green" -> at(("t", 0, 4)))),
    identities = SortedMap(
      "blue" -> ClusterIdentity(Some("k"), SortedMap("t" -> "id"), at(("t", 0, 2), ("t", 1, 2)))
    )
  )

  test("what no task has reported keeps its position: clusters, partitions, retained and draining ones") {
    val reached = TaskPositions.reached(start, Seq(task("blue", at(("t", 1, 9)))))
    assert(reached.position("blue") == at(("t", 0, 5), ("t", 1, 9)))
    assert(reached.position("green") == start.position("green"))
    assert(reached.retained == start.retained && reached.draining == start.draining)
    assert(TaskPositions.reached(start, Nil) == start)
  }

  test("a position never moves back, and a partition that the start does not have is not added") {
    assert(TaskPositions.reached(start, Seq(task("blue", at(("t", 0, 4), ("t", 9, 1))))) == start)
    assert(TaskPositions.reached(start, Seq(task("red", at(("t", 0, 8))))) == start)
  }

  test("the leader epoch of a position that moves is that of the record below it, or unknown") {
    val known = TaskPositions.reached(start, Seq(task("blue", at(("t", 0, 6), ("t", 1, 8)), at(("t", 0, 3)))))
    assert(known.identity("blue").epochs == at(("t", 0, 3)))
    assert(known.identity("blue").topics == SortedMap("t" -> "id"))
    val one = TaskPositions.reached(start, Seq(task("blue", at(("t", 0, 5), ("t", 1, 8)), at(("t", 0, 9)))))
    assert(one.identity("blue").epochs == at(("t", 0, 2)), "the position has not moved")
  }

  test("the order of the tasks does not matter, and the text is the same for the same positions") {
    val reports = Gen.listOf(for {
      id <- Gen.oneOf("blue", "green", "red")
      p <- Gen.choose(0, 2)
      offset <- Gen.choose(0L, 20L)
    } yield task(id, at(("t", p, offset)), at(("t", p, offset / 4))))
    forAll(reports) { tasks =>
      // Spark gives each partition to one task.
      val each = tasks.distinctBy(t => t.clusters.head._1 -> t.clusters.head._2.iterator.next()._2)
      val one = TaskPositions.reached(start, each)
      assert(one.json == TaskPositions.reached(start, each.reverse).json)
      assert(start.clusters.forall { case (id, positions) =>
        positions.iterator.forall { case (topic, p, offset) =>
          one.position(id).get(topic, p).exists(_ >= offset)
        }
      })
    }
  }

  test("ranges are divided into parts of the same size, in order, and there is always one") {
    assert(RealTimeTasks.divide(Nil, 4) == Seq(Nil))
    assert(RealTimeTasks.divide(1 to 3, 8) == Seq(Seq(1), Seq(2), Seq(3)))
    forAll(Gen.choose(1, 300), Gen.choose(1, 40)) { (ranges, tasks) =>
      val parts = RealTimeTasks.divide(1 to ranges, tasks)
      assert(parts.flatten == (1 to ranges))
      assert(parts.size == math.min(ranges, tasks))
      assert(parts.map(_.size).max - parts.map(_.size).min <= 1)
    }
  }
}

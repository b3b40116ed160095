package io.github.dynamickafka.sink

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.PartitionerChoice
import io.github.dynamickafka.testkit.TimeLimit

class PartitionPickerSuite extends AnyFunSuite with TimeLimit {
  private val whole = Destination("a", "t", None)
  private val part = Destination("a", "t", Some(Vector(1, 5)))

  private def row(partition: Option[Int] = None, key: Array[Byte] = null) =
    OutputRow(key, null, Nil, null, partition, RowTarget(), None)

  private def picker(choice: PartitionerChoice, task: Int = 0, count: Int = 3) =
    new PartitionPicker(choice, (_, _) => count, (_, _) => count, task)

  test("default and classes leave the choice to the producer") {
    Seq(PartitionerChoice.Default, PartitionerChoice.OfClass("x")).foreach { choice =>
      assert(picker(choice).pick(row(), whole) == Right(None))
    }
  }

  test("fixed: one partition for each task") {
    val chosen = (0 until 5).map(task => picker(PartitionerChoice.Fixed, task).pick(row(), whole))
    assert(chosen == Seq(0, 1, 2, 0, 1).map(p => Right(Some(p))))
  }

  test("round-robin: all partitions in turn, in each topic of each cluster") {
    val p = picker(PartitionerChoice.RoundRobin, task = 1)
    assert((0 until 4).map(_ => p.pick(row(), whole)) == Seq(1, 2, 0, 1).map(n => Right(Some(n))))
    assert(p.pick(row(), whole.copy(cluster = "b")) == Right(Some(1)))
  }

  test("the partition of the row takes precedence if it exists, also if it was added meanwhile") {
    assert(picker(PartitionerChoice.Fixed).pick(row(Some(2)), whole) == Right(Some(2)))
    Seq(-1, 3).foreach(p => assert(picker(PartitionerChoice.Fixed).pick(row(Some(p)), whole).isLeft))
    // What a producer knows is outdated.
    var requests = 0
    val growing = new PartitionPicker(
      PartitionerChoice.Fixed,
      (_, _) => 3,
      (_, _) => {
        requests += 1
        4
      },
      0
    )
    assert(growing.pick(row(Some(2)), whole) == Right(Some(2)) && requests == 0)
    assert(growing.pick(row(Some(3)), whole) == Right(Some(3)))
    (4 until 9).foreach(p => assert(growing.pick(row(Some(p)), whole).isLeft))
    assert(requests == 1)
  }

  test("if only some partitions belong to the stream, only these are used") {
    assert(picker(PartitionerChoice.Fixed, task = 3, count = 8).pick(row(), part) == Right(Some(5)))
    assert(picker(PartitionerChoice.Default, count = 8).pick(row(), part) == Right(Some(1)))
    val keyed =
      (0 until 50).map(i => picker(PartitionerChoice.Default).pick(row(key = Array(i.toByte)), part))
    assert(keyed.distinct.toSet == Set(Right(Some(1)), Right(Some(5))))
    assert(picker(PartitionerChoice.Fixed, count = 8).pick(row(Some(1)), part) == Right(Some(1)))
    assert(picker(
      PartitionerChoice.Fixed,
      count = 8
    ).pick(row(Some(2)), part).left.exists(_.contains("1, 5")))
  }
}

package io.github.dynamickafka.source.read

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.testkit.TimeLimit

class NextTasksSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def bundle(cluster: String, partition: Int, place: String*): RangeBundle = RangeBundle(
    new ConsumerSettings(cluster, Map.empty),
    Seq(StreamRange("s", OffsetRange("t", partition, 0L, 9L))),
    ReadSettings(includeHeaders = false, failOnDataLoss = true, 1000L),
    place
  )

  private def name(of: RangeBundle) = s"${of.cluster}${of.ranges.head.range.partition}"

  private def next(tasks: Seq[RangeBundle], slots: Int, executors: Int): Seq[(String, Seq[String])] =
    NextTasks(tasks, slots, executors).map(t => name(t) -> t.next.map(name))

  test("a task names the one that follows it in its slot, and the first one of another cluster after that") {
    val tasks = for (cluster <- Seq("a", "b"); p <- 0 until 4) yield bundle(cluster, p)
    assert(next(tasks, slots = 2, executors = 0) == Seq(
      "a0" -> Seq("a2", "b0"),
      "a1" -> Seq("a3", "b1"),
      "a2" -> Seq("b0"),
      "a3" -> Seq("b1"),
      "b0" -> Seq("b2"),
      "b1" -> Seq("b3"),
      "b2" -> Nil,
      "b3" -> Nil
    ))
    assert(next(tasks, slots = 8, executors = 0).forall(_._2.isEmpty), "all of them start at once")
  }

  test("tasks of different executors do not follow each other, and tasks without a place follow none") {
    val tasks = (0 until 6).map(p => bundle("a", p, s"executor_${p % 2}"))
    assert(next(
      tasks,
      slots = 1,
      executors = 2
    ).map(_._2) == Seq(Seq("a2"), Seq("a3"), Seq("a4"), Seq("a5"), Nil, Nil))
    assert(next((0 until 6).map(bundle("a", _)), slots = 1, executors = 2).forall(_._2.isEmpty))
  }

  private val tasks: Gen[Seq[RangeBundle]] = Gen.listOf(for {
    cluster <- Gen.oneOf("a", "b", "c")
    place <- Gen.oneOf(Nil, Seq("executor_a"), Seq("executor_b"))
  } yield (cluster, place)).map(_.zipWithIndex.map { case ((c, place), i) => bundle(c, i, place: _*) })

  test("the tasks stay the same in the same order, and each names few, which name none") {
    forAll(tasks, Gen.choose(0, 5), Gen.choose(0, 3)) { (tasks, slots, executors) =>
      val found = NextTasks(tasks, slots, executors)
      assert(found.map(_.copy(next = Nil)) == tasks)
      found.foreach { task =>
        assert(task.next.size <= NextTasks.Waves && task.next.forall(_.next.isEmpty))
        assert(task.next.map(_.cluster).distinct.size == task.next.size)
        assert(executors == 0 || task.next.forall(_.locations == task.locations))
      }
    }
  }
}

package io.github.dynamickafka.offset

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.OffsetsPolicy
import io.github.dynamickafka.testkit.TimeLimit

class HistoryPlanSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def table(stream: String, files: Int) =
    HistoryTable(
      HistoryDataSource("parquet", "/p", Map.empty, "{}"),
      None,
      None,
      Vector.tabulate(files)(i => HistoryFile(s"$stream-$i", i.toLong, i + 1L))
    )

  private val plans: Gen[HistoryPlan] = Gen.mapOf(Gen.zip(Gen.oneOf("a", "b", "c", "d"), Gen.choose(0, 7)))
    .filter(_.nonEmpty)
    .map(sizes =>
      HistoryPlan(SortedMap.from(sizes.map { case (id, n) => id -> table(id, n) }), HandOver.none)
    )

  private val positions = SortedMap("blue" -> Positions.from(Seq(("t", 0, 5L))))

  private def begin(plan: HistoryPlan) = CompositeOffset(positions, history = plan.nothing)

  private def batches(plan: HistoryPlan, most: Int): Seq[CompositeOffset] =
    Iterator.unfold(begin(plan))(at => plan.next(at, most).map(end => (end, end))).toSeq

  private def filesOf(plan: HistoryPlan, start: CompositeOffset, end: CompositeOffset): Seq[String] =
    plan.files(start, end).flatMap(_._3.map(_.path))

  test("batches have each file once, in order, and no more than the limit") {
    forAll(plans, Gen.choose(1, 9)) { (plan, most) =>
      val ends = batches(plan, most)
      val read = (begin(plan) +: ends).zip(ends).map { case (start, end) => filesOf(plan, start, end) }
      assert(read.flatten == plan.tables.values.flatMap(_.files.map(_.path)).toSeq)
      assert(read.forall(files => files.nonEmpty && files.size <= most))
      assert(read.dropRight(1).forall(_.size == most))
      assert(ends.forall(_.clusters == positions), "Kafka is not read before")
      val left = (begin(plan) +: ends).map(plan.pending(_))
      assert(left.last == 0L && left.head == plan.everything.values.sum)
    }
  }

  test("the files between any two offsets are those of the batches between them, also if Kafka has begun") {
    forAll(plans, Gen.choose(1, 4), Gen.choose(0, 30), Gen.choose(0, 30)) { (plan, most, i, j) =>
      val all = (begin(plan) +: batches(plan, most)) :+ CompositeOffset(positions)
      val (from, to) = (math.min(i, j) % all.size, math.max(i, j) % all.size)
      val (first, last) = (math.min(from, to), math.max(from, to))
      val each = all.slice(first, last).zip(all.slice(first + 1, last + 1))
        .flatMap { case (start, end) => filesOf(plan, start, end) }
      assert(filesOf(plan, all(first), all(last)).toSet == each.toSet)
    }
  }

  private val two = HistoryPlan(
    SortedMap(
      "a" -> table("a", 0).copy(
        files = Vector(HistoryFile("a-0", 10, 20), HistoryFile("a-1", 0, 30), HistoryFile("a-2", 31, 40)),
        ends = SortedMap("blue" -> Positions.from(Seq(("t", 0, 20L), ("t", 1, 40L))))
      ),
      "b" -> table("b", 0).copy(
        files = Vector(HistoryFile("b-0", 15, 25)),
        ends = SortedMap("green" -> Positions.from(Seq(("u", HistoryTable.AnyPartition, 25L))))
      )
    ),
    HandOver.none
  )
  private val unread = two.unread(begin(two), most = 10).get

  private def readOf(files: Option[UnreadFiles]): Option[Seq[Long]] = files.map(_.read.values.toSeq)

  test("files of all streams are read in the order of their greatest times, whole, below the bound") {
    assert(unread.least.contains(0L))
    assert(readOf(unread.next(None, 5)).contains(Seq(3L, 1L)))
    // Another cluster has an older record.
    assert(readOf(unread.next(Some(4), 5)).isEmpty && readOf(unread.next(Some(20), 50)).isEmpty)
    assert(readOf(unread.next(Some(21), 50)).contains(Seq(1L, 0L)))
    assert(readOf(unread.next(Some(26), 50)).contains(Seq(1L, 1L)))
    assert(readOf(unread.copy(most = 1).next(Some(26), 50)).contains(Seq(1L, 0L)))
  }

  test(
    "the file with the oldest record of all is read with those before it, although it is longer than the drift"
  ) {
    assert(readOf(unread.next(Some(5), 5)).contains(Seq(2L, 1L)))
    assert(readOf(unread.copy(most = 2).next(Some(5), 5)).contains(Seq(1L, 1L)))
    val last = unread.next(Some(5), 5).get
    assert(last.least.contains(31L) && readOf(last.next(Some(36), 5)).contains(Seq(3L, 1L)))
    assert(last.next(None, 5).get.least.isEmpty)
  }

  test("Kafka's records of a partition wait for the last file that has earlier ones") {
    def waiting(files: UnreadFiles) =
      Seq(
        "blue" -> ("t", 0),
        "blue" -> ("t", 1),
        "blue" -> ("t", 2),
        "green" -> ("u", 7),
        "green" -> ("t", 0)
      )
        .map { case (id, (topic, p)) => files.precede(Seq(id), topic, p) }
    assert(waiting(unread) == Seq(true, true, false, true, false))
    assert(waiting(unread.next(Some(21), 50).get) == Seq(false, true, false, true, false))
    assert(waiting(unread.next(Some(26), 50).get) == Seq(false, true, false, false, false))
    // A cluster that replaces another one has its records.
    assert(unread.precede(Seq("blue-2", "blue"), "t", 0) && !unread.precede(Seq("blue-2"), "t", 0))
  }

  test("without unread files there are none to align") {
    assert(two.unread(CompositeOffset(positions, history = two.everything), 1).isEmpty)
    assert(two.unread(CompositeOffset(positions), 1).isEmpty)
  }

  test("an offset with more files than the checkpoint lists is refused") {
    val plan = HistoryPlan(SortedMap("a" -> table("a", 2)), HandOver.none)
    Seq("a" -> 3L, "other" -> 1L).foreach { of =>
      val bad = CompositeOffset(positions, history = SortedMap(of))
      val e = intercept[DynamicKafkaRuntimeException](plan.next(bad, 1))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OFFSET" && e.getMessage.contains(of._1))
    }
  }

  private def ending(partition: Option[Int], offset: Option[Long], time: Option[Long], topic: String = "t") =
    HistoryEnd("blue", topic, partition, offset, time)

  test(
    "Kafka follows on the greatest offset, else on the greatest time of the partition, else of the topic"
  ) {
    val handOver = HandOver.of(Seq(
      ending(Some(0), Some(41L), Some(1000L)),
      ending(Some(0), Some(7L), Some(9000L)),
      ending(Some(1), None, Some(500L)),
      ending(Some(1), None, Some(499L)),
      ending(None, None, Some(99L), "u")
    ))
    val rest = OffsetsPolicy.Latest
    assert(handOver.start("blue", "t", rest) ==
      OffsetsPolicy.After(Map(0 -> 42L), Map(1 -> 501L), None, rest))
    assert(handOver.start("blue", "u", rest) == OffsetsPolicy.After(Map.empty, Map.empty, Some(100L), rest))
    assert(handOver.start("green", "t", rest) == rest && handOver.start("blue", "v", rest) == rest)
    assert(HandOver.none.start("blue", "t", rest) == rest)
  }
}

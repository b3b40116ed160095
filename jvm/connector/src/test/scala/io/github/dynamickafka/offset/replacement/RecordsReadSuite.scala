package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.{CompositeOffset, Positions, Retained}
import io.github.dynamickafka.testkit.TimeLimit

/** What is kept of the last records that a query has read. */
class RecordsReadSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private val key = LogKey("a", "t", 0)
  private def at(offset: Long) = CompositeOffset(SortedMap("a" -> Positions.from(Seq(("t", 0, offset)))))
  private def read(offset: Long, time: Long): LogKey => Option[LastRecord] =
    _ => Some(LastRecord(offset, time))
  private val nothing: LogKey => Option[LastRecord] = _ => None

  private val first = RecordsRead.none.after(at(10L), 500L, read(9L, 490L))

  test("the last record below the position, and when the batch was planned") {
    assert(first.partitions == Map(key -> ReadUpTo(10L, 500L, Some(LastRecord(9L, 490L)))))
    assert(first.after(at(10L), 900L, read(9L, 490L)) eq first, "an idle trigger changes nothing")
    val second = first.after(at(20L), 600L, read(17L, 580L))
    assert(second.partitions(key) == ReadUpTo(20L, 600L, Some(LastRecord(17L, 580L))))
  }

  test("a record of a former log, or of a batch before, is not that of the position") {
    assert(RecordsRead.none.after(at(10L), 500L, read(30L, 1L)).partitions(key).last.isEmpty)
    val entered = at(10L).copy(entered = at(8L).clusters)
    assert(first.after(
      entered.copy(clusters = at(12L).clusters),
      700L,
      read(5L, 1L)
    ).partitions(key).last.isEmpty)
    // A batch that has read nothing but the end of a transaction.
    val more = first.after(at(11L), 700L, read(9L, 490L)).partitions(key)
    assert(more == ReadUpTo(11L, 700L, Some(LastRecord(9L, 490L))))
  }

  test("a partition keeps what is known of it while it is retained, and no longer") {
    val left = CompositeOffset(
      SortedMap.empty[String, Positions],
      retained = SortedMap("a" -> Retained.at(1L, at(10L).position("a")))
    )
    assert(first.after(left, 900L, nothing) eq first)
    assert(first.after(CompositeOffset.empty, 900L, nothing).partitions.isEmpty)
  }

  test("nothing is known: the time of the batch; a position that was set back: no time") {
    def of(offset: Long) = first.of("a", at(offset).position("a"), 1000L)(("t", 0))
    assert(of(10L).timeMs == 490L)
    assert(of(15L).timeMs == 490L, "an older file has an earlier time")
    assert(of(4L).timeMs == 0L)
    assert(RecordsRead.none.of("a", at(10L).position("a"), 1000L)(("t", 0)).timeMs == 1000L)
  }

  test("over any sequence of batches, the time is not later than that of the last record that was read") {
    val batches = Gen.listOf(Gen.zip(Gen.choose(0, 5), Gen.option(Gen.choose(0L, 1000L))))
    forAll(batches) { all =>
      val (known, _, least) = all.zipWithIndex.foldLeft((RecordsRead.none, 0L, Option.empty[Long])) {
        case ((before, position, time), ((size, found), i)) =>
          val next = position + size
          val reported = found.filter(_ => size > 0).map(LastRecord(next - 1, _))
          (
            before.after(at(next), 2000L + i, _ => reported),
            next,
            if (size == 0) time else reported.map(_.time)
          )
      }
      for (time <- least; of <- known.partitions.get(key)) assert(of.timeMs <= time)
    }
  }
}

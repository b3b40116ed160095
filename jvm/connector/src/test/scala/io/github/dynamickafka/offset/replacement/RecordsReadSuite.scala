package io.github.dynamickafka.offset.replacement

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.{CompositeOffset, LogKey, Positions, Retained}
import io.github.dynamickafka.testkit.TimeLimit

/** What is kept of the last records that a query has read. */
class RecordsReadSuite extends AnyFunSuite with TimeLimit {

  private val key = LogKey("a", "t", 0)
  private def at(offset: Long) = CompositeOffset(SortedMap("a" -> Positions.from(Seq(("t", 0, offset)))))
  private def read(offset: Long, time: Long): LogKey => Option[LastRecord] =
    _ => Some(LastRecord(offset, time))
  private val nothing: LogKey => Option[LastRecord] = _ => None

  private val first = RecordsRead.none.after(at(10L), read(9L, 490L))

  test("the last record below the position") {
    assert(first.partitions == Map(key -> LastRecord(9L, 490L)))
    assert(first.after(at(10L), read(9L, 490L)) eq first, "an idle trigger changes nothing")
    assert(first.after(at(20L), read(17L, 580L)).partitions(key) == LastRecord(17L, 580L))
    assert(
      first.after(at(11L), nothing) eq first,
      "a batch that has read nothing but the end of a transaction"
    )
  }

  test("a record of a former log is not that of the position") {
    assert(RecordsRead.none.after(at(10L), read(30L, 1L)).partitions.isEmpty)
    def entered(from: Long, to: Long) = at(to).copy(entered = at(from).clusters)
    assert(first.after(entered(8L, 12L), read(5L, 1L)).partitions.isEmpty)
    assert(first.after(entered(0L, 4L), read(9L, 490L)).partitions.isEmpty)
  }

  test("a partition keeps what is known of it while it is retained, and no longer") {
    val left = CompositeOffset(
      SortedMap.empty[String, Positions],
      retained = SortedMap("a" -> Retained.at(1L, at(10L).position("a")))
    )
    assert(first.after(left, nothing) eq first)
    assert(first.after(CompositeOffset.empty, nothing).partitions.isEmpty)
  }

  test(
    "a cluster that continues another one has the records that were read there, also if nothing is read of it"
  ) {
    val copy = CompositeOffset(
      SortedMap("b" -> at(10L).position("a")),
      entered = SortedMap("b" -> at(10L).position("a"))
    )
    val known = first.continued("a", "b", at(10L).position("a")).after(copy, nothing)
    assert(known.of("b", copy.position("b")) == Map(("t", 0) -> LastRecord(9L, 490L)))
  }

  test("nothing is known of a position that was set back") {
    def of(offset: Long) = first.of("a", at(offset).position("a")).get(("t", 0))
    assert(of(10L).contains(LastRecord(9L, 490L)) && of(15L) == of(10L))
    assert(of(4L).isEmpty)
  }
}

package io.github.dynamickafka.source.report

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.source.read.{ReportedTimes, TimedOffset}
import io.github.dynamickafka.testkit.TimeLimit

/** What is known of the time of the first unread record of a partition. */
class FirstUnreadSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {

  private def read(last: Long, greatest: Long, next: Option[TimedOffset] = None) =
    Some(ReportedTimes(TimedOffset(last, greatest - 1), greatest, next))
  private def certain(time: Long) = Some(FirstUnread(time, isCertain = true))
  private def near(time: Long) = Some(FirstUnread(time, isCertain = false))

  test("the next record of a task is exact up to its offset") {
    val times = read(9L, 50L, Some(TimedOffset(12L, 70L)))
    Seq(10L, 12L).foreach(at => assert(FirstUnread(at, times, None, None) == certain(70L)))
    assert(FirstUnread(13L, times, None, None) == near(50L))
    assert(FirstUnread(9L, times, None, None).isEmpty, "of another log")
  }

  test(
    "a response has the time of the record at the position, or shows that it is older than what was asked for"
  ) {
    val times = read(9L, 50L)
    def after(position: Long, found: Option[(Long, Long)], askedAt: Long = 10L) =
      FirstUnread(position, times, Some(TimeResponse(askedAt, 51L, found)), None)
    assert(after(10L, Some(10L -> 80L)) == certain(80L))
    assert(after(10L, Some(14L -> 80L)) == certain(50L))
    assert(after(10L, None) == certain(50L))
    // The query has read on since.
    assert(after(14L, Some(14L -> 80L)) == certain(80L))
    assert(after(11L, Some(14L -> 80L)) == certain(50L))
    assert(after(11L, None) == near(50L), "records may have been added")
    assert(after(15L, Some(14L -> 80L)) == near(50L))
  }

  test("nothing is known before a record was read, unless it is the first one of the log") {
    assert(FirstUnread(10L, None, None, None).isEmpty)
    def after(found: Option[(Long, Long)]) = FirstUnread(10L, None, Some(TimeResponse(10L, 0L, found)), None)
    assert(after(Some(10L -> 80L)) == certain(80L) && after(Some(12L -> 80L)) == certain(80L))
    assert(after(Some(3L -> 80L)).isEmpty && after(None).isEmpty)
    assert(FirstUnread.asked(10L, None) == 0L && FirstUnread.asked(10L, read(9L, 50L)) == 51L)
    assert(
      FirstUnread.asked(10L, read(9L, Long.MaxValue)) == Long.MaxValue,
      "Kafka takes any number as a time"
    )
  }

  test(
    "a record that has arrived since the partition was read to its end is not older than that, until more is known"
  ) {
    assert(FirstUnread(10L, read(9L, 50L), None, levelAt = Some(90L)) == near(90L))
    assert(FirstUnread(10L, None, None, levelAt = Some(90L)) == near(90L))
    assert(FirstUnread(10L, read(9L, 95L), None, levelAt = Some(90L)) == near(95L))
  }

  /** A log with a record at each offset, and positions: where it was when it was asked, read and looked at. */
  private val cases = for {
    times <- Gen.choose(1, 12).flatMap(Gen.listOfN(_, Gen.choose(0L, 9L))).map(_.toVector)
    position <- Gen.choose(0, times.size - 1)
    start <- Gen.choose(0, position)
    askedAt <- Gen.choose(start, position)
    length <- Gen.choose(askedAt, times.size)
    knowsNext <- Gen.oneOf(true, false)
  } yield (times, position, start, askedAt, length, knowsNext)

  private def readUpTo(times: Vector[Long], start: Int, position: Int, knowsNext: Boolean) =
    Option.when(position > start) {
      val next = Option.when(knowsNext)(TimedOffset(position.toLong, times(position)))
      ReportedTimes(
        TimedOffset(position - 1L, times(position - 1)),
        times.slice(start, position).max,
        next
      )
    }

  test("what is certain is never younger than the first unread record, and exact where the log is in order") {
    forAll(cases) { case (any, position, start, askedAt, length, knowsNext) =>
      Seq(any, any.sorted).foreach { times =>
        val from = FirstUnread.asked(askedAt.toLong, readUpTo(times, start, askedAt, knowsNext = false))
        val found = times.take(length).indexWhere(_ >= from)
        // Only where there was an unread record is a question sent.
        val answer = Option.when(length > askedAt)(TimeResponse(
          askedAt.toLong,
          from,
          Option.when(found >= 0)(found.toLong -> times(found))
        ))
        FirstUnread(position.toLong, readUpTo(times, start, position, knowsNext), answer, None).foreach { f =>
          if (f.isCertain) assert(times(position) <= f.time)
          if (f.isCertain && knowsNext && position > start) assert(times(position) == f.time)
          if (times eq any) ()
          else assert(f.time <= times(position), "what is in order is never newer than known")
        }
      }
    }
  }
}

package io.github.dynamickafka.source.read

import java.io.{ByteArrayOutputStream, ObjectOutputStream}
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.util.Using

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.spark.SparkContext
import org.apache.spark.util.CollectionAccumulator
import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.offset.{ClusterIdentity, CompositeOffset, LogKey, MeanSize, Positions}
import io.github.dynamickafka.source.Query
import io.github.dynamickafka.testkit.TimeLimit

/** What tasks report about the times of the records that they read. */
class RecordTimesSuite extends AnyFunSuite with TimeLimit with ScalaCheckPropertyChecks {
  import RecordTimesSuite._

  private def read(now: Long, slices: Slice*): Option[ReportedTimes] = {
    val times = new RangeTimes(of, None)
    slices.foreach(times.read(_, now))
    times.found.map(_._2)
  }

  test("the last record, the greatest time, and the next record if it was fetched") {
    assert(read(100L).isEmpty)
    assert(
      read(
        100L,
        slice(2, 5L -> 70L, 6L -> 60L)
      ).contains(ReportedTimes(TimedOffset(6L, 60L), 70L, written = 60L))
    )
    val next = Some(TimedOffset(9L, 65L))
    assert(
      read(100L, slice(2, 5L -> 70L, 6L -> 60L), slice(1, 7L -> 61L, 9L -> 65L, 10L -> 99L))
        .contains(ReportedTimes(TimedOffset(7L, 61L), 70L, next, written = 61L))
    )
  }

  test(
    "a time in the future counts as now, and is not the greatest, and is known as it was written; a record may have no time"
  ) {
    assert(
      read(100L, slice(1, 5L -> 500L, 6L -> 900L))
        .contains(ReportedTimes(TimedOffset(5L, 100L), -1L, Some(TimedOffset(6L, 100L)), written = 500L))
    )
    assert(
      read(100L, slice(2, 5L -> 500L, 6L -> 70L), slice(1, 7L -> 900L))
        .contains(ReportedTimes(TimedOffset(7L, 100L), 70L, written = 900L))
    )
    assert(read(100L, slice(1, 5L -> -1L)).contains(ReportedTimes(TimedOffset(5L, -1L), -1L)))
  }

  test("what tasks report of a log is reached, and merged, only with the id of its topic") {
    val key = LogKey("a", "t", 0)
    assert(LogTimes.none.in(SortedMap.empty, key).isEmpty && LogTimes.none.logs.get((key, None)).isEmpty)
    assertTypeError("LogTimes.none.logs.get(key)")
    assertTypeError("LogTimes.none.and(Seq(key -> ReportedTimes(TimedOffset(6L, 60L), 70L)))")
  }

  test("sizes: keys, values and headers of the records of the range, if they are measured") {
    val record = new ConsumerRecord[Array[Byte], Array[Byte]](
      "t",
      0,
      5L,
      1L,
      TimestampType.CREATE_TIME,
      3,
      10,
      new Array[Byte](3),
      new Array[Byte](10),
      new RecordHeaders().add("é", new Array[Byte](4)).add("x", null),
      ju.Optional.empty[Integer]
    )
    val tombstone = new ConsumerRecord[Array[Byte], Array[Byte]]("t", 0, 6L, null, null)
    def size(measures: Boolean) = {
      val times = new RangeTimes(of, None, measures)
      times.read(Slice(new TopicPartition("t", 0), ju.List.of(record, tombstone, record), 2), 100L)
      times.found.map(_._2.size)
    }
    assert(size(measures = true).contains(MeanSize(2L, 10.0)))
    assert(size(measures = false).contains(MeanSize.none))
  }

  private val times: Gen[ReportedTimes] = for {
    offset <- Gen.choose(0L, 5L)
    time <- Gen.choose(0L, 5L)
    more <- Gen.choose(0L, 5L)
    next <- Gen.option(Gen.choose(1L, 3L).map(n => TimedOffset(offset + n, n)))
  } yield ReportedTimes(TimedOffset(offset, time), time + more, next, written = time)

  private val reports: Gen[List[(LogKey, ReportedTimes)]] =
    Gen.listOf(Gen.zip(Gen.choose(0, 2).map(p => of.copy(partition = p)), times))

  /** Of topics without a known id. */
  private def named(found: LogTimes): Map[LogKey, ReportedTimes] =
    found.logs.map { case ((key, topicId), times) =>
      assert(topicId.isEmpty)
      key -> times
    }

  private def merged(all: Seq[(LogKey, ReportedTimes)]): Map[LogKey, ReportedTimes] = {
    val driver = new RecordTimes
    all.foreach(report => driver.merge(reported(report)))
    named(driver.found)
  }

  /** The accumulator of a task with this result. */
  private def reported(report: (LogKey, ReportedTimes)): CollectionAccumulator[Array[AnyRef]] = {
    val (of, ReportedTimes(last, greatest, next, _, _)) = report
    val task = new CollectionAccumulator[Array[AnyRef]]
    val range = new TaskTimes(task, measures = false).of(of, None)
    // Of several records, the first one has the greatest time.
    val records = Seq(last.offset -> greatest, last.offset -> last.time) ++ next.map(n => n.offset -> n.time)
    range.read(slice(2, records: _*), 1000L)
    task
  }

  test("neither the order of tasks nor repeated ones change what is known, and nothing moves backwards") {
    forAll(reports, Gen.long) { (reports, seed) =>
      val random = new scala.util.Random(seed)
      val found = merged(reports)
      assert(merged(random.shuffle(reports ++ reports.take(3))) == found)
      reports.foreach { case (of, report) =>
        assert(found(of).last.offset >= report.last.offset && found(of).greatest >= report.greatest)
      }
      found.foreach { case (of, known) =>
        val own = reports.collect { case (`of`, report) => report }
        assert(known.greatest == own.map(_.greatest).max)
        assert(own.exists(report => report.last == known.last && report.next == known.next))
        // That the next record is known is not forgotten because another attempt does not know it.
        assert(known.next.isDefined || !own.exists(r => r.last == known.last && r.next.isDefined))
      }
    }
  }

  test("partitions that are not read any more are forgotten, and those whose positions went back") {
    forAll(reports) { reports =>
      val driver = new RecordTimes
      reports.foreach(report => driver.merge(reported(report)))
      val before = named(driver.found)
      val positions = SortedMap("blue" -> Positions.from(Seq(("t", 0, 3L), ("t", 1, 100L))))
      driver.retain(CompositeOffset(positions))
      assert(named(driver.found) == before.filter { case (of, known) =>
        of.partition == 1 || (of.partition == 0 && known.last.offset < 3L)
      })
      driver.retain(CompositeOffset.empty)
      assert(driver.found.logs.isEmpty)
    }
  }

  test("what was read of another log of the same name is not compared with the position") {
    val driver = new RecordTimes
    def reads(topicId: String, offset: Long, time: Long) = {
      val task = new CollectionAccumulator[Array[AnyRef]]
      new TaskTimes(task, measures = false).of(of, Some(topicId)).read(slice(1, offset -> time), 1000L)
      driver.merge(task)
    }
    def at(topicId: String) = SortedMap("blue" -> ClusterIdentity(topics = SortedMap("t" -> topicId)))
    reads("former", 90L, 400L)
    reads("copy", 5L, 500L)
    assert(driver.found.in(at("copy"), of).map(_.last).contains(TimedOffset(5L, 500L)))
    assert(driver.found.in(at("former"), of).map(_.last).contains(TimedOffset(90L, 400L)))
    assert(driver.found.in(at("third"), of).isEmpty)
    val reached =
      CompositeOffset(SortedMap("blue" -> Positions.from(Seq(("t", 0, 100L)))), identities = at("copy"))
    driver.retain(reached)
    assert(driver.found.in(at("former"), of).isEmpty && driver.found.in(at("copy"), of).isDefined)
  }

  test("what is known stays the same object until a task has ended") {
    val driver = new RecordTimes
    driver.merge(reported(of -> ReportedTimes(TimedOffset(5L, 50L), 60L)))
    val before = driver.found
    driver.retain(CompositeOffset(SortedMap("blue" -> Positions.from(Seq(("t", 0, 6L))))))
    assert(driver.found eq before)
  }

  test(
    "tasks of Spark report to the driver: those that fail do not, and what they return has no class of this project"
  ) {
    val context: SparkContext = Query.spark.sparkContext
    val driver = RecordTimes(context)
    val tasks = driver.ofTasks
    val failing = context.parallelize(1 to 4, 4).map { p =>
      RecordTimesSuite.read(tasks, p, time = 10L * p)
      if (p == 3) throw new IllegalStateException("a task fails")
      p
    }
    assert(intercept[Exception](failing.count()).getMessage.contains("a task fails"))
    assert(!named(driver.found).contains(of.copy(partition = 3)))
    context.parallelize(1 to 4, 4).foreach(p => RecordTimesSuite.read(tasks, p, time = 20L * p))
    assert(named(driver.found) == (1 to 4).map(p =>
      of.copy(partition = p) -> ReportedTimes(TimedOffset(7L, 20L * p), 20L * p, written = 20L * p)
    ).toMap)
    assert(driver.copyAndReset().getClass == classOf[CollectionAccumulator[_]])
    val bytes = new ju.ArrayList(ju.List.of(new RangeTimes(of, None).reported))
    val written = new ByteArrayOutputStream
    Using.resource(new ObjectOutputStream(written))(_.writeObject(bytes))
    assert(!written.toString("ISO-8859-1").contains("dynamickafka"))
  }
}

private object RecordTimesSuite {
  private val of = LogKey("blue", "t", 0)

  private def slice(size: Int, records: (Long, Long)*): Slice = {
    val all = new ju.ArrayList[ConsumerRecord[Array[Byte], Array[Byte]]]
    records.foreach { case (offset, time) =>
      all.add(new ConsumerRecord(
        "t",
        0,
        offset,
        time,
        TimestampType.CREATE_TIME,
        0,
        0,
        Array.empty[Byte],
        Array.empty[Byte],
        new RecordHeaders,
        ju.Optional.empty[Integer]
      ))
    }
    Slice(new TopicPartition("t", 0), all, size)
  }

  /** A task reads the record at offset 7. */
  private def read(task: TaskTimes, partition: Int, time: Long): Unit =
    task.of(of.copy(partition = partition), None).read(slice(1, 7L -> time), now = 1000L)
}

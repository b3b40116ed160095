package io.github.dynamickafka.source.realtime

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.AtomicBoolean

import scala.util.Using

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.{Entry, Query}
import io.github.dynamickafka.testkit.Record

/** What goes wrong inside a batch: tasks fail, logs have holes, records are deleted before they are read. */
class RealTimeFaultSuite extends RealTimeTest {

  test("a task that fails once: its batch is read from the start again, and nothing before it") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      produce(blue, topic, 2, values("logged", 0, 6))
      runUntil(rows, s.frame())(rows.seen.size == 6)
      val hasFailed = new AtomicBoolean
      rows.before = row =>
        if (row.value == "open3" && hasFailed.compareAndSet(false, true))
          throw new IllegalStateException("the task fails once")
      val failing = rows.start(s.frame())
      produce(green, topic, 2, values("open", 0, 6))
      waitFor("the failure")(hasFailed.get)
      // With one attempt for each task, the query ends; with several, Spark may run the task again.
      waitFor("the end of the query, or its rows")(!failing.isActive || distinct(rows) == 12)
      if (!failing.isActive) { val _ = rows.start(s.frame()) }
      waitFor("all rows")(distinct(rows) == 12)
      assertSame(rows.seen.distinct, storedOnBoth(topic))
      assert(rows.seen.count(_.value.startsWith("logged")) == 6, "what is logged is not repeated")
    }
  }

  test(
    "a topic that is recreated before a batch with its start is committed is read from its beginning, as a loss"
  ) {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      produce(blue, topic, 1, values("b", 0, 1))
      produce(green, topic, 1, values("old", 0, 5))
      val (a, b) = (Entry("blue", blue, topic), Entry("green", green, topic))
      def start(fails: Boolean) =
        rows.start(s.frame("newClusterStartingOffsets" -> "latest", "failOnDataLoss" -> fails.toString))
      s.orders(a)
      runUntil(rows, s.frame())(rows.seen.nonEmpty)
      val query = start(fails = true)
      produce(blue, topic, 1, values("b", 1, 2))
      waitFor("blue")(rows.seen.size == 2)
      // The decision about green is kept, and the batch is not.
      dyingBeforeTheLog(s, query)(s.change(a, b))(())
      green.deleteTopic(topic)
      green.createTopic(topic, 1)
      produce(green, topic, 1, values("new", 0, 8))
      assert(condition(failure(start(fails = true))) == "TOPIC_RECREATED")
      val _ = start(fails = false)
      waitFor("green")(rows.seen.exists(_.value == "new7"))
      assert(rows.seen.filter(_.cluster == "green").map(_.value) == values("new", 0, 8))
    }
  }

  test("markers of transactions inside a batch: each committed record once, and no aborted one") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val frame = () => s.frame("kafka.isolation.level" -> "read_committed")
      val query = rows.start(frame())
      Using.resource(transactional(blue)) { writer =>
        (0 until 6).foreach { i =>
          writer.beginTransaction()
          writer.send(new ProducerRecord(topic, 0, "k", s"t$i")).get
          if (i % 2 == 0) writer.commitTransaction() else writer.abortTransaction()
        }
      }
      waitFor("committed rows")(rows.seen.size == 3)
      DynamicKafka.stop(query)
      assert(rows.logged(rows.log("commits").last).position("blue").get(topic, 0).exists(_ >= 9L))
      produce(blue, topic, 1, values("after", 0, 1))
      val _ = rows.start(frame())
      waitFor("the row after")(rows.seen.size == 4)
      assert(rows.seen.map(_.value) == Seq("t0", "t2", "t4", "after0"))
    }
  }

  test("a compacted log: what is left of it is read once, and followed") {
    realTime { (s, rows) =>
      val topic = newTopic()
      val compacted = Map(
        "cleanup.policy" -> "compact",
        "segment.ms" -> "100",
        "min.cleanable.dirty.ratio" -> "0.01",
        "max.compaction.lag.ms" -> "100"
      )
      blue.createTopic(topic, 1, compacted)
      def put(value: String) = blue.produce(topic, Seq(Record(0, Some("k"), value)))
      (0 until 20).foreach(i => put(s"old$i"))
      waitFor("holes") {
        val _ = put("more")
        val left = blue.dump(topic)
        left.size < left.last.offset
      }
      s.orders(Entry("blue", blue, topic))
      val query = rows.start(s.frame())
      val _ = put("last")
      waitFor("the last row")(rows.seen.lastOption.exists(_.value == "last"))
      DynamicKafka.stop(query)
      val offsets = rows.seen.map(_.offset)
      assert(offsets == offsets.distinct.sorted)
      assert(stored("blue", blue, topic).toSet.subsetOf(rows.seen.toSet), "all that is left")
      assert(rows.logged(rows.log("commits").last).position("blue").get(topic, 0).contains(offsets.last + 1))
    }
  }

  test("failOnDataLoss=false: records that are deleted inside a batch are passed, and the query continues") {
    purged("failOnDataLoss" -> "false") { (s, rows, query, topic) =>
      waitFor("the rows after the deleted ones")(rows.seen.lastOption.exists(_.value == "c39"))
      val offsets = rows.seen.map(_.offset)
      assert(offsets == offsets.distinct.sorted)
      assert(stored("blue", blue, topic).toSet.subsetOf(rows.seen.toSet))
      val lost = offsets.last + 1 - offsets.size
      assert(lost > 0L && query.isActive, "some were deleted before they were read")
      DynamicKafka.stop(query)
      eventually(assert(s.metrics(query)("lostRecords") == lost.toString))
    }
  }

  test("failOnDataLoss: records that are deleted inside a batch fail the query") {
    purged() { (_, rows, query, _) =>
      assert(condition(failure(query)) == "DATA_LOSS")
      assert(!rows.seen.exists(_.value == "c39"))
    }
  }

  /** The task waits at its first row, while the records behind those that it has fetched are deleted. */
  private def purged(options: (
      String,
      String
  )*)(body: (Query, HandedRows, StreamingQuery, String) => Any): Unit =
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val (arrived, release) = (new CountDownLatch(1), new CountDownLatch(1))
      rows.before = _ => {
        arrived.countDown()
        release.await()
      }
      val small = Seq("kafka.max.poll.records" -> "1", "kafka.max.partition.fetch.bytes" -> "1")
      val query = rows.start(s.frame(small ++ options: _*))
      // One fetch returns one of these batches of records.
      produce(blue, topic, 1, values("a", 0, 1))
      arrived.await()
      (0 until 40).foreach(i => produce(blue, topic, 1, values("c", i, i + 1)))
      blue.deleteRecords(topic, 0, 35L)
      release.countDown()
      body(s, rows, query, topic)
      ()
    }

  /** Runs a query until the condition holds and its batch is logged. */
  private def runUntil(rows: HandedRows, frame: DataFrame)(isDone: => Boolean): Unit = {
    val query = rows.start(frame)
    waitFor("the rows")(isDone)
    DynamicKafka.stop(query)
  }

  private def distinct(rows: HandedRows): Int = rows.seen.distinct.size

}

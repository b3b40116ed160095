package io.github.dynamickafka.source.realtime

import scala.util.Using

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.source.Entry

/** Real-time mode without a change of the topology. */
class RealTimeReadSuite extends RealTimeTest {

  test("several clusters and more partitions than tasks, over several batches: each record once") {
    realTime { (s, rows) =>
      val topic = newTopicOn(5, blue, green)
      produce(blue, topic, 5, values("b", 0, 20))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = rows.start(s.frame(), "1 second")
      (1 to 5).foreach { i =>
        val before = rows.log("commits").size
        produce(blue, topic, 5, values("b", i * 20, i * 20 + 20))
        produce(green, topic, 5, values("g", i * 20, i * 20 + 20))
        eventually(assert(rows.log("commits").size > before))
      }
      waitFor("all rows")(rows.seen.size >= 220)
      query.stop()
      assertSame(rows.seen, storedOnBoth(topic))
      assert(rows.seen.groupBy(r => (r.cluster, r.partition)).values.forall(of => of == of.sortBy(_.offset)))
    }
  }

  test("a record is handed over long before the batch ends") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val query = rows.start(s.frame())
      produce(blue, topic, 1, values("b", 0, 3))
      waitFor("rows")(rows.seen.size == 3)
      assert(rows.log("offsets").isEmpty, "the batch is not logged, so it has not ended")
      assert(query.isActive)
    }
  }

  test("an unchanged topology ends no batch, and a query without clusters waits") {
    realTime { (s, rows) =>
      s.orders()
      val query = rows.start(s.frame("allowMissingStreams" -> "true"))
      s.service.awaitAnswers()
      s.service.awaitAnswers()
      assert(query.isActive && rows.log("offsets").isEmpty)
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("b", 0, 3))
      s.orders(Entry("blue", blue, topic))
      waitFor("rows")(rows.seen.size == 3)
      val batches = rows.log("offsets").size
      s.service.awaitAnswers()
      s.service.awaitAnswers()
      assert(rows.log("offsets").size == batches)
    }
  }

  test("a query that is stopped inside a batch reads it from its start again, and nothing before it") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("logged", 0, 10))
      s.orders(Entry("blue", blue, topic))
      val first = rows.start(s.frame(), "1 second")
      eventually(assert(rows.log("commits").size >= 2))
      first.stop()
      val logged = rows.logged(rows.log("commits").last).position("blue")
      assert(logged.of(topic).values.sum == 10)
      val second = rows.start(s.frame())
      produce(blue, topic, 2, values("open", 0, 6))
      waitFor("rows")(rows.seen.size == 16)
      second.stop()
      val _ = rows.start(s.frame())
      waitFor("the repeated rows")(rows.seen.size == 22)
      assert(rows.seen.count(_.value.startsWith("open")) == 12)
      assert(rows.seen.count(_.value.startsWith("logged")) == 10)
    }
  }

  test("DynamicKafka.stop ends the batch first: the next start repeats nothing") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("a", 0, 6))
      s.orders(Entry("blue", blue, topic))
      val first = rows.start(s.frame())
      waitFor("rows")(rows.seen.size == 6)
      DynamicKafka.stop(first)
      assert(!first.isActive && first.exception.isEmpty)
      produce(blue, topic, 2, values("b", 0, 4))
      DynamicKafka.stop(rows.start(s.frame(), "1 second"))
      s.catchUp()
      assertSame(rows.seen ++ s.seen, stored("blue", blue, topic))
    }
  }

  test("micro-batches and real-time mode continue on one checkpoint, both ways, without loss or duplicates") {
    realTime { (s, rows) =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      produce(blue, topic, 2, values("a", 0, 7))
      s.catchUp()
      produce(green, topic, 2, values("b", 0, 7))
      val query = rows.start(s.frame(), "1 second")
      waitFor("rows")(rows.seen.size == 7)
      // Two more batches: the one that has read the rows is logged, and the one that runs has read none.
      val batches = rows.log("commits").size
      eventually(assert(rows.log("commits").size >= batches + 2))
      query.stop()
      produce(blue, topic, 2, values("c", 0, 7))
      s.catchUp()
      assertSame(s.seen ++ rows.seen, storedOnBoth(topic))
    }
  }

  test("bad records and formats are as in micro-batches") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, Seq("""{"n": 1}""", "not JSON", """{"n": 2}"""))
      val frame = s.frame(
        "format" -> "json",
        "schema" -> "n STRING",
        "parseErrors" -> "drop",
        "metadataColumns" -> "cluster;topic;partition;offset;stream"
      ).withColumnRenamed("n", "value")
      val query = rows.start(frame, "1 second")
      waitFor("rows")(rows.seen.map(_.value) == Seq("1", "2"))
      eventually(assert(rows.log("commits").size >= 2))
      assert(s.metrics(query)("droppedRecords") == "1")
    }
  }

  test("read_committed: an aborted transaction is not read, and its markers are passed") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      produce(blue, topic, 1, values("before", 0, 2))
      Using.resource(transactional(blue)) { writer =>
        writer.beginTransaction()
        values("aborted", 0, 3).foreach(v => writer.send(new ProducerRecord(topic, 0, "k", v)).get)
        writer.abortTransaction()
      }
      val query = rows.start(s.frame("kafka.isolation.level" -> "read_committed"), "1 second")
      eventually(assert(rows.log("commits").size >= 2))
      query.stop()
      assert(rows.seen.map(_.value) == values("before", 0, 2))
      assert(rows.logged(rows.log("commits").last).position("blue").get(topic, 0).contains(6L))
    }
  }

  for (
    (option, value) <- Seq(
      "maxOffsetsPerTrigger" -> "10",
      "minOffsetsPerTrigger" -> "10",
      "maxTriggerDelay" -> "1m",
      "minPartitions" -> "4",
      "maxRecordsPerPartition" -> "5",
      "endingOffsets" -> "latest",
      "endingTimestamp" -> "1000",
      "cluster.blue.maxOffsetsPerTrigger" -> "7"
    )
  ) test(s"$option is refused by name when the query starts") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val e = refused(rows.start(s.frame(option -> value)))
      assert(condition(e) == "INVALID_OPTION")
      assert(text(e).contains(option) && text(e).contains("real-time"), text(e))
    }
  }

  test("alignment is refused in real-time mode, and these options are not refused elsewhere") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val options = Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> "1m")
      val e = refused(rows.start(s.frame(options: _*)))
      assert(condition(e) == "INVALID_OPTION" && text(e).contains("alignment"), text(e))
      produce(blue, topic, 1, values("b", 0, 3))
      val query = s.start(Trigger.AvailableNow(), options :+ ("realTimeTasks" -> "1"): _*)
      assert(query.awaitTermination(300000) && s.seen.size == 3)
    }
  }
}

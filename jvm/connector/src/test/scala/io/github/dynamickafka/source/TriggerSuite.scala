package io.github.dynamickafka.source

import scala.annotation.nowarn

import org.apache.spark.sql.functions.{col, count}
import org.apache.spark.sql.streaming.Trigger
import org.apache.spark.sql.types.{StringType, StructType}

import io.github.dynamickafka.testkit.Record

/** Rows, triggers, limits, batch reads. */
class TriggerSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  test("the columns are those of Spark's Kafka source, then cluster and stream, never null") {
    scene { s =>
      s.orders()
      val kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", "x:1").option("subscribe", "t")
      val more = new StructType().add(
        "cluster",
        StringType,
        nullable = false
      ).add("stream", StringType, nullable = false)
      assert(s.frame().schema == StructType(kafka.load().schema ++ more))
      val withHeaders = StructType(kafka.option("includeHeaders", "true").load().schema ++ more)
      assert(s.frame("includeHeaders" -> "true").schema == withHeaders)
      assert(s.batch("includeHeaders" -> "true").schema == withHeaders)
    }
  }

  test("keys, values, headers, tombstones and timestamps of each cluster are in the rows") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      blue.produce(topic, Seq(Record(0, Some("k"), "v", Map("h" -> "x")), Record(0, None, "w")))
      green.produce(topic, Seq(Record(0, Some("gone"), null)))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val rows = s.batch("includeHeaders" -> "true")
        .selectExpr(
          "cast(key as string)",
          "cast(value as string)",
          "cluster",
          "offset",
          "timestampType",
          "stream",
          "cast(headers[0].value as string)",
          "unix_millis(timestamp)"
        )
        .orderBy("cluster", "offset").collect().toSeq.map(_.mkString("|"))
      val times = Seq(blue, green).flatMap(_.dump(topic)).map(_.timestamp)
      assert(rows == Seq(
        s"k|v|blue|0|0|orders|x|${times(0)}",
        s"null|w|blue|1|0|orders|null|${times(1)}",
        s"gone|null|green|0|0|orders|null|${times(2)}"
      ))
    }
  }

  test("spark.read: from earliest to latest of one answer, ends in the metadata, resolved for each read") {
    onBoth(values("v", 10)) { (s, topic) =>
      val frame = s.batch().select("cluster", "partition", "offset")
      assert(frame.count() == 20)
      assert(s.service.callCount == 1, "one answer, no polling")
      produce(blue, topic, 2, values("more", 4))
      assert(s.batch().count() == 24)
      s.orders(
        Entry("blue", blue, topic),
        Entry("green", green, topic).stoppingAt(s"""{"$topic": {"0": 2, "1": 0}}""")
      )
      assert(s.batch().groupBy("cluster").count().collect().map(r => r.getString(0) -> r.getLong(1)).toMap ==
        Map("blue" -> 14L, "green" -> 2L))
      val some = Seq(
        "startingOffsets" -> s"""{"blue": {"$topic": {"0": 4, "1": -1}}, "green": {"$topic": {"0": 1, "1": 5}}}""",
        "endingOffsets" -> s"""{"blue": {"$topic": {"0": 6, "1": -1}}, "green": {"$topic": {"0": 2, "1": -1}}}"""
      )
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      assert(s.batch(some: _*).select(
        "cluster",
        "partition",
        "offset"
      ).collect().map(_.mkString("|")).toSet ==
        Set("blue|0|4", "blue|0|5", "green|0|1"))
    }
  }

  test("spark.read of a topic that does not exist: the error names cluster, topic and stream") {
    scene { s =>
      s.orders(Entry("blue", blue, "not-there"))
      val e = refused(s.batch().count())
      assert(condition(e) == "TOPIC_NOT_FOUND")
      assert(Seq("blue", "not-there", "orders").forall(text(e).contains))
      assert(s.batch("failOnDataLoss" -> "false").count() == 0)
    }
  }

  test("the default trigger and ProcessingTime keep reading") {
    for (trigger <- Seq(None, Some(Trigger.ProcessingTime("200 milliseconds"))))
      onBoth(values("v", 4)) { (s, topic) =>
        val query = trigger.fold(s.start())(s.start(_))
        settle(query)
        produce(green, topic, 2, values("more", 4))
        settle(query)
        assertSame(s.seen, storedOnBoth(topic))
        assert(query.isActive)
      }
  }

  test("AvailableNow: the topology and the end offsets of its start, with the usual limits") {
    onBoth(values("v", 10)) { (s, topic) =>
      val late = newTopicOn(1, green)
      produce(green, late, 1, values("late", 3))
      @volatile var first = true
      val frame = s.frame("maxOffsetsPerTrigger" -> "4")
      val query = frame.writeStream.foreachBatch { (rows: org.apache.spark.sql.DataFrame, _: Long) =>
        val n = rows.count()
        if (first && n > 0) {
          first = false
          produce(blue, topic, 2, values("more", 6))
          s.change(Entry("blue", blue, topic), Entry("green", green, topic, late))
        }
      }.option("checkpointLocation", s.checkpoint.toString).trigger(Trigger.AvailableNow()).start()
      assert(query.awaitTermination(300000))
      val sizes = query.recentProgress.map(_.numInputRows).filter(_ > 0).toSeq
      assert(
        sizes == Seq.fill(5)(4L),
        "the 20 records of the start, 4 at a time, and no later ones"
      )
      s.catchUp("maxOffsetsPerTrigger" -> "5")
      assert(s.seen.map(_.value).sorted == (values("late", 3) ++ values("more", 6)).sorted)
      assert(s.sizes.max <= 5)
    }
  }

  test("AvailableNow ends at once if there is nothing new, and ends under load") {
    onBoth(values("v", 3)) { (s, topic) =>
      s.catchUp()
      val before = s.loggedText
      s.catchUp()
      assert(s.loggedText == before)
      @volatile var on = true
      val load = new Thread(() => while (on) produce(blue, topic, 2, values("load", 2)))
      load.start()
      try s.catchUp("maxOffsetsPerTrigger" -> "20")
      finally {
        on = false
        load.join()
      }
      s.catchUp()
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("Once reads all available records in one batch, whatever the limits") {
    onBoth(values("v", 10)) { (s, topic) =>
      @nowarn("cat=deprecation") val once = Trigger.Once()
      val query = s.start(once, "maxOffsetsPerTrigger" -> "3", "cluster.blue.maxOffsetsPerTrigger" -> "2")
      assert(query.awaitTermination(300000))
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.sizes.filter(_ > 0) == Seq(20))
    }
  }

  test("maxOffsetsPerTrigger applies to all clusters together, is shared by lag, and no partition starves") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("b", 36))
      produce(green, topic, 2, values("g", 4))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp("maxOffsetsPerTrigger" -> "10")
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.sizes.filter(_ > 0) == Seq(10, 10, 10, 10))
      val first = s.batch(0)
      assert(
        first.groupBy(r => (r.cluster, r.partition)).keySet.size == 4,
        "each partition with lag gets a record"
      )
      assert(first.count(_.cluster == "blue") >= 7, "more lag gets more records")
    }
  }

  test("a budget smaller than the number of partitions rotates over them") {
    onBoth(values("v", 6)) { (s, topic) =>
      s.catchUp("maxOffsetsPerTrigger" -> "1")
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.sizes.forall(_ <= 1))
      val order = s.seen.take(8).map(r => (r.cluster, r.partition))
      assert(order.toSet.size == 4, "each partition gets its turn")
    }
  }

  test("cluster.<id>.maxOffsetsPerTrigger limits that cluster only") {
    onBoth(values("v", 8)) { (s, topic) =>
      s.catchUp("cluster.blue.maxOffsetsPerTrigger" -> "2")
      assertSame(s.seen, storedOnBoth(topic))
      assert(s.batch(0).count(_.cluster == "green") == 8)
      (0 until 4).foreach(b => assert(s.batch(b.toLong).count(_.cluster == "blue") == 2))
    }
  }

  test("a self-join and an aggregation work as with any source") {
    onBoth(values("v", 5)) { (s, _) =>
      val counts = s.frame().groupBy(col("cluster"), col("stream")).agg(count("*").as("n"))
      val query = counts.writeStream.format("memory").queryName("counts").outputMode("complete")
        .trigger(Trigger.AvailableNow()).start()
      assert(query.awaitTermination(300000))
      assert(spark.table("counts").collect().map(_.mkString("|")).toSet ==
        Set("blue|orders|5", "green|orders|5"))
    }
  }
}

package io.github.dynamickafka.source.report

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, window}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Logs, Queries, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** Lag and drift in time of two clusters, and the warning about a watermark that passes one of them. */
class EventTimeMetricsSuite extends Queries {

  /** Writes records that are a second apart, and returns their times. */
  private def produceSeconds(cluster: KafkaCluster, topic: String, count: Int, first: Long): Seq[Long] = {
    val times = (0 until count).map(first + _ * 1000L)
    cluster.produce(topic, times.map(time => Record(0, None, "v", timestamp = Some(time))))
    times
  }

  /** The lag and the drift of a cluster in each progress of a run that reads everything. */
  private def progress(s: Query, id: String, options: (String, String)*): Seq[(Long, Long)] = {
    val query = s.start(Trigger.AvailableNow(), options: _*)
    assert(query.awaitTermination(300000))
    query.recentProgress.toSeq.filter(_.numInputRows > 0).map(_.sources.head.metrics.asScala).map(m =>
      (m(s"eventTimeLagMs.$id").toLong, m(s"eventTimeDriftMs.$id").toLong)
    )
  }

  test("with a limit: after each batch, lag and drift are those of the first unread records") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val begun = System.currentTimeMillis()
      val ofBlue = produceSeconds(blue, topic, 40, begun - 600000L)
      val ofGreen = produceSeconds(green, topic, 40, begun - 3600000L)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start(Trigger.AvailableNow(), "maxOffsetsPerTrigger" -> "20")
      assert(query.awaitTermination(300000))
      val took = System.currentTimeMillis() - begun
      val all = query.recentProgress.toSeq.filter(_.numInputRows > 0).map(_.sources.head.metrics.asScala)
      assert(all.size == 4)
      all.zipWithIndex.init.foreach { case (m, i) =>
        val read = 10 * (i + 1)
        def lag(id: String, first: Long) = {
          val shown = m(s"eventTimeLagMs.$id").toLong
          assert(shown >= begun - first && shown <= begun - first + took, s"$id in batch $i: $m")
        }
        lag("blue", ofBlue(read))
        lag("green", ofGreen(read))
        assert(m("eventTimeDriftMs.blue").toLong == ofBlue(read - 1) - ofGreen(read), m)
        assert(m("eventTimeDriftMs.green") == "0", m)
      }
      for (key <- Seq("eventTimeLagMs", "eventTimeDriftMs"); id <- Seq("blue", "green"))
        assert(all.last(s"$key.$id") == "0")
    }
  }

  private val aligned = Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> "10s")

  test("with alignment, no cluster drifts by more than alignmentMaxDrift", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val now = System.currentTimeMillis()
      produceSeconds(blue, topic, 60, now - 600000L)
      produceSeconds(green, topic, 60, now - 630000L)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val all = progress(s, "blue", aligned: _*)
      assert(all.size > 3 && all.last == 0L -> 0L)
      all.foreach { case (_, drift) => assert(drift < 10000L, all) }
    }
  }

  test("without a limit, everything is read: no lag, no drift") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val now = System.currentTimeMillis()
      produceSeconds(blue, topic, 5, now - 600000L)
      produceSeconds(green, topic, 5, now - 3600000L)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      assert(progress(s, "green") == Seq(0L -> 0L))
      produceSeconds(green, topic, 5, now + 1800000L)
      assert(progress(s, "green") == Seq(0L -> 0L), "times in the future")
    }
  }

  test("an idle cluster has no lag, and drifts while the other one has older records to read") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val now = System.currentTimeMillis()
      val ofBlue = produceSeconds(blue, topic, 30, now - 600000L)
      val ofGreen = produceSeconds(green, topic, 1, now - 5000L)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val all = progress(s, "green", "maxOffsetsPerTrigger" -> "11")
      assert(all.size == 3)
      // The first batch has a part of both, by their lags.
      assert(all(1) == 0L -> (ofGreen.head - ofBlue(s.sizes.take(2).sum - 1)))
      assert(all(2) == 0L -> 0L)
    }
  }

  test("records that no task has seen: their cluster is asked how old they are", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue)
      val now = System.currentTimeMillis()
      produceSeconds(blue, topic, 3, now - 5000L)
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      // A late one, before others that are newer than what was read.
      produceSeconds(blue, topic, 1, now - 7200000L)
      produceSeconds(blue, topic, 3, now - 1000L)
      val query = s.start("minOffsetsPerTrigger" -> "100", "maxTriggerDelay" -> "1h")
      // A new run waits from its first batch on.
      eventually(assert(s.seen.size == 7))
      produceSeconds(blue, topic, 1, now - 1800000L)
      eventually {
        val m = s.metrics(query)
        assert(m("pendingRecords") == "1" && m("eventTimeLagMs.blue").toLong >= 1000L, m)
      }
    }
  }

  private def warnings(s: Query, query: DataFrame => DataFrame, options: (String, String)*): Seq[String] =
    Logs.during(classOf[LateClusters]) {
      val frame = query(s.frame(options :+ ("maxOffsetsPerTrigger" -> "40"): _*))
      val started = frame.writeStream.outputMode("update").format("noop")
        .option("checkpointLocation", s.folder.resolve(newTopic("windows")).toString)
        .trigger(Trigger.AvailableNow()).start()
      try assert(started.awaitTermination(300000))
      finally started.stop()
    }

  private def windows(frame: DataFrame): DataFrame =
    frame.withWatermark("timestamp", "10 seconds").groupBy(window(col("timestamp"), "10 seconds")).count()

  test(
    "a watermark that passes a cluster is logged once; not without a watermark, with alignment, nor if clusters are level",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      val level = newTopicOn(1, blue, green)
      val now = System.currentTimeMillis()
      produceSeconds(blue, topic, 40, now - 40000L)
      produceSeconds(green, topic, 160, now - 3600000L)
      Seq(blue, green).foreach(produceSeconds(_, level, 80, now - 600000L))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val found = warnings(s, windows)
      assert(found.size == 1, found)
      assert(found.head.startsWith("Kafka cluster 'green' lags behind the watermark of the query"), found)
      assert(warnings(s, _.groupBy("cluster").count()).isEmpty)
      assert(warnings(s, windows, aligned: _*).isEmpty)
      s.orders(Entry("blue", blue, level), Entry("green", green, level))
      assert(warnings(s, windows).isEmpty)
    }
  }
}

package io.github.dynamickafka.source.trigger

import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.functions.{col, count, max, window}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Scene, SourceTest}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/**
 * One watermark over clusters of different lag: the figures of docs/event-time.md. A query starts after an outage with one
 * record per second to read, of the last 10 minutes on blue and of the last hour on green.
 */
class EventTimeSuite extends SourceTest {

  private val BlueS = 600
  private val GreenS = 3600
  private val DelayS = 10
  private val PerBatch = "maxOffsetsPerTrigger" -> "600"
  // A fixed end, at the border of a window.
  private val EndMs = 1767225600000L

  private def produceUntilEnd(cluster: KafkaCluster, topic: String, seconds: Int): Unit = {
    val records = (1 to seconds).map { s =>
      Record(0, None, s.toString, timestamp = Some(EndMs - (seconds - s) * 1000L))
    }
    val _ = cluster.produce(topic, records)
  }

  private def withLag(body: (Scene, String) => Unit): Unit = scene { s =>
    val topic = newTopicOn(1, blue, green)
    produceUntilEnd(blue, topic, BlueS)
    produceUntilEnd(green, topic, GreenS)
    body(s, topic)
  }

  /** The rows of each cluster that a windowed count has counted, and what Spark counts as dropped. */
  private def counted(s: Scene, rows: DataFrame): (Map[String, Long], Long) = {
    val name = newTopic("windows").replace('-', '_')
    val query = rows.groupBy(window(col("timestamp"), "1 minute"), col("cluster")).agg(count("*").as("n"))
      .writeStream.outputMode("update").format("memory").queryName(name)
      .option("checkpointLocation", s.folder.resolve(name).toString)
      .trigger(Trigger.AvailableNow()).start()
    try assert(query.awaitTermination(300000))
    finally query.stop()
    val last = spark.table(name).groupBy("window", "cluster").agg(max("n").as("n"))
    val byCluster =
      last.groupBy("cluster").sum("n").collect().map(r => r.getString(0) -> r.getLong(1)).toMap
    val dropped = query.recentProgress.flatMap(_.stateOperators).map(_.numRowsDroppedByWatermark).sum
    (byCluster, dropped)
  }

  private def watermarked(frame: DataFrame): DataFrame = frame.withWatermark("timestamp", s"$DelayS seconds")

  test("one watermark over both clusters drops most of the cluster that lags more", TestAll) {
    withLag { (s, topic) =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val (rows, dropped) = counted(s, watermarked(s.frame(PerBatch)))
      val lost = GreenS - rows.getOrElse("green", 0L)
      info(
        s"blue ${rows("blue")} of $BlueS, green ${rows.getOrElse("green", 0L)} of $GreenS; Spark counts $dropped"
      )
      assert(rows("blue") == BlueS)
      assert(lost > GreenS / 2)
      // Spark counts rows after they have been aggregated within a task.
      assert(dropped > 0 && dropped < lost)
    }
  }

  test("a watermark for each cluster drops nothing", TestAll) {
    withLag { (s, topic) =>
      s.service.streams =
        Map("fast" -> Seq(Entry("blue", blue, topic)), "slow" -> Seq(Entry("green", green, topic)))
      val frames = Seq("fast", "slow").map(stream => watermarked(s.frame("streamIds" -> stream, PerBatch)))
      val (rows, dropped) = counted(s, frames.reduce(_.union(_)))
      assert(rows == Map("blue" -> BlueS.toLong, "green" -> GreenS.toLong))
      assert(dropped == 0)
    }
  }
}

package io.github.dynamickafka.source.trigger

import io.github.dynamickafka.source.{Entry, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/**
 * One watermark over clusters of different lag: the figures of docs/event-time.md. A query starts after an outage with one
 * record per second to read, of the last 10 minutes on blue and of the last hour on green.
 */
class EventTimeSuite extends EventTimeTest {

  private val BlueS = 600
  private val GreenS = 3600
  private val PerBatch = "maxOffsetsPerTrigger" -> "600"
  // A fixed end, at the border of a window.
  private val EndMs = 1767225600000L

  private def produceUntilEnd(cluster: KafkaCluster, topic: String, seconds: Int): Unit = {
    val records = (1 to seconds).map { s =>
      Record(0, None, s.toString, timestamp = Some(EndMs - (seconds - s) * 1000L))
    }
    val _ = cluster.produce(topic, records)
  }

  private def withLag(body: (Query, String) => Unit): Unit = scene { s =>
    val topic = newTopicOn(1, blue, green)
    produceUntilEnd(blue, topic, BlueS)
    produceUntilEnd(green, topic, GreenS)
    body(s, topic)
  }

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

  test("aligned clusters lose nothing with one watermark", TestAll) {
    withLag { (s, topic) =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val (rows, dropped) = counted(s, watermarked(s.frame(aligned(s"${DelayS}s") :+ PerBatch: _*)))
      assert(rows == Map("blue" -> BlueS.toLong, "green" -> GreenS.toLong))
      assert(dropped == 0)
    }
  }
}

package io.github.dynamickafka.source.realtime

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.DynamicKafka
import io.github.dynamickafka.page.GaugeSet
import io.github.dynamickafka.source.Entry
import io.github.dynamickafka.source.report.SparkUi
import io.github.dynamickafka.testkit.Record

class RealTimeLatencySuite extends RealTimeTest {

  test("the latency of each cluster is shown while the batch runs, and in the progress when it has ended") {
    realTime { (s, rows) =>
      val topic = newTopicOn(1, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = rows.start(s.frame())
      val hourAgo = System.currentTimeMillis() - 3600000L
      val _ = green.produce(topic, (0 until 3).map(i => Record(0, None, s"g$i", timestamp = Some(hourAgo))))
      waitFor("green")(rows.seen.size == 3)
      def shown = gauges("latencyMs.p99")
      // No further record has to arrive.
      waitFor("the gauge of green")(shown.exists(_ >= 3600000L))
      assert(query.lastProgress == null, "the batch runs")
      val exported = new SparkUi(spark).exported().keySet
      assert(onDashboard.size == 2)
      onDashboard.foreach(name =>
        assert(exported.exists(_.matches(name)), s"$name is not exported: $exported")
      )
      produce(blue, topic, 1, values("b", 0, 1))
      waitFor("blue")(rows.seen.size == 4)
      DynamicKafka.stop(query)
      val metrics = query.lastProgress.sources.head.metrics.asScala
      assert(metrics("latencyMs.green.p50").toLong >= 3600000L)
      assert(metrics("latencyMs.green.p99").toLong >= metrics("latencyMs.green.p50").toLong)
      assert(metrics("latencyMs.blue.p50").toLong < 3600000L)
    }
  }

  /** The names of the latencies in the queries of the dashboard, for any query of Spark. */
  private def onDashboard: Seq[String] = {
    val file = Path.of(System.getProperty("dynamickafka.root"), "docs", "grafana", "dynamic-kafka.json")
    val query = Seq("$", "{query}").mkString
    """__name__=~\\"([^"]+latencyMs[^"]+)\\"""".r.findAllMatchIn(Files.readString(file))
      .map(_.group(1).replace(query, ".*")).toSeq
  }

  /** The values of all gauges of this name. */
  private def gauges(name: String): Seq[Long] =
    GaugeSet.registry().toSeq.flatMap(_.getGauges.asScala).collect {
      case (full, gauge) if full.endsWith(name) => gauge.getValue.toString.toLong
    }
}

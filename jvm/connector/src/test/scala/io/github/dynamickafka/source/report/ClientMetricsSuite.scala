package io.github.dynamickafka.source.report

import scala.jdk.CollectionConverters._

import org.apache.spark.metrics.source.DynamicKafkaGauges

import io.github.dynamickafka.page.ClientMetricsReporter
import io.github.dynamickafka.source.{Entry, Queries}

/** Metrics of Kafka's clients as gauges. Driver and executor are one process here. */
class ClientMetricsSuite extends Queries {

  private def gauges: Map[String, Long] =
    DynamicKafkaGauges.running().get.getGauges.asScala.map { case (name, gauge) =>
      name -> gauge.getValue.asInstanceOf[Number].longValue
    }.toMap

  private def of(query: String): Map[String, Long] =
    gauges.collect {
      case (name, value) if name.startsWith(s"$query.") => name.stripPrefix(s"$query.") -> value
    }

  test("a query that reads: by cluster, as Kafka counts") {
    val topic = newTopicOn(2, blue, green)
    produce(blue, topic, 2, (0 until 10).map(i => s"v$i"))
    produce(green, topic, 2, (0 until 4).map(i => s"v$i"))
    scene { s =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.frame("clientMetrics" -> "true").writeStream.format("noop").queryName("metered")
        .option("checkpointLocation", s.folder.resolve("metered").toString).start()
      try {
        settle(query)
        val found = of("metered.0")
        assert(found("cluster.blue.consumer.records-consumed-total") == 10, found)
        assert(found("cluster.green.consumer.records-consumed-total") == 4, found)
        for (name <- Seq("bytes-consumed-total", "fetch-total", "connection-count"))
          assert(found(s"cluster.blue.consumer.$name") > 0, name)
        for (name <- Seq("records-lag-max", "fetch-latency-avg"))
          assert(found.contains(s"cluster.blue.consumer.$name"), name)
        assert(found("cluster.blue.admin.request-total") > 0)
      } finally query.stop()
    }
  }

  test("a query that writes, and one without the option") {
    val topic = newTopicOn(2, blue)
    val from = newTopicOn(1, green)
    produce(green, from, 1, Seq("a", "b", "c"))
    scene { s =>
      s.orders(Entry("green", green, from))
      target { t =>
        t.out(Entry("blue", blue, topic))
        val rows = s.frame().selectExpr("value")
        val query = rows.writeStream.format("dynamic-kafka").queryName("measured")
          .options(t.options("clientMetrics" -> "true"))
          .option("checkpointLocation", t.checkpoint.toString).start()
        try {
          settle(query)
          val found = of("measured.sink")
          assert(found("cluster.blue.producer.record-send-total") == 3, found)
          assert(found("cluster.blue.producer.record-error-total") == 0, found)
          assert(!of("measured.0").keys.exists(_.contains("consumer.")))
        } finally query.stop()
      }
    }
  }

  test("the reporter is added to those that are set") {
    val added = ClientMetricsReporter.in(Map("metric.reporters" -> "a.B, c.D"), "q.0", "blue")
    assert(added("metric.reporters") == s"a.B,c.D,${classOf[ClientMetricsReporter].getName}")
  }
}

package io.github.dynamickafka.sink

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.DataFrame

import io.github.dynamickafka.source.report.SparkUi
import io.github.dynamickafka.source.{Entry, Queries, Target}

/** The output of Spark's Prometheus servlet, while a query writes with `exactly-once`. */
class ExportedSinkGaugesSuite extends Queries {

  private lazy val ui = new SparkUi(spark)
  private val ofCluster = Set(
    "recordsWritten",
    "bytesWritten",
    "openTransactions",
    "pendingTransactions",
    "transactionAgeMs",
    "transactionTimeoutMs"
  )
  private val ofQuery = Set(
    "kafkaClustersCount",
    "leftOutClusters",
    "recordsWritten",
    "bytesWritten",
    "openTransactions",
    "pendingTransactions",
    "committedTransactions",
    "transactionAgePercent",
    "metadataAgeMs",
    "metadataFailures"
  ).map(gauge => s"total_$gauge")

  /** The gauges of the query by the connector's names. */
  private def gauges(query: String): Map[String, Double] = {
    val own = s"metrics_.*_driver_dynamicKafka_${query}_sink_(.*)_Number".r
    ui.exported().collect { case (own(gauge), value) => gauge -> value }
  }

  test(
    "what a query has written, and its transactions at each step of a batch, are exported and on the dashboard"
  ) {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(2, blue), newTopicOn(2, blue, green))
        produce(blue, from, 2, (0 to 9).map(_.toString))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        check(t, s.frame().select("key", "value"))
      }
    }
  }

  private def check(t: Target, frame: DataFrame): Unit = {
    var seen = Map.empty[String, Map[String, Double]]
    val options =
      Seq("queryName" -> "written", "deliveryGuarantee" -> "exactly-once", "clusterRouting" -> "all")
    val query = probed((step, _) => seen += step.name -> gauges("written")) {
      val started = t.start(frame, options: _*)
      settle(started)
      started
    }
    val now = gauges("written")
    assert(now.keySet == ofQuery ++ Seq("blue", "green").flatMap(id =>
      ofCluster.map(g => s"cluster_${id}_$g")
    ))
    def of(step: String, gauge: String) =
      Seq("cluster_blue", "cluster_green").map(c => seen(step)(s"${c}_$gauge"))
    assert(of("before-decision", "openTransactions").forall(_ >= 1.0))
    assert(of("before-decision", "pendingTransactions") == Seq(0.0, 0.0))
    assert(of("before-decision", "transactionTimeoutMs").forall(_ > 0.0))
    assert(of("decided", "pendingTransactions") == of("before-decision", "openTransactions"))
    assert(of("decided", "openTransactions") == Seq(0.0, 0.0) && of("decided", "recordsWritten") == Seq(
      0.0,
      0.0
    ))
    assert(of("decided", "transactionAgeMs").forall(_ < 600000.0))
    assert(now("total_recordsWritten") == 20.0 && now("cluster_blue_recordsWritten") == 10.0)
    // One byte of a key and one of a value.
    assert(now("cluster_green_bytesWritten") == 20.0)
    assert(now("total_committedTransactions") == seen("decided")("total_pendingTransactions"))
    assert(now("total_pendingTransactions") == 0.0 && now("total_openTransactions") == 0.0)

    val exported =
      ui.exported().keySet.filter(name => name.contains("_written_sink_") && name.endsWith("_Number"))
    def document(name: String) =
      Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs", "grafana", name))
    def named(text: String) = """__name__=~"([^"]+)"""".r.findAllMatchIn(text).map(_.group(1)).toSeq
    val asked =
      new ObjectMapper().readTree(document("dynamic-kafka-sink.json")).findValues("expr").asScala.toSeq
        .flatMap(e => named(e.asText)).map(_.replace(Seq("$", "{query}").mkString, "written"))
    val alerts = named(document("dynamic-kafka-sink-alerts.yaml"))
    assert(alerts.size >= 4)
    alerts.foreach(name => assert(exported.exists(_.matches(name)), s"$name is not exported: $exported"))
    assert(asked.size >= 15)
    asked.foreach(name => assert(exported.exists(_.matches(name)), s"$name is not exported: $exported"))
    assert(exported.filterNot(name => asked.exists(name.matches)).isEmpty)

    query.stop()
    eventually(assert(gauges("written").isEmpty))
  }
}

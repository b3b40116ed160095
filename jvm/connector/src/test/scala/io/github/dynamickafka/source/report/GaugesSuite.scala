package io.github.dynamickafka.source.report

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.page.{GaugeNames, QueryName}
import io.github.dynamickafka.source.{Entry, Logs, Queries, Query, StartOffset}

/** The output of Spark's Prometheus servlet, over HTTP. */
class GaugesSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  private lazy val ui = new SparkUi(spark)
  private val ofCluster =
    Set(
      "pendingRecords",
      "recordsRead",
      "answerAgeMs",
      "state",
      "unreachable",
      "eventTimeLagMs",
      "eventTimeDriftMs",
      "commitsSucceeded",
      "commitsFailed"
    )
  private val ofQuery = Set(
    "kafkaClustersCount",
    "pendingRecords",
    "unreachableClusters",
    "drainingClusters",
    "retainedClusters",
    "lostRecords",
    "deferredRecords",
    "decodeErrors",
    "droppedRecords",
    "deadLetterRecords",
    "metadataAgeMs",
    "metadataFailures",
    "commitsSucceeded",
    "commitsFailed"
  ).map(gauge => s"total_$gauge")

  private def start(s: Query, name: String, options: (String, String)*): StreamingQuery =
    start(s, name, Continuous, options: _*)

  private def start(s: Query, name: String, trigger: Trigger, options: (String, String)*): StreamingQuery =
    s.frame(options: _*).writeStream.format("noop").queryName(name).trigger(trigger)
      .option("checkpointLocation", s.checkpoint.toString).start()

  /** The gauges of a query by the connector's names: `Number` and `Value` are suffixes of the servlet. */
  private def gauges(query: String): Map[String, Double] = {
    val own = s"metrics_.*_driver_dynamicKafka_${query}_0_(.*)_Number".r
    ui.exported().collect { case (own(gauge), value) => gauge -> value }
  }

  test("gauges of each query and cluster, until it is removed") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("b", 12))
      produce(green, topic, 2, values("g", 4))
      val secret = "pw-unused"
      def on(id: String, at: io.github.dynamickafka.testkit.KafkaCluster) =
        Entry(id, at, topic).and("ssl.truststore.password", secret)
      s.orders(on("blue", blue), on("eu.green-1", green))
      val query = start(s, "orders", "commitOffsets" -> "true", "commitGroupId" -> s"group-$topic")
      settle(query)
      eventually {
        val found = gauges("orders")
        assert(found.keySet ==
          ofQuery ++ Seq("blue", "eu_green_1").flatMap(id => ofCluster.map(g => s"cluster_${id}_$g")))
        assert(found("cluster_blue_recordsRead") == 12.0 && found("cluster_eu_green_1_recordsRead") == 4.0)
        assert(found("cluster_blue_commitsSucceeded") >= 1.0 && found("total_commitsSucceeded") >= 2.0)
        assert(found("total_kafkaClustersCount") == 2.0)
        Seq(
          "total_pendingRecords",
          "cluster_blue_pendingRecords",
          "cluster_blue_state",
          "total_metadataFailures",
          "total_commitsFailed"
        ).foreach(zero => assert(found(zero) == 0.0, zero))
        assert(found("cluster_blue_answerAgeMs") < 60000.0 && found("total_metadataAgeMs") < 60000.0)
      }
      assert(!ui.get("/metrics/prometheus").contains(secret))

      // A cluster that has drained is still in the metadata, and gets no more requests.
      s.change(on("blue", blue), on("eu.green-1", green).draining)
      eventually {
        val found = gauges("orders")
        assert(
          found.keySet == ofQuery ++ ofCluster.map(g => s"cluster_blue_$g") + "cluster_eu_green_1_state"
        )
        assert(found("cluster_eu_green_1_state") == 2.0)
        assert(found("total_kafkaClustersCount") == 2.0 && found("total_retainedClusters") == 1.0)
      }

      s.change(on("blue", blue))
      settle(query)
      eventually {
        val found = gauges("orders")
        assert(found.keySet == ofQuery ++ ofCluster.map(g => s"cluster_blue_$g"))
        assert(found("total_kafkaClustersCount") == 1.0 && found("total_retainedClusters") == 1.0)
      }

      query.stop()
      assert(gauges("orders").isEmpty)
    }
  }

  test("lag, drain and outage are reported while they last; queries do not share gauges") {
    scene { s =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      val options = Seq(
        "maxOffsetsPerTrigger" -> "1",
        "clusterFailurePolicy" -> "skip",
        "clusterRequestTimeoutMs" -> "5000"
      )
      val query = start(s, "one", options: _*)
      settle(query)
      scene { t =>
        t.orders(Entry("blue", blue, topic))
        // Its name has the other query's name as a prefix.
        val other = start(t, "one_more")
        settle(other)
        assert(gauges("one_more")("total_kafkaClustersCount") == 1.0)
        other.stop()
        assert(gauges("one_more").isEmpty && gauges("one").nonEmpty)
      }
      produce(blue, topic, 1, values("b", 200))
      s.orders(Entry("blue", blue, topic).draining, Entry("red", red, topic))
      eventually {
        val found = gauges("one")
        assert(found("cluster_blue_state") == 1.0 && found("total_drainingClusters") == 1.0)
        assert(found("cluster_blue_pendingRecords") > 0.0 && found("total_pendingRecords") > 0.0)
      }
      red.kill()
      try eventually {
          produce(blue, topic, 1, values("tick", 1))
          val found = gauges("one")
          assert(found("cluster_red_unreachable") == 1.0 && found("cluster_red_state") == 0.0)
          assert(found("total_unreachableClusters") == 1.0)
        }
      finally red.restart()
      eventually {
        assert(gauges("one")("cluster_red_unreachable") == 0.0)
      }
    }
  }

  test(
    "every query of the dashboard and of the alerts matches an exported gauge, and every gauge is on the dashboard"
  ) {
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("blue", blue, topic))
      val query = start(s, "shown")
      settle(query)
      eventually(assert(gauges("shown").nonEmpty))
      val exported = ui.exported().keySet.filter(_.contains("_shown_"))
      val expressions = texts(new ObjectMapper().readTree(document("dynamic-kafka.json")))
      assert(expressions.size >= 10)
      def named(text: String) =
        """__name__=~"([^"]+)"""".r.findAllMatchIn(text).map(_.group(1).replace(Variable, "shown")).toSeq
      val asked = expressions.flatMap { expression =>
        val names = named(expression)
        assert(names.nonEmpty, s"$expression has no gauge name")
        names
        // Real-time mode has them: RealTimeLatencySuite.
      }.filterNot(_.contains("latencyMs"))
      val alerts = named(document("dynamic-kafka-alerts.yaml"))
      assert(alerts.size >= 5)
      alerts.foreach(name => assert(exported.exists(_.matches(name)), s"$name is not exported: $exported"))
      asked.foreach(name => assert(exported.exists(_.matches(name)), s"$name is not exported: $exported"))
      val unseen = exported.filter(_.endsWith("_Number")).filterNot(name => asked.exists(name.matches))
      assert(unseen.isEmpty)
    }
  }

  private def document(name: String): String =
    Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs", "grafana", name))

  /** The dashboard's variable with the name of the query. */
  private val Variable = Seq("$", "{query}").mkString

  private def texts(dashboard: JsonNode): Seq[String] =
    dashboard.findValues("expr").asScala.toSeq.map(_.asText)

  test("the SQL UI shows the task metrics: losses after which a query continued") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("a", 6))
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      s.uncommit()
      blue.deleteRecords(topic, 0, 4)
      // Spark shows no scans of the batches of `foreachBatch`.
      val query = start(s, "losing", Trigger.AvailableNow(), "failOnDataLoss" -> "false")
      assert(query.awaitTermination(600000))
      assert(query.recentProgress.map(_.numInputRows).sum == 2)
      eventually {
        val id = spark.sparkContext.applicationId
        val runs =
          new ObjectMapper().readTree(ui.get(s"/api/v1/applications/$id/sql?details=true&length=100000"))
        val ofQuery =
          runs.elements.asScala.filter(_.get("description").asText.contains(query.runId.toString)).toSeq
        val metrics = ofQuery.flatMap(_.findValues("metrics").asScala).flatMap(_.elements.asScala)
          .map(m => m.get("name").asText -> m.get("value").asText).toSet
        assert(
          Set("number of data loss error" -> "1", "estimated number of fetched offsets out of range" -> "1")
            .subsetOf(metrics),
          metrics
        )
      }
    }
  }

  test("gauges and logs name a query without a name by its streams") {
    scene { s =>
      s.orders(Entry("blue", blue, newTopicOn(1, blue)))
      val lines = Logs.during(classOf[StartOffset]) {
        val query = s.start()
        settle(query)
        val name = s"orders_${query.id.toString.take(8)}"
        eventually(assert(gauges(name).contains("total_pendingRecords")))
        query.stop()
      }
      assert(lines.exists(_.startsWith("Query 'orders' starts at {")), lines)
    }
  }

  test("names of gauges consist of letters, digits and underscores, and are unique") {
    val id = "0b0c7a52-6a0f-4a43-9a33-6f5a3f6a1f11"
    def thread(name: String) = s"stream execution thread for $name[id = $id, runId = $id]"
    def source(thread: String, number: String) = QueryName.of(thread, "eu.orders+payments", number)
    assert(source(thread("my orders! "), "0") == QueryName("my orders!", "0", "my_orders_.0"))
    val unnamed = source(thread(""), "1")
    assert(unnamed == QueryName("eu.orders+payments", "1", "eu_orders_payments_0b0c7a52.1"))
    assert(source("main", "").gauges == "eu_orders_payments._")
    val all = Subscription.Ids(Seq("a", "b", "c", "d", "e"))
    assert(all.name == "a+b+c+2 others" && all.copy(all.ids.take(3)).name == "a+b+c")
    assert(GaugeNames.clusters(Set("eu-west", "b")) == Map("eu-west" -> "eu_west", "b" -> "b"))
    val alike = GaugeNames.clusters(Set("a-b", "a_b", "a.b", "c"))
    assert(alike.values.toSet.size == 4 && alike("c") == "c")
    assert(alike.values.forall(_.matches("[A-Za-z0-9_]+")))
  }
}

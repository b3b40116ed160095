package io.github.dynamickafka.source.report

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.TestAll

/** The metrics of a query, and options that are refused before it starts. */
class MetricsSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  private val documented = Set(
    "minOffsetsBehindLatest",
    "maxOffsetsBehindLatest",
    "avgOffsetsBehindLatest",
    "kafkaClustersCount",
    "pendingHistoryFiles",
    "pendingRecords",
    "retainedClusters",
    "drainingClusters",
    "unreachableClusters",
    "deadLetterRecords",
    "decodeErrors",
    "deferredRecords",
    "droppedRecords",
    "lostRecords",
    "repeatedRecords",
    "metadataAgeMs",
    "metadataFailures",
    "commitsSucceeded",
    "commitsFailed"
  )

  test("every documented key is in every progress, as of the end of the batch, in total and by cluster") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      produce(blue, topic, 2, values("b", 12))
      produce(green, topic, 2, values("g", 4))
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val query = s.start(Trigger.AvailableNow(), "maxOffsetsPerTrigger" -> "8")
      val ofClusters =
        for {
          key <- Set("pendingRecords", "snapshotAgeMs", "eventTimeLagMs", "eventTimeDriftMs")
          id <- Seq("blue", "green")
        } yield s"$key.$id"
      assert(query.awaitTermination(300000))
      val all = query.recentProgress.toSeq.map(p =>
        scala.jdk.CollectionConverters.MapHasAsScala(p.sources.head.metrics).asScala
      )
      all.foreach(m => assert(m.keySet == documented ++ ofClusters))
      all.foreach(m => assert(m("snapshotAgeMs.blue").toLong >= 0))
      val first = all.head
      assert(first("pendingRecords") == "8", first)
      assert(first("pendingRecords.blue").toLong + first("pendingRecords.green").toLong == 8L)
      assert(first("maxOffsetsBehindLatest").toLong >= first("minOffsetsBehindLatest").toLong)
      assert(first("avgOffsetsBehindLatest").toDouble == 2.0)
      assert(first("kafkaClustersCount") == "2")
      val last = all.last
      Seq("pendingRecords", "maxOffsetsBehindLatest", "pendingRecords.blue").foreach(k =>
        assert(last(k) == "0")
      )
      Seq(
        "unreachableClusters",
        "metadataFailures",
        "retainedClusters",
        "drainingClusters",
        "deferredRecords",
        "lostRecords"
      ).foreach(k =>
        assert(last(k) == "0")
      )
      assert(query.lastProgress.sources.head.description == "DynamicKafka[streams: orders]")
      // Commits are not enabled.
      assert(last("commitsSucceeded") == "0" && last("commitsFailed") == "0")
      assert(last("metadataAgeMs").toLong >= 0 && last("metadataAgeMs").toLong < 60000)
    }
  }

  test("clusters are counted when added, draining and removed; a removed cluster has no key of its own") {
    scene { s =>
      val topic = newTopicOn(1, blue, green)
      s.orders(Entry("blue", blue, topic))
      val query = s.start("maxOffsetsPerTrigger" -> "1")
      settle(query)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      eventually(assert(s.metrics(query)("kafkaClustersCount") == "2"))
      produce(blue, topic, 1, values("b", 20))
      s.orders(Entry("blue", blue, topic).draining, Entry("green", green, topic))
      eventually(assert(s.metrics(query)("drainingClusters") == "1"))
      s.orders(Entry("green", green, topic))
      eventually(assert(s.metrics(query)("retainedClusters") == "1"))
      produce(green, topic, 1, values("g", 1))
      settle(query)
      eventually(assert(s.metrics(query)("drainingClusters") == "0"))
      eventually(assert(s.metrics(query)("kafkaClustersCount") == "1"))
      assert(
        !s.metrics(query).contains("pendingRecords.blue") && s.metrics(query).contains("pendingRecords.green")
      )
    }
  }

  test("failures of metadata and clusters are counted while they last, commits since the start", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, blue, red)
      s.orders(Entry("blue", blue, topic), Entry("red", red, topic))
      val query = s.start(
        "clusterFailurePolicy" -> "skip",
        "clusterRequestTimeoutMs" -> "5000",
        "streamMetadataDiscoveryFailureThreshold" -> "100000",
        "commitOffsets" -> "true",
        "commitGroupId" -> s"group-$topic"
      )
      settle(query)
      def shows(key: String)(expected: Long => Boolean): Unit = eventually {
        produce(blue, topic, 1, values("tick", 1))
        val all = s.metrics(query)
        assert(documented.subsetOf(all.keySet), all)
        assert(expected(all(key).toLong), all)
      }
      shows("commitsSucceeded")(_ >= 2L)
      s.service.behave = () => throw new IllegalStateException("the service is down")
      shows("metadataFailures")(_ >= 2L)
      val age = s.metrics(query)("metadataAgeMs").toLong
      shows("metadataAgeMs")(_ > age)
      s.service.behave = () => ()
      shows("metadataFailures")(_ == 0L)
      red.kill()
      try shows("unreachableClusters")(_ == 1L)
      finally red.restart()
      shows("unreachableClusters")(_ == 0L)
      assert(query.isActive)
    }
  }

  private def atLoad(options: (String, String)*): DynamicKafkaError =
    refused(spark.readStream.format("dynamic-kafka").options(options.toMap).load())

  private val service = Seq("metadataService" -> "static", "metadataService.document" -> "{}")

  test("an unknown option is refused at load with a suggestion, as an IllegalArgumentException") {
    val e = atLoad(service :+ ("streamIds" -> "orders") :+ ("startingOffset" -> "latest"): _*)
    assert(e.isInstanceOf[IllegalArgumentException])
    assert(e.getCondition == "DYNAMIC_KAFKA.UNKNOWN_OPTION")
    assert(e.getMessageParameters.get("option") == "startingOffset")
    assert(text(e).contains("Did you mean 'startingOffsets'?"))
    val batch = refused(
      spark.read.format(
        "dynamic-kafka"
      ).options(service.toMap + ("streamIds" -> "o") + ("failOnDataLos" -> "x")).load()
    )
    assert(condition(batch) == "UNKNOWN_OPTION")
  }

  test("missing, contradictory and invalid options are refused at load, by name") {
    def named(e: DynamicKafkaError, subclass: String, option: String) = {
      assert(condition(e) == subclass)
      assert(e.isInstanceOf[IllegalArgumentException] && text(e).contains(option), text(e))
    }
    named(atLoad(service: _*), "MISSING_OPTION", "streamIds")
    named(atLoad("streamIds" -> "o"), "MISSING_OPTION", "metadataService")
    named(
      atLoad(service ++ Seq("streamIds" -> "o", "streamPattern" -> "o.*"): _*),
      "INVALID_OPTION",
      "streamPattern"
    )
    val orders = service :+ ("streamIds" -> "o")
    for (
      (option, value) <- Seq(
        "startingOffsets" -> "erliest",
        "startingOffsets" -> "{\"blue\": {\"t\": {\"0\": -3}}}",
        "maxOffsetsPerTrigger" -> "-1",
        "clusterFailurePolicy" -> "ignore",
        "removedClusterPolicy" -> "keep",
        "failOnDataLoss" -> "perhaps",
        "streamMetadataDiscoveryIntervalMs" -> "soon",
        "kafka.auto.offset.reset" -> "earliest",
        "kafka.enable.auto.commit" -> "true",
        "subscribe" -> "t"
      )
    ) named(atLoad(orders :+ (option -> value): _*), "INVALID_OPTION", option)
    named(atLoad("metadataService" -> "no.such.Class", "streamIds" -> "o"), "INVALID_OPTION", "no.such.Class")
    named(atLoad(orders :+ ("streamPattern" -> "("): _*), "INVALID_OPTION", "streamPattern")
  }

  test("options are case-insensitive, and Flink's spellings work unchanged") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("a", 3))
      s.orders(Entry("blue", blue, topic))
      s.catchUp(
        "STARTINGOFFSETS" -> "earliest",
        "stream-metadata-discovery-failure-threshold" -> "3",
        "stream-metadata-removed-cluster-retention-ms" -> "1000"
      )
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }
}

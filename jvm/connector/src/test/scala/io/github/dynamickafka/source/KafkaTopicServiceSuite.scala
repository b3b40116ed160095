package io.github.dynamickafka.source

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.{Admin, AlterConfigOp, ConfigEntry}
import org.apache.kafka.common.config.ConfigResource

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.service.{KafkaTopicMetadataService, ServiceArguments}
import io.github.dynamickafka.testkit.{KafkaCluster, Record}

/** A query whose streams are records of a compacted topic. */
class KafkaTopicServiceSuite extends Queries {

  private def metadataTopic(partitions: Int = 1, policy: String = "compact"): String = {
    val name = newTopic("streams")
    red.createTopic(name, partitions, Map("cleanup.policy" -> policy))
    name
  }

  private def record(entries: (String, KafkaCluster, String)*): String = {
    val clusters = entries.map { case (id, cluster, _) =>
      s""""$id": {"properties": {"bootstrap.servers": "${cluster.bootstrapServers}"}}"""
    }
    val used = entries.map { case (id, _, topic) => s""""$id": {"topics": ["$topic"]}""" }
    s"""{"version": 1, "clusters": {${clusters.mkString(",")}},
       |"streams": {"orders": {"clusters": {${used.mkString(",")}}}}}""".stripMargin
  }

  private def put(topic: String, value: String, key: String = "orders"): Unit = {
    val _ = red.produce(topic, Seq(Record(0, Some(key), value)))
  }

  private def frame(topic: String, options: (String, String)*) =
    spark.readStream.format("dynamic-kafka")
      .option("metadataService", "kafka-topic")
      .option("metadataService.bootstrapServers", red.bootstrapServers)
      .option("metadataService.topic", topic)
      .options(Asking)
      .options(Map("streamIds" -> "orders").filterNot(_ => options.exists(_._1 == "streamPattern")))
      .options(options.toMap)

  test(
    "a new record is applied at once, an invalid one is one failure, and records of other streams do not matter"
  ) {
    val data = newTopicOn(1, blue, green)
    produce(blue, data, 1, Seq("b0"))
    produce(green, data, 1, Seq("g0"))
    val streams = metadataTopic()
    put(streams, "nothing", key = "another")
    put(streams, record(("blue", blue, data)))
    val results = new Results(newFolder().resolve("checkpoint"))
    // Polled once an hour: changes are only noticed because they are pushed.
    val query = results.start(frame(streams, "streamMetadataDiscoveryIntervalMs" -> "1h").load(), Continuous)
    try {
      settle(query)
      assertSame(results.seen, stored("blue", blue, data))
      put(streams, "nothing")
      def failures = Option(query.lastProgress).map(_.sources.head.metrics.get("metadataFailures"))
      waitFor("a failure") {
        produce(blue, data, 1, Seq("b"))
        settle(query)
        failures.contains("1")
      }
      val ms = elapsedMs {
        put(streams, record(("blue", blue, data), ("green", green, data)))
        waitFor("the new cluster")(results.seen.exists(_.cluster == "green"))
      }
      info(s"from the record to the first row of the new cluster: $ms ms")
      // A busy machine is slow, but an hour is longer.
      assert(ms < 60000)
      settle(query)
      assertSame(results.seen, storedOnBoth(data))
      assert(failures.contains("0"))
    } finally query.stop()
  }

  test("with a pattern, an invalid record is a failure and no removal, also if streams may be missing") {
    val data = newTopicOn(1, blue)
    produce(blue, data, 1, Seq("b0"))
    val streams = metadataTopic()
    put(streams, record(("blue", blue, data)))
    val results = new Results(newFolder().resolve("checkpoint"))
    val pattern =
      Seq("streamPattern" -> "ord.*", "allowMissingStreams" -> "true", "removalConfirmations" -> "1")
    val query = results.start(
      // However busy the machine is, the failures that are counted meanwhile do not end the query.
      frame(streams, pattern :+ ("streamMetadataDiscoveryFailureThreshold" -> "1000000"): _*)
        .option("streamMetadataDiscoveryIntervalMs", "100").load(),
      Continuous
    )
    try {
      settle(query)
      put(streams, "nothing", key = "another")
      put(streams, "nothing")
      def failures = Option(query.lastProgress).fold(0)(_.sources.head.metrics.get("metadataFailures").toInt)
      waitFor("failures") {
        produce(blue, data, 1, Seq("b"))
        settle(query)
        failures > 1
      }
      settle(query)
      assertSame(results.seen, stored("blue", blue, data))
    } finally query.stop()
  }

  private def setPolicy(topic: String, policy: String): Unit = {
    val change = new AlterConfigOp(new ConfigEntry("cleanup.policy", policy), AlterConfigOp.OpType.SET)
    Using.resource(Admin.create(Map[String, AnyRef]("bootstrap.servers" -> red.bootstrapServers).asJava)) {
      admin =>
        val resource = new ConfigResource(ConfigResource.Type.TOPIC, topic)
        val _ = admin.incrementalAlterConfigs(Map(resource -> List(change).asJavaCollection).asJava).all.get
    }
  }

  test("streams whose records were deleted, or whose topic was made again, are gone as for a new query") {
    val streams = metadataTopic()
    def streamOf(id: String) = record(("blue", blue, "t")).replace("\"orders\"", s"\"$id\"")
    def service = new KafkaTopicMetadataService(ServiceArguments(
      MetadataServiceSpecs.KafkaTopic,
      "bootstrapServers" -> red.bootstrapServers,
      "topic" -> streams
    ))
    def ids(of: KafkaTopicMetadataService) = of.getAllStreams().asScala.map(_.streamId).toSet
    put(streams, streamOf("old"), key = "old")
    put(streams, streamOf("new"), key = "new")
    Using.resource(service) { running =>
      assert(ids(running) == Set("old", "new"))
      setPolicy(streams, "delete")
      waitFor("the policy")(scala.util.Try(red.deleteRecords(streams, 0, 1)).isSuccess)
      setPolicy(streams, "compact")
      waitFor("the remaining stream") {
        scala.util.Try(ids(running)).toOption.contains(Set("new"))
      }
      assert(Using.resource(service)(ids) == Set("new"))
      red.deleteTopic(streams)
      waitFor("the deletion")(!red.topics().contains(streams))
      red.createTopic(streams, 1, Map("cleanup.policy" -> "compact"))
      put(streams, streamOf("other"), key = "other")
      waitFor("the new topic")(scala.util.Try(ids(running)).toOption.contains(Set("other")))
    }
  }

  test("the topic has to be compacted and to have one partition") {
    def reason(topic: String) = {
      val error = refused(new Results(newFolder().resolve("checkpoint")).start(
        frame(
          topic,
          "streamMetadataDiscoveryIntervalMs" -> "50",
          "streamMetadataDiscoveryFailureThreshold" -> "0"
        )
          .load()
      ))
      assert(condition(error) == "METADATA_UNAVAILABLE")
      text(error)
    }
    assert(reason(metadataTopic(partitions = 2)).contains("it has 2 partitions instead of one"))
    assert(reason(metadataTopic(policy = "delete")).contains("'delete' instead of 'compact'"))
    assert(reason("no-such-topic").contains("no-such-topic"))
  }
}

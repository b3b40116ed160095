package io.github.dynamickafka.testkit

import scala.jdk.CollectionConverters._
import scala.util.{Try, Using}

import org.apache.kafka.clients.admin.{Admin, OffsetSpec}
import org.apache.kafka.clients.consumer.OffsetAndMetadata
import org.apache.kafka.clients.producer.{KafkaProducer, ProducerRecord}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.serialization.StringSerializer
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

class KafkaClusterSuite extends AnyFunSuite with TimeLimit with OnBrokers with BeforeAndAfterAll {
  private var clusters: Seq[KafkaCluster] = Nil

  override def afterAll(): Unit = clusters.foreach(_.stop())

  BrokerVersions.all.foreach { version =>
    // Only for the versions whose tests are chosen.
    lazy val cluster = {
      val started = KafkaCluster.start(s"kafka-$version", version)
      clusters :+= started
      started
    }
    val others = if (version == BrokerVersions.default) Nil else Seq(TestAll)

    test(s"$version: topics are created, extended and deleted", others: _*) {
      assert(cluster.version === version)
      cluster.createTopic("grows", partitions = 2, configs = Map("cleanup.policy" -> "compact"))
      assert(cluster.topics() === Set("grows"))
      cluster.addPartitions("grows", 3)
      assert(cluster.endOffsets("grows") === Map(0 -> 0L, 1 -> 0L, 2 -> 0L))
      cluster.deleteTopic("grows")
      assert(cluster.topics() === Set.empty)
    }

    test(s"$version: a topic that is deleted and recreated is empty", others: _*) {
      cluster.createTopic("returns")
      cluster.produce("returns", Seq(Record(0, None, "first life")))
      cluster.deleteTopic("returns")
      cluster.createTopic("returns")
      assert(cluster.produce("returns", Seq(Record(0, None, "second life"))) === Seq(0 -> 0L))
      assert(cluster.dump("returns").map(_.value) === Seq("second life"))
    }

    test(s"$version: records are dumped as they were produced", others: _*) {
      cluster.createTopic("records", partitions = 2)
      val produced = cluster.produce(
        "records",
        Seq(Record(1, Some("k"), "a"), Record(0, None, "b", Map("h" -> "x")), Record(1, Some("k"), null))
      )
      assert(produced === Seq(1 -> 0L, 0 -> 0L, 1 -> 1L))
      assert(
        cluster.dump("records").map(r => (r.partition, r.offset, r.key, r.value, r.headers)) === Seq(
          (0, 0L, None, "b", Map("h" -> "x")),
          (1, 0L, Some("k"), "a", Map.empty),
          (1, 1L, Some("k"), null, Map.empty)
        )
      )
      cluster.deleteRecords("records", partition = 1, beforeOffset = 1)
      assert(cluster.beginningOffsets("records") === Map(0 -> 0L, 1 -> 1L))
      assert(cluster.dump("records").map(_.offset) === Seq(0L, 1L))
    }

    test(s"$version: a dump can omit records that are not committed", others: _*) {
      cluster.createTopic("transactions")
      val properties = Map[String, AnyRef](
        "bootstrap.servers" -> cluster.bootstrapServers,
        "transactional.id" -> "suite"
      )
      Using.resource(new KafkaProducer(properties.asJava, new StringSerializer, new StringSerializer)) { p =>
        p.initTransactions()
        Seq(true, false).foreach { commit =>
          p.beginTransaction()
          p.send(new ProducerRecord("transactions", s"commit: $commit")).get()
          if (commit) p.commitTransaction() else p.abortTransaction()
        }
      }
      assert(cluster.dump("transactions").map(_.value) === Seq("commit: true", "commit: false"))
      assert(cluster.dump("transactions", committedOnly = true).map(_.value) === Seq("commit: true"))
    }

    test(s"$version: committed offsets of a group", TestAll) {
      cluster.createTopic("consumed")
      assert(cluster.committedOffsets("readers") === Map.empty)
      Using.resource(Admin.create(Map[
        String,
        AnyRef
      ]("bootstrap.servers" -> cluster.bootstrapServers).asJava)) {
        _.alterConsumerGroupOffsets(
          "readers",
          Map(new TopicPartition("consumed", 0) -> new OffsetAndMetadata(7)).asJava
        ).all().get()
      }
      assert(cluster.committedOffsets("readers") === Map("consumed" -> Map(0 -> 7L)))
    }

    test(s"$version: a bulk load fills all partitions", TestAll) {
      cluster.createTopic("bulk", partitions = 3)
      cluster.load("bulk", records = 3000, recordBytes = 100)
      assert(cluster.endOffsets("bulk") === Map(0 -> 1000L, 1 -> 1000L, 2 -> 1000L))
    }

    test(s"$version: a killed broker is down, and has its data after a restart", TestAll) {
      cluster.createTopic("killed")
      cluster.produce("killed", Seq(Record(0, None, "before")))
      val address = cluster.bootstrapServers
      cluster.kill()
      assert(!cluster.isAlive)
      assert(intercept[IllegalStateException](cluster.topics()).getMessage === s"${cluster.name} is down")
      cluster.restart()
      assert(cluster.isAlive)
      assert(cluster.bootstrapServers === address)
      assert(cluster.produce("killed", Seq(Record(0, None, "after"))) === Seq(0 -> 1L))
      assert(cluster.dump("killed").map(_.value) === Seq("before", "after"))
    }

    test(s"$version: a frozen broker does not respond until it is thawed", TestAll) {
      cluster.createTopic("frozen")
      cluster.produce("frozen", Seq(Record(0, None, "before")))
      cluster.freeze()
      assert(cluster.isAlive)
      assert(Ports.accepts(cluster.listenerPort))
      assert(Try(ask(cluster, "frozen", timeoutMs = 300)).isFailure)
      assert(intercept[IllegalStateException](cluster.topics()).getMessage === s"${cluster.name} is frozen")
      cluster.thaw()
      assert(ask(cluster, "frozen", timeoutMs = 10000) === 1)
      assert(cluster.dump("frozen").map(_.value) === Seq("before"))
    }

    test(s"$version: a broker moves to a new port with its data", TestAll) {
      cluster.createTopic("moved")
      cluster.produce("moved", Seq(Record(0, None, "before")))
      val (address, port) = (cluster.bootstrapServers, cluster.listenerPort)
      cluster.restartOnNewPort()
      assert(cluster.bootstrapServers !== address)
      assert(!Ports.accepts(port))
      assert(ask(cluster, "moved", timeoutMs = 10000) === 1)
      assert(cluster.dump("moved").map(_.value) === Seq("before"))
    }
  }

  test("a failed start reports the end of the broker's log") {
    val failure = intercept[BrokerFailure] {
      KafkaCluster.start("broken", properties = Map("num.io.threads" -> "none"))
    }
    assert(failure.getMessage.contains("num.io.threads"))
  }

  test("a broker that does not listen reports its threads", TestAll) {
    val cluster = KafkaCluster.start("silent")
    try {
      val text = cluster.nodes.head.silence("did not listen").getMessage
      assert(text.contains("broker silent did not listen"))
      assert(text.contains("data-plane-kafka-request-handler"))
    } finally cluster.stop()
  }

  test("clusters start in parallel, and all are stopped if one fails", TestAll) {
    var lonely: Option[KafkaCluster] = None
    val failure = intercept[IllegalStateException] {
      KafkaClusters.together(
        () => {
          lonely = KafkaClusters.start(1).headOption
          lonely.get
        },
        () => throw new IllegalStateException("no start")
      )
    }
    assert(failure.getMessage === "no start")
    assert(lonely.exists(cluster => cluster.name == "cluster-1" && !cluster.isAlive))
  }

  /** The end offset of partition 0, read by a separate client. */
  private def ask(cluster: KafkaCluster, topic: String, timeoutMs: Int): Long = {
    val properties = Map[String, AnyRef](
      "bootstrap.servers" -> cluster.bootstrapServers,
      "request.timeout.ms" -> timeoutMs.toString,
      "default.api.timeout.ms" -> timeoutMs.toString
    )
    val partition = new TopicPartition(topic, 0)
    Using.resource(Admin.create(properties.asJava)) {
      _.listOffsets(Map(partition -> OffsetSpec.latest()).asJava).partitionResult(partition).get().offset
    }
  }
}

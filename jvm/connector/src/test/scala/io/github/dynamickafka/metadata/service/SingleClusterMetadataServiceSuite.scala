package io.github.dynamickafka.metadata.service

import java.nio.file.Files
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.TimeoutException
import org.scalatest.BeforeAndAfterAll
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.testkit.{KafkaCluster, OnBrokers, TimeLimit}

class SingleClusterMetadataServiceSuite extends AnyFunSuite with TimeLimit with OnBrokers
    with BeforeAndAfterAll {

  private var broker: KafkaCluster = _

  override protected def beforeAll(): Unit = {
    super.beforeAll()
    broker = KafkaCluster.start("blue")
    broker.createTopic("orders")
    broker.createTopic("payments", partitions = 2)
  }

  override protected def afterAll(): Unit =
    try broker.stop()
    finally super.afterAll()

  private def asking[A](properties: (String, String)*)(body: SingleClusterMetadataService => A): A = {
    val service = new SingleClusterMetadataService(ServiceArguments(
      MetadataServiceSpecs.SingleCluster,
      properties.map { case (name, value) => s"properties.$name" -> value } ++
        Seq("clusterId" -> "blue", "bootstrapServers" -> broker.bootstrapServers): _*
    ))
    try body(service)
    finally service.close()
  }

  test("each topic is a stream, except Kafka's internal topics") {
    asking() { service =>
      val streams = service.getAllStreams().asScala.map(s => s.streamId -> s).toMap
      assert(streams.keySet == Set("orders", "payments"))
      val blue = streams("orders").getClusterMetadataMap.get("blue")
      assert(blue.getTopics.asScala == Set("orders"))
      assert(blue.getProperties.asScala == Map("bootstrap.servers" -> broker.bootstrapServers))
      assert(blue.isWrite)
    }
  }

  test("a stream whose topic does not exist is not returned, and the topic is not created") {
    asking() { service =>
      assert(service.describeStreams(ju.List.of("orders", "nothing")).keySet.asScala == Set("orders"))
      assert(broker.topics() == Set("orders", "payments"))
    }
  }

  test("properties and references to files reach the client; the stream keeps the reference") {
    val file = Files.createTempFile("client", ".properties")
    Files.writeString(file, "protocol=PLAINTEXT\n")
    val reference = "$" + s"{file:$file:protocol}"
    try
      asking("security.protocol" -> reference, "default.api.timeout.ms" -> "60000") { service =>
        val orders = service.describeStreams(ju.List.of("orders")).get("orders")
        assert(orders.getClusterMetadataMap.get("blue").getProperties.get("security.protocol") == reference)
      }
    finally Files.delete(file)
    asking("security.protocol" -> "NONSENSE")(service => intercept[KafkaException](service.getAllStreams()))
  }

  test("an unreachable broker is a failure within the client's time limit, until the broker is back") {
    asking("default.api.timeout.ms" -> "10000", "request.timeout.ms" -> "5000") { service =>
      assert(service.getAllStreams().size == 2)
      broker.freeze()
      try intercept[TimeoutException](service.describeStreams(ju.List.of("orders")))
      finally broker.thaw()
      assert(service.describeStreams(ju.List.of("orders")).size == 1)
    }
  }
}

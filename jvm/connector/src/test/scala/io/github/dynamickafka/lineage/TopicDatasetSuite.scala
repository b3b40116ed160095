package io.github.dynamickafka.lineage

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.metadata.TopicDataset
import io.github.dynamickafka.testkit.TimeLimit

class TopicDatasetSuite extends AnyFunSuite with TimeLimit {

  private def namespace(servers: String) = TopicDataset.of(servers, "blue", "orders", None).map(_.namespace)

  test("the namespace is the first address") {
    val dataset = TopicDataset.of("b1:9092,b2:9093", "blue", "orders", Some("s"))
    assert(dataset.exists(d =>
      (d.namespace, d.topic, d.cluster, d.stream) == (("kafka://b1:9092", "orders", "blue", Some("s")))
    ))
    val forms =
      Seq(" b1:9092 ,b2:1", ",b1:9092", "PLAINTEXT://b1:9092", "sasl_ssl://b1:9092,sasl_ssl://b2:9092")
    for (servers <- forms) assert(namespace(servers).contains("kafka://b1:9092"), servers)
    assert(namespace("[2001:db8::1]:9092").contains("kafka://[2001:db8::1]:9092"))
  }

  test("what is no address is not shown") {
    for (servers <- Seq("", "b1", "user:pw@b1:9092", "$" + "{env:SERVERS}", "$" + "{file:/x:y},b1:9092"))
      assert(namespace(servers).isEmpty, servers)
  }
}

package io.github.dynamickafka.source.decoding

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.LongAccumulator
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{Options, SourceOptions}
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.source.ClusterDecoding
import io.github.dynamickafka.source.read.{DecodeCounts, Decoding}
import io.github.dynamickafka.testkit.TimeLimit

/** The formats and registries of clusters, when the driver plans a batch. */
class ClusterDecodingSuite extends AnyFunSuite with TimeLimit {

  /** The registries of the metadata, in a table of a catalog, for which they count. */
  private def decoding(options: (
      String,
      String
  )*)(topologies: Topology*): Map[(String, String), Map[String, String]] = {
    val parsed = SourceOptions.parse(
      new CaseInsensitiveStringMap((Options.minimal ++ options).asJava),
      isCatalogTable = true
    )
    def counter = new LongAccumulator
    val layout = parsed.records.format.layout(None, includeHeaders = false)
    ClusterDecoding.of(
      Decoding(layout, DecodeCounts(counter, counter, counter)),
      parsed,
      topologies
    ).registries
  }

  /** What the metadata says about the registry of each cluster, in the stream `orders`. */
  private def topology(clusters: (String, Map[String, String])*): Topology =
    Topology(SortedMap.from(clusters.map { case (id, registry) =>
      val topics = SortedMap("t" -> TopologyTopic("orders", registry = registry))
      id -> TopologyCluster(id, topics, Map("bootstrap.servers" -> "localhost:1"))
    }))

  private val none = Map.empty[String, String]

  private def assertMissing(cluster: String)(planned: => Any): Unit = {
    val e = Options.refused(planned)
    assert(e.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION", e.getMessage)
    assert(e.getMessage.contains(s"cluster.$cluster.registry.url"), e.getMessage)
  }

  test("a cluster without a registry is found before a task, also one that enters while the query runs") {
    val url = "cluster.blue.registry.url" -> "http://blue:1"
    for (format <- Seq("avro-confluent", "protobuf-confluent", "debezium-avro-confluent")) {
      def of(all: Topology*) = decoding("format" -> format, "schema" -> "id INT", url)(all: _*)
      assert(of(topology("blue" -> none)).keySet == Set("blue" -> "orders"), format)
      assertMissing("green")(of(topology("blue" -> none), topology("blue" -> none, "green" -> none)))
      val metadata = Map("registry.url" -> "http://green:1")
      val found = of(topology("blue" -> none, "green" -> metadata))
      assert(found == Map(("blue", "orders") -> none, ("green", "orders") -> metadata), format)
    }
  }

  test("the registry of keys; the records of json-confluent are read without one") {
    val keys = Seq(
      "keyFormat" -> "avro-confluent",
      "keyFields" -> "id",
      "valueFieldsInclude" -> "EXCEPT_KEY",
      "schema" -> "id INT, v INT"
    )
    val url = "cluster.blue.registry.url" -> "http://blue:1"
    val both = topology("blue" -> none, "green" -> none)
    assertMissing("green")(decoding(keys ++ Seq("format" -> "json", url): _*)(both))
    val json = decoding("format" -> "json-confluent", "schema" -> "id INT", url)(both)
    assert(json.values.forall(_.isEmpty))
  }

  test("of two topologies, the newer one has the registry; an unknown option of one is refused") {
    def of(all: Topology*) = decoding("format" -> "avro-confluent", "schema" -> "id INT")(all: _*)
    def at(url: String) = topology("blue" -> Map("registry.url" -> url))
    assert(of(
      at("http://old:1"),
      at("http://new:1")
    ).values.toSeq == Seq(Map("registry.url" -> "http://new:1")))
    val e = Options.refused(of(topology("blue" -> Map("registry.ur" -> "http://secret:1"))))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID" && e.getMessage.contains("'registry.ur'"))
    assert(!e.getMessage.contains("secret"))
  }
}

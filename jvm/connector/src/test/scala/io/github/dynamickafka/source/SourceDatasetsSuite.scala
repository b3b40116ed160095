package io.github.dynamickafka.source

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.{ClusterOptions, Options}
import io.github.dynamickafka.metadata.{Topology, TopologyCluster, TopologyTopic}
import io.github.dynamickafka.offset.{CompositeOffset, Positions, Retained}
import io.github.dynamickafka.testkit.TimeLimit

class SourceDatasetsSuite extends AnyFunSuite with TimeLimit {

  private def options(perCluster: (String, String)*) = Options.parse(perCluster: _*).clusters

  private def topology(clusters: (String, Seq[String])*) =
    Topology(SortedMap.from(clusters.map { case (id, topics) =>
      val properties = Map("bootstrap.servers" -> s"$id:9092", "sasl.jaas.config" -> "pw")
      id -> TopologyCluster(id, SortedMap.from(topics.map(_ -> TopologyTopic(s"stream of $id"))), properties)
    }))

  private def offset(positions: (String, Seq[String])*) = CompositeOffset(SortedMap.from(positions.map {
    case (id, topics) => id -> Positions.from(topics.map((_, 0, 5L)))
  }))

  private def found(options: ClusterOptions, topologies: Seq[Topology], end: CompositeOffset) =
    SourceDatasets(options, topologies, end).map(d => (d.namespace, d.topic, d.cluster, d.stream))

  test("each topic of each cluster of the end offset, by the newest topology that has the cluster") {
    val (current, former) =
      (topology("blue" -> Seq("a", "b")), topology("blue" -> Seq("c"), "red" -> Seq("a")))
    val end = offset("blue" -> Seq("a", "b", "c"), "red" -> Seq("a"))
      .copy(retained = SortedMap("old" -> Retained.at(1L, Positions.from(Seq(("a", 0, 1L))))))
    val blue = Seq("a", "b", "c").map(("kafka://blue:9092", _, "blue", Some("stream of blue")))
    assert(found(options(), Seq(current, former), end) ==
      blue :+ (("kafka://red:9092", "a", "red", Some("stream of red"))))
    assert(found(options(), Seq(current), offset("red" -> Seq("a"))).isEmpty, "the cluster is not known")
  }

  test("the address of an option, not that of the metadata") {
    val own = options("cluster.blue.kafka.bootstrap.servers" -> "other:1,more:2")
    val all = topology("blue" -> Seq("a"), "green" -> Seq("a"))
    assert(found(own, Seq(all), offset("blue" -> Seq("a"), "green" -> Seq("a"))).map(_._1) ==
      Seq("kafka://other:1", "kafka://green:9092"))
  }
}

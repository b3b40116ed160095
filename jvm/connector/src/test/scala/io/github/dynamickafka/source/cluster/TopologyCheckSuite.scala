package io.github.dynamickafka.source.cluster

import scala.collection.immutable.SortedMap

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.parse
import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic
}
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

class TopologyCheckSuite extends AnyFunSuite with TimeLimit {

  private val committed = Some(OffsetsPolicy.Committed(None))

  private def topology(ids: String*) = of(TopologyTopic("orders"), ids: _*)
  private def of(topic: TopologyTopic, ids: String*) = Topology(SortedMap.from(ids.map { id =>
    id -> TopologyCluster(id, SortedMap("t" -> topic), Map("bootstrap.servers" -> "b:1"))
  }))

  private def refusal(topology: Topology, options: (String, String)*): String = {
    val e = intercept[DynamicKafkaIllegalArgumentException](new TopologyCheck(parse(options: _*))(topology))
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
    e.getMessage
  }

  test("committed offsets in the metadata need a consumer group of the query") {
    val start = of(TopologyTopic("orders", startingOffsets = committed), "blue")
    val text = refusal(start)
    Seq("'orders'", "'blue'", "starting_offsets", "commitGroupId").foreach(s =>
      assert(text.contains(s), text)
    )
    val end = of(TopologyTopic("orders", stoppingOffsets = committed), "blue", "green")
    assert(refusal(
      end,
      "cluster.blue.kafka.group.id" -> "g"
    ).contains("cluster 'green', key 'stopping_offsets'"))
    val pattern = TopologyPattern("or.*", TopologyTopic("orders", startingOffsets = committed))
    val byPattern = topology("blue").clusters("blue").copy(topics = SortedMap.empty, patterns = Seq(pattern))
    assert(refusal(Topology(SortedMap("blue" -> byPattern))).contains("starting_offsets"))
    Seq(
      Seq("kafka.group.id" -> "g"),
      Seq("cluster.blue.kafka.group.id" -> "g"),
      Seq("cluster.blue.startingOffsets" -> "earliest")
    ).foreach(options => new TopologyCheck(parse(options: _*))(start))
    val group = start.clusters("blue").properties + ("group.id" -> "g")
    new TopologyCheck(parse())(Topology(SortedMap("blue" -> start.clusters("blue").copy(properties = group))))
  }

  test(
    "options of clusters that are not in the metadata: one warning per set of clusters, with a suggestion"
  ) {
    val check = new TopologyCheck(parse(
      "cluster.blu.startingOffsets" -> "latest",
      "cluster.eu.gren.kafka.client.id" -> "x",
      "cluster.blue.startingOffsets" -> "latest",
      "cluster.off.kafka.client.id" -> "x"
    ))
    val inactive = topology("blue", "eu.green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    val first = Logs.during(classOf[TopologyCheck]) {
      check(inactive)
      check(inactive)
      check(inactive.copy(clusters = inactive.clusters.map { case (id, c) =>
        id -> c.copy(properties = Map.empty)
      }))
    }
    assert(first.size == 1, first)
    Seq("cluster.blu.startingOffsets", "'blue'", "cluster.eu.gren.kafka.client.id", "'eu.green'").foreach(s =>
      assert(first.head.contains(s), first)
    )
    assert(!first.head.contains("cluster.blue.") && !first.head.contains("cluster.off."))
    assert(Logs.during(classOf[TopologyCheck])(check(topology("blue", "red"))).size == 1)
    assert(Logs.during(classOf[TopologyCheck])(check(topology("blu", "eu.gren", "blue", "off"))).isEmpty)
  }

  test(
    "unknownClusterOptions=fail: an id with a typing error is refused, a cluster that may be added is not"
  ) {
    def check(options: (String, String)*) = TopologyCheck.refuseMisspelled(
      parse(options :+ ("unknownClusterOptions" -> "fail"): _*),
      topology("blue", "eu.green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    )
    for (
      (option, id, meant) <- Seq(
        ("cluster.bleu.kafka.client.id", "bleu", "blue"),
        ("cluster.eu.gren.startingOffsets", "eu.gren", "eu.green")
      )
    ) {
      val e = intercept[DynamicKafkaIllegalArgumentException](check(option -> "latest"))
      assert(e.getCondition == "DYNAMIC_KAFKA.UNKNOWN_CLUSTER")
      Seq(s"'$option'", s"'$id'", s"Did you mean '$meant'?", "blue, eu.green, off").foreach(s =>
        assert(e.getMessage.contains(s), e.getMessage)
      )
    }
    check(
      "cluster.blue.kafka.client.id" -> "x",
      "cluster.blue2.kafka.client.id" -> "x",
      "cluster.red.kafka.client.id" -> "x",
      "cluster.off.kafka.client.id" -> "x"
    )
  }

  test("starting offsets of a cluster or topic that the metadata does not have are refused") {
    val pattern = TopologyPattern("or.*", TopologyTopic("orders"))
    val known = topology("blue", "green").copy(removals = SortedMap("off" -> Removal.OfCluster))
    val all = known.copy(clusters =
      known.clusters.updated("green", known.clusters("green").copy(patterns = Seq(pattern)))
    )
    def check(in: Topology, option: String, json: String) =
      ClusterConfigs(parse(option -> json), in.clusters.keySet.toSet).checkFirst(in)
    for {
      (option, offset) <- Seq("startingOffsets" -> 5, "startingOffsetsByTimestamp" -> 1767225600000L)
      (json, said) <- Seq(
        s"""{"bleu": {"t": {"0": $offset}}}""" -> "the metadata does not have cluster 'bleu'. Did you mean 'blue'? It has blue, green.",
        s"""{"blue": {"t": {"0": $offset}}, "red": {"t": {"0": $offset}}}""" -> "the metadata does not have cluster 'red'. It has",
        s"""{"blue": {"tt": {"0": $offset}}}""" -> "the metadata does not have topic 'tt' of cluster 'blue'",
        s"""{"green": {"dr": {"0": $offset}}}""" -> "the metadata does not have topic 'dr' of cluster 'green'"
      )
    } {
      val e = intercept[DynamicKafkaIllegalArgumentException](check(all, option, json))
      assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains(said), e.getMessage)
    }
    check(
      all,
      "startingOffsets",
      """{"blue": {"t": {"0": 5}}, "green": {"orders": {"0": 5}}, "off": {"x": {"0": 5}}}"""
    )
    val one = topology("blue")
    check(one, "startingOffsets", """{"t": {"0": 5}}""")
    val e =
      intercept[DynamicKafkaIllegalArgumentException](check(one, "startingOffsets", """{"u": {"0": 5}}"""))
    assert(
      e.getMessage.contains("the metadata does not have topic 'u' of cluster 'blue'. It has t."),
      e.getMessage
    )
  }

  test("the configuration of a cluster is resolved once for each change of its properties") {
    val configs = ClusterConfigs(parse(), Set("blue"))
    val one = configs("blue", Map("bootstrap.servers" -> "b:1"))
    assert(configs("blue", Map("bootstrap.servers" -> "b:1")) eq one)
    val other = configs("blue", Map("bootstrap.servers" -> "b:2"))
    assert(other.bootstrapServers == "b:2" && (configs("blue", Map("bootstrap.servers" -> "b:2")) eq other))
  }

  test("clusters that need secrets that neither the checkpoint nor an option has") {
    val stored = Topology(topology("blue", "green").clusters.map { case (id, c) =>
      id -> c.copy(withheld = if (id == "blue") Set("sasl.jaas.config") else Set.empty)
    })
    assert(ClusterConfigs.incomplete(parse(), stored) == Set("blue"))
    assert(ClusterConfigs.incomplete(parse("clusterFailurePolicy" -> "skip"), stored).isEmpty)
    assert(ClusterConfigs.incomplete(parse("cluster.blue.kafka.sasl.jaas.config" -> "x"), stored).isEmpty)
  }
}

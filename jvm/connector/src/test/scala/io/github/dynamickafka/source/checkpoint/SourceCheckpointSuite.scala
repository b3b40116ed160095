package io.github.dynamickafka.source.checkpoint

import java.nio.file.Files

import scala.collection.immutable.{SortedMap, SortedSet}

import org.apache.hadoop.conf.Configuration
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.{
  OffsetsPolicy,
  Removal,
  Topology,
  TopologyCluster,
  TopologyPattern,
  TopologyTopic,
  WriteEntry
}
import io.github.dynamickafka.offset.{
  CompositeOffset,
  HandOver,
  HistoryDataSource,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  Positions,
  Retained,
  RowTimes
}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs
import io.github.dynamickafka.testkit.TimeLimit

class SourceCheckpointSuite extends AnyFunSuite with TimeLimit {

  private def positions(all: (String, Int, Long)*) = Positions.from(all)
  private def cluster(id: String, properties: Map[String, String], topics: (String, TopologyTopic)*) =
    id -> TopologyCluster(id, SortedMap.from(topics), properties)

  test("the checkpoint stores how to reach the clusters that offsets name, and no secret") {
    val secrets = Map(
      "bootstrap.servers" -> "b:1",
      "sasl.jaas.config" -> "pw",
      "ssl.key.password" -> ("$" + "{file:/x:y}"),
      "my.own" -> "not known to Kafka"
    )
    val first = Topology(
      SortedMap(
        cluster(
          "blue",
          secrets,
          "orders" -> TopologyTopic("s", startingOffsets = Some(OffsetsPolicy.Timestamp(5L)))
        ),
        cluster("red", Map("bootstrap.servers" -> "r:1"), "old" -> TopologyTopic("s", draining = true))
      )
    )
    val second = Topology(
      SortedMap(cluster("green", Map("bootstrap.servers" -> "g:1"), "orders" -> TopologyTopic("s"))),
      SortedMap("blue" -> Removal.OfCluster, "green" -> Removal(SortedSet("old"), Set("x.*")))
    )
    val end = CompositeOffset(
      clusters = SortedMap("blue" -> positions(("orders", 0, 1L))),
      retained = SortedMap("red" -> Retained.at(1L, positions(("old", 0, 2L))))
    )
    val folder = Files.createTempDirectory("checkpoint").toUri.toString
    val checkpoint = new SourceCheckpoint(folder, new Configuration)
    checkpoint.remember(first, end)
    checkpoint.remember(second, end)
    val again = new SourceCheckpoint(folder, new Configuration)
    assert(again.topology.exists(_.current == second))
    assert(again.cluster("blue").map(_.properties).contains(secrets -- Seq("sasl.jaas.config", "my.own")))
    assert(again.cluster("blue").map(_.withheld).contains(Set("sasl.jaas.config")))
    assert(
      again.cluster("blue").flatMap(_.topics.get("orders")) == first.clusters("blue").topics.get("orders")
    )
    assert(again.cluster("red").map(_.bootstrapServers).contains("r:1"))
    assert(again.streamOf("red", "old") == "s")
    again.remember(second, CompositeOffset.empty)
    assert(
      new SourceCheckpoint(folder, new Configuration).cluster("blue").isEmpty,
      "no offset names it now"
    )
    assert(new SourceCheckpoint(folder, new Configuration).cluster("green").isDefined)
  }

  test("the options of the last run are stored with the topology, also if only they have changed") {
    val folder = Files.createTempDirectory("checkpoint").toUri.toString
    def run(options: (String, String)*) = {
      val checkpoint = new SourceCheckpoint(folder, new Configuration, SortedMap.from(options))
      checkpoint.remember(Topology.empty, CompositeOffset.empty)
      new SourceCheckpoint(folder, new Configuration).topology.map(_.options.toMap)
    }
    assert(run("removedClusterPolicy" -> "drain").contains(Map("removedClusterPolicy" -> "drain")))
    assert(run("streamIds" -> "orders").contains(Map("streamIds" -> "orders")))
    assert(run().contains(Map.empty[String, String]))
  }

  test("the registry of a cluster is stored without secrets, and no text of a topology has one") {
    val reference = "$" + "{file:/x:y}"
    val stored = Map(
      "registry.url" -> "http://r:1",
      "registry.basicAuth.userInfo" -> reference,
      "registry.ssl.truststore.location" -> "/t"
    )
    val secrets = Map("registry.bearerAuth.token" -> "pw", "registry.ssl.keystore.password" -> "pw")
    val topic = TopologyTopic("s", registry = stored ++ secrets)
    val topology =
      Topology(SortedMap(cluster("blue", Map("bootstrap.servers" -> "b:1"), "orders" -> topic)))
    val folder = Files.createTempDirectory("checkpoint").toUri.toString
    new SourceCheckpoint(folder, new Configuration).remember(topology, CompositeOffset.empty)
    val again = new SourceCheckpoint(folder, new Configuration)
    assert(again.cluster("blue").map(_.topics("orders").registry).contains(stored))
    assert(!s"$topology$topic".contains("pw"))
    assert(!WriteEntry("blue", SortedMap.empty, None, None, secrets).toString.contains("pw"))
    assert(!RegistryOptionSpecs.isStorable("registry.url", "http://u:pw@r:1"))
  }

  test("the initial offset is written once and read back") {
    val folder = Files.createTempDirectory("checkpoint").toUri.toString
    val initial = InitialOffset(
      CompositeOffset(SortedMap("blue" -> positions(("t", 0, 4L)))),
      unresolved = Set("green"),
      unresolvedTopics = Map("blue" -> Set("u", "v")),
      history = Some(HistoryPlan(
        SortedMap(
          "orders" -> HistoryTable(
            HistoryDataSource(
              "json",
              "s3a://archive/a b",
              Map("mode" -> "FAILFAST"),
              """{"type":"struct","fields":[]}"""
            ),
            Some("blue"),
            None,
            Vector(
              HistoryFile("s3a://archive/a b/1.json", 1763700000000L, 1763700000003L),
              HistoryFile("s3a://archive/a b/0.json", -1L, 1763700000004L)
            ),
            SortedMap("blue" -> positions(("t", HistoryTable.AnyPartition, 1763700000003L)))
          ),
          "payments" -> HistoryTable(
            HistoryDataSource("orc", "/p", Map.empty, "{}"),
            None,
            Some("t"),
            Vector(
              HistoryFile(
                "/p/new",
                1L,
                9L,
                SortedMap("blue" -> RowTimes(1L, 4L), "green" -> RowTimes(3L, 9L))
              )
            )
          )
        ),
        HandOver(
          SortedMap("blue" -> positions(("t", 0, 4L))),
          SortedMap("green" -> positions(("t", 1, 1763700000001L))),
          SortedMap("red" -> SortedMap("u" -> 1763700000002L))
        )
      ))
    )
    assert(initial.isUnresolved("blue", "u") && !initial.isUnresolved("blue", "t"))
    assert(!initial.isUnresolved("green", "u"))
    val checkpoint = new SourceCheckpoint(folder, new Configuration)
    assert(checkpoint.initial.isEmpty)
    checkpoint.writeInitial(initial)
    assert(new SourceCheckpoint(folder, new Configuration).initial.contains(initial))
  }

  test(
    "a damaged file is named; without the newest topology the one before is used, and the next one is written"
  ) {
    val folder = Files.createTempDirectory("checkpoint")
    def open() = new SourceCheckpoint(folder.toUri.toString, new Configuration)
    def file(name: String) = folder.resolve("dynamic-kafka").resolve(name)
    def damage(name: String, text: String): Unit = {
      Files.writeString(file(name), text)
      val _ = Files.deleteIfExists(file(name).resolveSibling(s".${file(name).getFileName}.crc"))
    }
    def of(id: String) =
      Topology(SortedMap(cluster(id, Map("bootstrap.servers" -> s"$id:1"), "t" -> TopologyTopic("s"))))
    val checkpoint = open()
    checkpoint.remember(of("blue"), CompositeOffset.empty)
    checkpoint.remember(of("green"), CompositeOffset.empty)
    checkpoint.writeInitial(InitialOffset(CompositeOffset.empty, Set.empty))
    for (
      text <- Seq(
        "{\"version\":1,\"cur",
        "",
        "[1]",
        "{\"version\":1,\"current\":{\"blue\":{\"topics\":{\"t\":{\"startingOffsets\":\"x\"}}}}}"
      )
    ) {
      damage("topology/1.json", text)
      val e = intercept[DynamicKafkaRuntimeException](open().newestTopology)
      assert(e.getMessage.contains(file("topology/1.json").toString), e.getMessage)
      assert(open().cluster("blue").isDefined && open().cluster("green").isEmpty)
    }
    open().remember(of("blue"), CompositeOffset.empty)
    assert(open().newestTopology.exists(_.current == of("blue")) && Files.exists(file("topology/2.json")))
    damage("topology/2.json", "{\"version\":9}")
    assert(
      intercept[DynamicKafkaRuntimeException](open().topology).getCondition.endsWith("UNKNOWN_OFFSET_VERSION")
    )
    damage("initial.json", "{\"version\":1,\"offset\":{\"version\":4,\"clusters\":{}}}")
    assert(
      intercept[DynamicKafkaRuntimeException](open().initial).getCondition.endsWith("UNKNOWN_OFFSET_VERSION")
    )
    for (text <- Seq("{", "{\"version\":1}", "{\"version\":1,\"offset\":{\"version\":2,\"x\":1}}")) {
      damage("initial.json", text)
      val e = intercept[DynamicKafkaRuntimeException](open().initial)
      assert(e.getMessage.contains(file("initial.json").toString), e.getMessage)
    }
  }

  test("a folder of Spark's own Kafka source is refused") {
    val folder = Files.createTempDirectory("checkpoint")
    Files.writeString(folder.resolve("0"), "v1\n{}")
    val e = intercept[DynamicKafkaRuntimeException](
      new SourceCheckpoint(folder.toUri.toString, new Configuration).refusePlainKafka()
    )
    assert(e.getCondition == "DYNAMIC_KAFKA.PLAIN_KAFKA_CHECKPOINT")
  }

  test("the checkpoint stores patterns, matched topics, partitions and timestamps") {
    val times = OffsetsPolicy.TimestampByPartition(Map("*" -> Map("orders" -> Map(0 -> 5L))))
    val matched = TopologyTopic("s", matched = true, startingOffsets = Some(times))
    val topology = Topology(SortedMap("blue" -> TopologyCluster(
      "blue",
      SortedMap("orders" -> matched, "some" -> TopologyTopic("s", partitions = Some(SortedSet(0, 3)))),
      Map("bootstrap.servers" -> "b:1"),
      Seq(TopologyPattern("or.*", matched))
    )))
    val folder = Files.createTempDirectory("checkpoint").toUri.toString
    new SourceCheckpoint(folder, new Configuration).remember(topology, CompositeOffset.empty)
    assert(new SourceCheckpoint(folder, new Configuration).topology.map(_.current).contains(topology))
  }

  test("the latest offsets that a run leaves are taken once; damaged ones are none") {
    val folder = Files.createTempDirectory("checkpoint")
    val latest = SortedMap("blue" -> positions(("orders", 0, 7L)))
    def next() = new SourceCheckpoint(folder.toUri.toString, new Configuration)
    assert(next().takeLatestOffsets().isEmpty)
    next().leaveLatestOffsets(SortedMap("blue" -> positions(("orders", 0, 5L))))
    next().leaveLatestOffsets(latest)
    assert(next().takeLatestOffsets() == latest)
    assert(next().takeLatestOffsets().isEmpty, "the run that took them was killed")
    next().leaveLatestOffsets(latest)
    Files.writeString(folder.resolve("dynamic-kafka").resolve("latest.json"), "{")
    assert(next().takeLatestOffsets().isEmpty)
  }
}

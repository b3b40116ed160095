package io.github.dynamickafka.config

import scala.collection.immutable.SortedMap

import org.scalacheck.Gen
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks
import org.scalatestplus.scalacheck.ScalaCheckPropertyChecks

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.format.table.{ClusterRegistries, Formats}
import io.github.dynamickafka.metadata.OffsetsPolicy._
import io.github.dynamickafka.metadata.{OffsetsPolicy, ReplacedClusterPolicy, UnreachableReplayPolicy}
import io.github.dynamickafka.testkit.TimeLimit

class SourceOptionsSuite extends AnyFunSuite with TimeLimit with TableDrivenPropertyChecks
    with ScalaCheckPropertyChecks {

  test("options that are not set have the documented default") {
    assert(
      parse() == SourceOptions(
        MetadataOptions(
          ServiceOptions("file", Map.empty),
          Subscription.Ids(Seq("orders")),
          DiscoveryOptions(30000, 10, 60000, allowMissingStreams = false),
          ClusterChangeOptions(-1, drainRemoved = false, ReplacedClusterPolicy.Fail, allowDuplicates = false)
        ),
        OffsetsOptions(Earliest, Earliest, Earliest, None),
        ClusterOptions(
          requestTimeoutMs = 60000,
          UnreachableOptions(skip = false, -1, UnreachableReplayPolicy.Fail, deferWithState = false),
          PropertyOptions(Map.empty, Map.empty, SourceOptionSpecs.table),
          ClientOptions(None, None, None),
          snapshotMaxAgeMs = 1000,
          failOnDataLoss = true,
          refuseMisspelled = false
        ),
        BatchOptions(LimitOptions(None, None, 900000, None, None), None, RealTimeOptions(None, 250, None)),
        RecordOptions(Formats.plain, ClusterRegistries(), includeHeaders = false),
        page = None,
        remembered = SortedMap("streamIds" -> "orders")
      )
    )
  }

  test("the documented defaults are in effect") {
    SourceOptionSpecs.table.all.foreach { spec =>
      spec.default.value.foreach(value =>
        assert(spec.parse(spec.default.text.replace("`", "")) == value, spec.name)
      )
    }
  }

  test("no two options are spellings of the same option") {
    assert(SourceOptionSpecs.table.all.map(_.key).distinct.size == SourceOptionSpecs.table.all.size)
  }

  test("every option is read") {
    val options = parse(
      "streamMetadataDiscoveryIntervalMs" -> "10s",
      "streamMetadataDiscoveryFailureThreshold" -> "0",
      "streamMetadataRemovedClusterRetentionMs" -> "7d",
      "removedClusterPolicy" -> "Drain",
      "allowMissingStreams" -> "TRUE",
      "maxRemovedClustersPerChange" -> "0",
      "removalConfirmations" -> "5",
      "allowDuplicateClusters" -> "true",
      "clusterFailurePolicy" -> "skip",
      "clusterFailureTimeoutMs" -> "5min",
      "clusterRequestTimeoutMs" -> "2000",
      "clusterSnapshotMaxAgeMs" -> "0",
      "unreachableReplayPolicy" -> "defer",
      "deferWithState" -> "true",
      "failOnDataLoss" -> "false",
      "maxOffsetsPerTrigger" -> "1000",
      "maxBytesPerTrigger" -> "64m",
      "includeHeaders" -> "true",
      "groupIdPrefix" -> "team-a",
      "metadataService.path" -> "streams.yaml"
    )
    assert(options.metadata.service == ServiceOptions("file", Map("path" -> "streams.yaml")))
    assert(options.metadata.discovery == DiscoveryOptions(
      10000,
      0,
      2000,
      allowMissingStreams = true,
      Some(0),
      5
    ))
    assert(options.clusters.unreachable.skip)
    assert(
      options.clusters.unreachable.replay == UnreachableReplayPolicy.Defer && options.clusters.unreachable.deferWithState
    )
    assert(options.clusters.unreachable.timeoutMs == 300000 && options.clusters.requestTimeoutMs == 2000)
    assert(options.clusters.snapshotMaxAgeMs == 0)
    assert(options.clusters.clients.groupIdPrefix.contains("team-a"))
    assert(options.batches.limits.maxOffsetsPerTrigger.contains(1000L))
    assert(options.batches.limits.maxBytesPerTrigger.contains(64L << 20))
    assert(!options.clusters.failOnDataLoss && options.records.includeHeaders)
    assert(options.changes.retentionMs == 604800000L)
    assert(options.changes.drainRemoved && options.changes.allowDuplicates)
  }

  test("option names are case-insensitive, and hyphens are ignored") {
    forAll(
      Gen.oneOf(SourceOptionSpecs.table.all),
      Gen.listOfN(60, Gen.oneOf(true, false)),
      Gen.listOfN(60, Gen.prob(0.2))
    ) {
      (spec, upper, hyphens) =>
        val spelling = spec.name.zip(upper).zip(hyphens).map { case ((c, isUpper), hyphen) =>
          (if (hyphen) "-" else "") + (if (isUpper) c.toUpper else c.toLower)
        }.mkString
        assert(SourceOptionSpecs.table.find(spelling).contains(spec))
    }
  }

  test(
    "alignment needs a drift, has no effect on minOffsetsPerTrigger, and its options have none without it"
  ) {
    assert(parse().batches.alignment.isEmpty && parse("alignment" -> "none").batches.alignment.isEmpty)
    val aligned = Seq("alignment" -> "timestamp", "alignmentMaxDrift" -> "10s")
    assert(parse(aligned: _*).batches.alignment.contains(AlignmentOptions(10000L, 30000L)))
    val own = parse(aligned :+ ("alignmentIdleTimeout" -> "500"): _*).batches.alignment
    assert(own.contains(AlignmentOptions(10000L, 500L)))
    def text(options: (String, String)*) = refused(parse(options: _*)).getMessage
    assert(text("alignment" -> "timestamp").contains("MISSING_OPTION"))
    assert(text("alignment" -> "timestamp").contains("'alignmentMaxDrift'"))
    for (name <- Seq("alignmentMaxDrift", "alignmentIdleTimeout")) {
      val alone = text(name -> "10s")
      assert(alone.contains("INVALID_OPTION") && alone.contains(s"'$name'"))
    }
    val least = text(aligned :+ ("minOffsetsPerTrigger" -> "10"): _*)
    assert(least.contains("INVALID_OPTION") && least.contains("'minOffsetsPerTrigger'"))
    assert(text("alignment" -> "time").contains("INVALID_OPTION"))
    assert(text("alignment" -> "timestamp", "alignmentMaxDrift" -> "0").contains("'alignmentMaxDrift'"))
  }

  test("Flink's spellings work") {
    val options = parseOnly(
      "metadata-service" -> "single-cluster",
      "metadata-service.cluster-id" -> "Blue-1",
      "stream-ids" -> "a;b",
      "stream-metadata-discovery-interval-ms" -> "500",
      "stream-metadata-discovery-failure-threshold" -> "3",
      "stream-metadata-removed-cluster-retention-ms" -> "0"
    )
    assert(options.metadata.service == ServiceOptions("single-cluster", Map("cluster-id" -> "Blue-1")))
    assert(options.metadata.subscription == Subscription.Ids(Seq("a", "b")))
    assert(options.metadata.discovery.intervalMs == 500 && options.metadata.discovery.failureThreshold == 3)
    assert(options.changes.retentionMs == 0)
  }

  test("case and hyphens are ignored in prefixes only, the rest of the name is kept") {
    val options = parse(
      "KAFKA.client.id" -> "Me",
      "Cluster.Blue-1.kafka.client.id" -> "You",
      "MetadataService.basePath-X" -> "p"
    )
    assert(options.clusters.properties.shared == Map("client.id" -> "Me"))
    assert(options.clusters.properties.perCluster == Map("Blue-1.kafka.client.id" -> "You"))
    assert(options.metadata.service.arguments == Map("basePath-X" -> "p"))
  }

  test("maxRemovedClustersPerChange=-1 turns the limit off") {
    def most(value: String) =
      parse("maxRemovedClustersPerChange" -> value).metadata.discovery.maxRemovedClusters
    assert(most("-1").contains(Int.MaxValue) && most("0").contains(0) && most("3").contains(3))
    assert(intercept[Exception](most("-2")).getMessage.contains("maxRemovedClustersPerChange"))
  }

  test("streams are separated by ; or , and duplicates are ignored") {
    assert(parse("streamIds" -> " a; b,a ,, c;").metadata.subscription == Subscription.Ids(Seq(
      "a",
      "b",
      "c"
    )))
  }

  test("a pattern is a regular expression") {
    val options = parseOnly("metadataService" -> "file", "streamPattern" -> "orders-.*")
    assert(options.metadata.subscription == Subscription.Pattern("orders-.*"))
    assert(options.metadata.subscription.text == "pattern: orders-.*")
  }

  test("precedence: timestamp, timestamps by partition, offsets") {
    val json = "startingOffsetsByTimestamp" -> """{"blue": {"orders": {"0": 7}}}"""
    val byTime = TimestampByPartition(Map("blue" -> Map("orders" -> Map(0 -> 7L))))
    assert(parse("startingOffsets" -> "latest").offsets.starting == Latest)
    assert(parse("startingOffsets" -> "latest", json).offsets.starting == byTime)
    assert(
      parse("startingOffsets" -> "latest", json, "startingTimestamp" -> "5").offsets.starting == Timestamp(5)
    )
    assert(parse("endingOffsets" -> "latest", "endingTimestamp" -> "5").offsets.ending.contains(Timestamp(5)))
    assert(
      parse(
        "endingOffsetsByTimestamp" -> json._2,
        "endingOffsets" -> "latest"
      ).offsets.ending.contains(byTime)
    )
  }

  test("committed has a group and a fallback for partitions without an offset") {
    def starting(options: (String, String)*) =
      parse(options :+ ("startingOffsets" -> "committed"): _*).offsets
    assert(starting("commitGroupId" -> "g").starting == Committed(None))
    assert(starting("commitGroupId" -> "g").commitGroupId.contains("g"))
    assert(starting("kafka.group.id" -> "g").commitGroupId.isEmpty)
    assert(starting("cluster.blue.kafka.group.id" -> "g").starting == Committed(None))
    val fallback = starting("kafka.Group.Id" -> "g", "committedOffsetsFallback" -> "latest")
    assert(fallback.starting == Committed(Some(Latest)))
    assert(fallback.withFallback(Committed(None)) == Committed(Some(Latest)))
    val newTopic = parse("newTopicStartingOffsets" -> "committed", "kafka.group.id" -> "g").offsets.newTopic
    assert(newTopic == Committed(None))
    val ofCluster = parse("cluster.blue.startingOffsets" -> "committed", "commitGroupId" -> "g")
    assert(ofCluster.offsets.starting == (Earliest: OffsetsPolicy))
  }

  test("an option in two spellings must have the same value") {
    assert(parse("stream-ids" -> "orders").metadata.subscription == Subscription.Ids(Seq("orders")))
    val text = refused(parse("stream-ids" -> "payments")).getMessage
    assert(text.contains("'stream-ids'") && text.contains("'streamIds'"))
  }

  test(
    "of two spellings of an argument of the service, the last in the order of names counts, whatever is set beside them"
  ) {
    val two = Seq("metadataService.path" -> "last", "metadata-service.path" -> "first")
    for (n <- 0 to 20) {
      val others = (1 to n).map(i => s"metadataService.other$i" -> "x")
      assert(parse(two ++ others: _*).metadata.service.arguments("path") == "last", n)
    }
  }

  test("what a checkpoint stores of the options") {
    val options = parse(
      "max-offsets-per-trigger" -> "5",
      "removedClusterPolicy" -> "Drain",
      "cluster.eu.blue.maxOffsetsPerTrigger" -> "3",
      "cluster.blue.startingTimestamp" -> "7",
      "cluster.blue.endingOffsets" -> "latest",
      "cluster.blue.kafka.ssl.key.password" -> "hush-hush",
      "kafka.sasl.jaas.config" -> "hush-hush",
      "kafka.Isolation.Level" -> "read_committed",
      "cluster.blue.kafka.isolation.level" -> "read_uncommitted",
      "failOnDataLoss" -> "false",
      "replacedClusterPolicy" -> "same-offsets",
      "commitOffsets" -> "true",
      "commitGroupId" -> "totals"
    )
    assert(options.remembered.toMap == Map(
      "streamIds" -> "orders",
      "maxOffsetsPerTrigger" -> "5",
      "removedClusterPolicy" -> "Drain",
      "cluster.eu.blue.maxOffsetsPerTrigger" -> "3",
      "cluster.blue.startingTimestamp" -> "7",
      "kafka.isolation.level" -> "read_committed",
      "cluster.blue.kafka.isolation.level" -> "read_uncommitted",
      "replacedClusterPolicy" -> "same-offsets",
      "commitOffsets" -> "true",
      "commitGroupId" -> "totals"
    ))
  }

  test("what a checkpoint stores is read without the options that it requires and that are not stored") {
    val stored = Map("streamIds" -> "orders", "commitGroupId" -> "totals")
    assert(SourceOptions.remembered(stored) == stored)
    assert(refused(parse("commitGroupId" -> "totals")).getMessage.contains("it has no effect"))
  }

  test("an option that is switched off requires nothing") {
    assert(!parse("deferWithState" -> "false").clusters.unreachable.deferWithState)
    assert(
      refused(parse("defer-with-state" -> "true")).getMessage.contains("'unreachableReplayPolicy=defer'")
    )
  }

  test("how MirrorMaker names topics is remembered, without secrets") {
    val options = Seq(
      "streamIds" -> "orders",
      "replacedClusterPolicy" -> "mirror-maker",
      "mirrorMakerSourceAlias" -> "old",
      "mirrorMakerReplicationPolicy" -> "identity",
      "mirrorMakerReplicationPolicy.replication.policy.separator" -> "_",
      "commitOffsets" -> "true",
      "commitGroupId" -> "totals"
    )
    assert(parse(options.drop(1): _*).remembered.toMap == options.toMap)
  }

  test("no class that holds properties prints them") {
    val options =
      parse("kafka.sasl.jaas.config" -> "hush-hush", "cluster.blue.kafka.ssl.key.password" -> "hush-hush")
    assert(!s"$options ${options.clusters} ${options.metadata.service}".contains("hush-hush"))
  }
}

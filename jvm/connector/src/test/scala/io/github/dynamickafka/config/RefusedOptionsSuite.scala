package io.github.dynamickafka.config

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks

import io.github.dynamickafka.config.Options._
import io.github.dynamickafka.testkit.TimeLimit

/** Every value that is refused, with the user's spelling of the option and the remedy in the text. */
class RefusedOptionsSuite extends AnyFunSuite with TimeLimit with TableDrivenPropertyChecks {

  private val invalid = Table(
    ("option", "value", "in the text"),
    ("streamIds", " ; ,", "contains no name"),
    ("streamMetadataDiscoveryIntervalMs", "0", "at least 1 ms"),
    ("stream-metadata-discovery-interval-ms", "-2", "-1 (only at the start of the query)"),
    ("streamMetadataDiscoveryIntervalMs", "soon", "'10s'"),
    ("streamMetadataDiscoveryFailureThreshold", "-1", "from 0 to"),
    ("streamMetadataDiscoveryFailureThreshold", "99999999999", "from 0 to 2147483647"),
    ("streamMetadataRemovedClusterRetentionMs", "-2", "-1 (forever)"),
    ("removedClusterPolicy", "keep", "'stop', 'drain'"),
    ("clusterFailurePolicy", "ignore", "'fail', 'skip'"),
    ("clusterFailureTimeoutMs", "0", "-1 (forever)"),
    ("clusterRequestTimeoutMs", "-1", "at least 1 ms"),
    ("unreachableReplayPolicy", "", "'fail', 'skip', 'defer'"),
    ("deferWithState", "true", "unreachableReplayPolicy=defer"),
    ("allowMissingStreams", "yes", "neither 'true' nor 'false'"),
    ("failOnDataLoss", "1", "neither 'true' nor 'false'"),
    ("maxOffsetsPerTrigger", "0", "from 1 to"),
    ("maxOffsetsPerTrigger", "1.5", "from 1 to"),
    ("groupIdPrefix", " ", "empty"),
    ("startingOffsets", "newest", "'earliest', 'latest', 'committed'"),
    ("startingOffsets", "{\"orders\": {\"0\": -3}}", "topic 'orders', partition 0: -3 is not an offset"),
    ("startingTimestamp", "yesterday", "since 1970"),
    ("startingTimestamp", "-1", "since 1970"),
    ("startingOffsetsByTimestamp", "earliest", "JSON"),
    ("newClusterStartingOffsets", "{\"a\": {\"0\": 1}}", "'cluster.<id>.startingOffsets'"),
    ("newTopicStartingOffsets", "first", "'earliest'"),
    ("committedOffsetsFallback", "none", "'fail', 'earliest', 'latest'"),
    ("endingOffsets", "earliest", "no record would be read"),
    ("endingOffsets", "{\"a\": {\"0\": -2}}", "-1 (latest)"),
    ("endingTimestamp", "x", "since 1970"),
    ("startingOffsets", "committed", "set 'commitGroupId' or 'kafka.group.id'"),
    ("newClusterStartingOffsets", "committed", "set 'commitGroupId' or 'kafka.group.id'"),
    ("cluster.blue.startingOffsets", "committed", "set 'commitGroupId' or 'kafka.group.id'"),
    ("commitGroupId", "g", "no effect"),
    ("streamPattern", "orders-.*", "'streamIds' is also set"),
    // Spark's and Flink's options
    ("path", "/data", "'streamIds'"),
    ("subscribe", "orders", "'streamIds'"),
    ("subscribePattern", "orders-.*", "'streamPattern'"),
    ("assign", "{}", "'streamIds'"),
    ("startingOffsetsByTimestampStrategy", "latest", "at its latest offset"),
    ("kafkaConsumer.pollTimeoutMs", "5", "'spark.network.timeout'"),
    ("scan.startup.mode", "latest-offset", "'startingOffsets'"),
    // Kafka's properties
    ("kafka.bootstrap.servers", "a:9092", "'cluster.<id>.kafka.bootstrap.servers'"),
    ("kafka.auto.offset.reset", "latest", "'startingOffsets'"),
    ("Kafka.Auto.Offset.Reset", "latest", "'startingOffsets'"),
    ("kafka.key.deserializer", "x", "keyDeserializer"),
    ("kafka.value.deserializer", "x", "valueDeserializer"),
    ("kafka.enable.auto.commit", "true", "'commitOffsets'"),
    ("kafka.interceptor.classes", "x", "byte arrays"),
    ("cluster.blue.kafka.enable.auto.commit", "true", "'commitOffsets'"),
    ("cluster.blue.auto.offset.reset", "latest", "'startingOffsets'"),
    ("kafka.", "x", "the name of the Kafka property is empty"),
    // options of one cluster
    ("cluster.blue.startingOffsets", "newest", "'earliest'"),
    (
      "cluster.blue.startingOffsets",
      "{\"green\": {\"a\": {\"0\": 1}}}",
      "may only contain offsets of cluster 'blue'"
    ),
    ("cluster.a.b.max-offsets-per-trigger", "-1", "from 1 to"),
    ("cluster.blue.streamIds", "a", "applies to the whole query"),
    ("cluster.blue.format", "json", "applies to the whole query"),
    ("cluster.blue.schema", "a INT", "applies to the whole query"),
    ("cluster.blue!.startingOffsets", "latest", "'blue!' is not a valid cluster id"),
    ("cluster.b lue.kafka.client.id", "x", "'b lue' is not a valid cluster id"),
    ("cluster.b/lue.fetch.max.wait.ms", "7", "'b/lue' is not a valid cluster id"),
    ("cluster.blue", "x", "'cluster.<id>.kafka.<property>'"),
    ("cluster.blue.", "x", "'cluster.<id>.kafka.<property>'"),
    ("cluster..x", "x", "'cluster.<id>.kafka.<property>'"),
    ("commitOffsets", "true", "set 'commitGroupId' or 'kafka.group.id'"),
    ("commitOffsets", "yes", "neither 'true' nor 'false'"),
    // limits
    ("minPartitions", "0", "1"),
    ("historyFilesPerTrigger", "0", "1"),
    ("maxRecordsPerPartition", "none", "1"),
    ("min-offsets-per-trigger", "-4", "1"),
    ("maxTriggerDelay", "soon", "'10s'")
  )

  test("an invalid value is refused with the name of the option and the valid values") {
    forAll(invalid) { (option, value, inText) =>
      val error = refused(parse(option -> value))
      assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(error.getMessageParameters.get("option") == option)
      assert(error.getMessage.contains(inText))
    }
  }

  test("commitOffsets=false requires no group") {
    // The checkpoint has what was set.
    assert(parse("commitOffsets" -> "false").copy(remembered = parse().remembered) == parse())
  }

  test("an invalid regular expression is refused with the position of the error") {
    val text = refused(parseOnly("metadataService" -> "file", "streamPattern" -> "a(b")).getMessage
    assert(text.contains("streamPattern") && text.contains("Unclosed group near index 3"))
  }

  test("required options") {
    val noService = refused(parseOnly("streamIds" -> "a"))
    assert(noService.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION")
    assert(noService.getMessageParameters.get("option") == "metadataService")
    val noStreams = refused(parseOnly("metadataService" -> "file"))
    assert(noStreams.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION")
    assert(noStreams.getMessage.contains("'streamIds'") && noStreams.getMessage.contains("'streamPattern'"))
  }

  private val unknown = Table(
    ("option", "suggestion"),
    ("streamId", Some("streamIds")),
    ("startingOfsets", Some("startingOffsets")),
    ("stream-metadata-discovery-interval", Some("streamMetadataDiscoveryIntervalMs")),
    ("faileOnDataLoss", Some("failOnDataLoss")),
    ("security.protocol", Some("kafka.security.protocol")),
    ("group.id", Some("kafka.group.id")),
    ("kafak.group.id", Some("kafka.group.id")),
    ("clusters.Blue.kafka.client.id", Some("cluster.Blue.kafka.client.id")),
    ("metadataServices.path", Some("metadataService.path")),
    ("properties.client.id", Some("kafka.client.id")),
    ("quux", None)
  )

  test("an unknown option is refused with a suggestion") {
    forAll(unknown) { (option, suggestion) =>
      val error = refused(parse(option -> "hush-hush"))
      assert(error.getCondition == "DYNAMIC_KAFKA.UNKNOWN_OPTION")
      assert(error.getMessageParameters.get("option") == option)
      assert(error.getMessageParameters.get("suggestion") == suggestion.fold("")(s => s" Did you mean '$s'?"))
      assert(!error.getMessage.contains("hush-hush"))
    }
  }

  test("an error in an option of one cluster contains no secret") {
    val error = refused(parse("cluster.blue" -> "hush-hush"))
    assert(!error.getMessage.contains("hush-hush"))
  }
}

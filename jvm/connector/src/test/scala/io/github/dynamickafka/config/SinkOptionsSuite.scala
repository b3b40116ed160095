package io.github.dynamickafka.config

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.RoundRobinPartitioner
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.prop.TableDrivenPropertyChecks

import io.github.dynamickafka.config.Options.refused
import io.github.dynamickafka.format.table.{ClusterRegistries, DeadLetterOptions, Formats}
import io.github.dynamickafka.metadata.UnreachableReplayPolicy
import io.github.dynamickafka.testkit.TimeLimit

class SinkOptionsSuite extends AnyFunSuite with TimeLimit with TableDrivenPropertyChecks {

  private def parse(options: (String, String)*): SinkOptions = parseOnly(
    Seq("metadataService" -> "file", "streamId" -> "orders") ++ options: _*
  )

  private def parseOnly(options: (String, String)*): SinkOptions =
    SinkOptions.parse(new CaseInsensitiveStringMap(options.toMap.asJava))

  test("options that are not set have the documented default") {
    assert(
      parse() == SinkOptions(
        service = ServiceOptions("file", Map.empty),
        discovery = DiscoveryOptions(30000, 10, 60000, allowMissingStreams = false),
        clusters = ClusterOptions(
          requestTimeoutMs = 60000,
          UnreachableOptions(skip = false, -1, UnreachableReplayPolicy.Fail, deferWithState = false),
          PropertyOptions(Map.empty, Map.empty, SinkOptionSpecs.table),
          ClientOptions(None, None, None),
          snapshotMaxAgeMs = 1000,
          failOnDataLoss = true,
          refuseMisspelled = false
        ),
        routing = RoutingOptions(
          Some("orders"),
          ClusterRouting.Key,
          failover = false,
          PartitionerChoice.Default,
          deadLetters = None
        ),
        delivery = DeliveryOptions(
          DeliveryGuarantee.AtLeastOnce,
          distribution = false,
          TransactionOptions("dynamic-kafka", None, 60000, replayLost = false, UnknownCommitPolicy.Fail)
        ),
        RecordOptions(Formats.plain, ClusterRegistries()),
        page = None
      )
    )
  }

  test("the documented defaults are in effect") {
    SinkOptionSpecs.table.all.foreach { spec =>
      spec.default.value.foreach(value =>
        assert(spec.parse(spec.default.text.replace("`", "")) == value, spec.name)
      )
    }
  }

  test("writeFailover with clusterRouting=all is refused, because no other cluster can get the records") {
    val e = refused(parse("clusterRouting" -> "all", "writeFailover" -> "next"))
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains("'clusterRouting=all'"))
    assert(parse("writeFailover" -> "next").routing.failover)
    assert(!parse("clusterRouting" -> "all", "writeFailover" -> "none").routing.failover)
  }

  test("no two options are spellings of the same option") {
    assert(SinkOptionSpecs.table.all.map(_.key).distinct.size == SinkOptionSpecs.table.all.size)
  }

  test("every option is read") {
    val options = parse(
      "metadataService.path" -> "streams.yaml",
      "clusterRouting" -> "First",
      "writeFailover" -> "next",
      "clusterDistribution" -> "auto",
      "deliveryGuarantee" -> "EXACTLY-ONCE",
      "transactional-id-prefix" -> "shop",
      "partitioner" -> "Fixed",
      "deadLetterTopic" -> "rejected",
      "deadLetterCluster" -> "blue",
      "commitTimeoutMs" -> "5s",
      "partialCommitPolicy" -> "replay-lost-partitions",
      "unknownCommitPolicy" -> "assume-aborted",
      "checkpointLocation" -> "/checkpoint",
      "streamMetadataDiscoveryIntervalMs" -> "10s",
      "streamMetadataDiscoveryFailureThreshold" -> "0",
      "clusterRequestTimeoutMs" -> "2000",
      "clientIdPrefix" -> "me",
      "kafka.compression.type" -> "zstd",
      "cluster.blue.kafka.compression.type" -> "lz4"
    )
    assert(options.service == ServiceOptions("file", Map("path" -> "streams.yaml")))
    assert(
      options.routing.clusters == ClusterRouting.First && options.routing.failover && options.delivery.distribution
    )
    assert(options.routing.partitioner == PartitionerChoice.Fixed)
    assert(options.delivery.guarantee == DeliveryGuarantee.ExactlyOnce)
    assert(options.routing.deadLetters.contains(DeadLetterOptions("rejected", Some("blue"))))
    assert(options.delivery.transactions == TransactionOptions(
      "shop",
      Some("/checkpoint"),
      5000,
      replayLost = true,
      UnknownCommitPolicy.AssumeAborted
    ))
    assert(options.discovery == DiscoveryOptions(10000, 0, 2000, allowMissingStreams = false))
    assert(options.clusters.requestTimeoutMs == 2000 && options.clusters.clients.idPrefix.contains("me"))
    assert(options.clusters.properties.shared == Map("compression.type" -> "zstd"))
    assert(options.clusters.properties.perCluster == Map("blue.kafka.compression.type" -> "lz4"))
  }

  test("a partitioner may be a class that implements Kafka's Partitioner") {
    val name = classOf[RoundRobinPartitioner].getName
    assert(parse("partitioner" -> name).routing.partitioner == PartitionerChoice.OfClass(name))
  }

  test("the stream may be given by the rows") {
    assert(parseOnly("metadataService" -> "file").routing.streamId.isEmpty)
  }

  test("the query name, which Spark passes on, is not an option") {
    assert(parse("queryName" -> "named") == parse() && parse("queryname" -> "named") == parse())
  }

  test("metadataService is required") {
    val error = refused(parseOnly("streamId" -> "a"))
    assert(error.getCondition == "DYNAMIC_KAFKA.MISSING_OPTION")
    assert(error.getMessageParameters.get("option") == "metadataService")
  }

  private val invalid = Table(
    ("option", "value", "in the text"),
    ("streamId", " ", "empty"),
    ("clusterRouting", "random", "'key', 'first', 'all'"),
    ("deliveryGuarantee", "at-most-once", "'none', 'at-least-once', 'exactly-once'"),
    ("transactionalIdPrefix", "", "empty"),
    ("partitioner", "sticky", "the class path has no class 'sticky'"),
    ("partitioner", "java.lang.String", "does not implement org.apache.kafka.clients.producer.Partitioner"),
    ("deadLetterTopic", "", "empty"),
    ("deadLetterCluster", "blue", "'deadLetterTopic' is not set"),
    ("commitTimeoutMs", "0", "at least 1 ms"),
    ("commitTimeoutMs", "soon", "'10s'"),
    ("partialCommitPolicy", "ignore", "'fail', 'replay-lost-partitions'"),
    ("unknownCommitPolicy", "ignore", "'fail', 'assume-committed', 'assume-aborted'"),
    ("streamMetadataDiscoveryIntervalMs", "0", "at least 1 ms"),
    ("streamMetadataDiscoveryFailureThreshold", "-1", "from 0 to"),
    ("clusterRequestTimeoutMs", "-1", "at least 1 ms"),
    // the source's options
    ("streamIds", "orders", "'streamId'"),
    ("stream-ids", "orders", "'streamId'"),
    ("streamPattern", "orders-.*", "'streamId'"),
    ("startingOffsets", "earliest", "it is an option of the source, but this query writes"),
    ("endingOffsets", "latest", "it is an option of the source, but this query writes"),
    ("maxOffsetsPerTrigger", "5", "it is an option of the source, but this query writes"),
    ("failOnDataLoss", "false", "it is an option of the source, but this query writes"),
    ("clusterFailurePolicy", "skip", "it is an option of the source, but this query writes"),
    ("parseErrors", "null", "it is an option of the source, but this query writes"),
    ("includeHeaders", "true", "always writes the column 'headers'"),
    // Spark's and Flink's options
    ("path", "/data", "'streamId'"),
    ("topic", "orders", "a column 'topic'"),
    ("sink.delivery-guarantee", "none", "'deliveryGuarantee'"),
    ("sink.transactional-id-prefix", "x", "'transactionalIdPrefix'"),
    ("sink.partitioner", "fixed", "'partitioner'"),
    // Kafka's properties
    ("kafka.bootstrap.servers", "a:9092", "'cluster.<id>.kafka.bootstrap.servers'"),
    ("kafka.key.serializer", "x", "keySerializer"),
    ("kafka.value.serializer", "x", "valueSerializer"),
    ("kafka.transactional.id", "x", "'transactionalIdPrefix'"),
    ("kafka.partitioner.class", "x", "'partitioner'"),
    ("cluster.blue.kafka.transactional.id", "x", "'transactionalIdPrefix'"),
    ("cluster.blue.Partitioner.Class", "x", "'partitioner'"),
    ("kafka.", "x", "the name of the Kafka property is empty"),
    // options of one cluster
    ("cluster.blue.clusterRouting", "all", "applies to the whole query"),
    ("cluster.blue!.clusterRouting", "all", "'blue!' is not a valid cluster id"),
    ("cluster.blue", "x", "'cluster.<id>.kafka.<property>'")
  )

  test("an invalid value is refused with the name of the option and the valid values") {
    forAll(invalid) { (option, value, inText) =>
      val error = refused(parse(option -> value))
      assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(error.getMessageParameters.get("option") == option)
      assert(error.getMessage.contains(inText))
    }
  }

  private val against = Table(
    ("option", "value", "in the text"),
    ("kafka.acks", "1", "require 'all'"),
    ("kafka.Acks", "0", "require 'all'"),
    ("cluster.blue.kafka.acks", "1", "require 'all'"),
    ("cluster.blue.acks", "1", "require 'all'"),
    ("kafka.enable.idempotence", "false", "require idempotence"),
    ("cluster.b.c.enable.idempotence", "FALSE", "require idempotence")
  )

  test("transactions require acks=all, other guarantees do not") {
    forAll(against) { (option, value, inText) =>
      val error = refused(parse("deliveryGuarantee" -> "exactly-once", option -> value))
      assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(error.getMessageParameters.get("option") == option)
      assert(error.getMessage.contains(inText) && error.getMessage.contains("'exactly-once'"))
      assert(parse(
        "deliveryGuarantee" -> "none",
        option -> value
      ).delivery.guarantee == DeliveryGuarantee.None)
    }
    Seq("kafka.acks" -> "all", "kafka.acks" -> "-1", "kafka.enable.idempotence" -> "true").foreach(same =>
      assert(parse(
        "deliveryGuarantee" -> "exactly-once",
        same
      ).delivery.guarantee == DeliveryGuarantee.ExactlyOnce)
    )
  }

  test("acks of the metadata are checked for each cluster; acks=1 is a warning") {
    def of(guarantee: DeliveryGuarantee, properties: (String, String)*) = {
      val options = parse("kafka.linger.ms" -> "1").clusters
      Acknowledgements.check(
        guarantee,
        "blue",
        new ClusterScope(options, Set("blue")).producer("blue", properties.toMap).client
      )
    }
    def refusedBy(guarantee: DeliveryGuarantee, property: (String, String)) = {
      val error = refused(of(guarantee, property))
      assert(error.getCondition == "DYNAMIC_KAFKA.METADATA_INVALID")
      assert(error.getMessageParameters.get("where") == s"cluster 'blue', property '${property._1}'")
    }
    refusedBy(DeliveryGuarantee.AtLeastOnce, "acks" -> "0")
    refusedBy(DeliveryGuarantee.ExactlyOnce, "acks" -> "1")
    refusedBy(DeliveryGuarantee.ExactlyOnce, "enable.idempotence" -> "false")
    assert(of(DeliveryGuarantee.AtLeastOnce, "acks" -> "1").exists(_.contains("cluster 'blue' has 'acks=1'")))
    assert(of(DeliveryGuarantee.AtLeastOnce, "acks" -> "all").isEmpty)
    assert(of(DeliveryGuarantee.None, "acks" -> "0").isEmpty)
  }

  test("a cluster that only the journal has: the address from there, and credentials from the options") {
    val options =
      parse(
        "kafka.security.protocol" -> "SASL_SSL",
        "cluster.old.kafka.sasl.jaas.config" -> "a secret"
      ).clusters
    val client =
      new ClusterScope(options, Set("old")).producer("old", Map("bootstrap.servers" -> "old:1")).client
    assert(client("bootstrap.servers") == "old:1" && client("security.protocol") == "SASL_SSL")
    assert(client("sasl.jaas.config") == "a secret")
  }

  test("at-least-once requires acknowledgements, of one replica at least") {
    Seq("kafka.acks", "kafka.Acks", "cluster.blue.kafka.acks", "cluster.blue.acks").foreach { option =>
      val error = refused(parse(option -> "0"))
      assert(error.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION")
      assert(
        error.getMessage.contains("'at-least-once'") && error.getMessageParameters.get("option") == option
      )
      Seq("1", "all", "-1").foreach { value =>
        assert(parse(option -> value).delivery.guarantee == DeliveryGuarantee.AtLeastOnce)
      }
    }
  }

  test("a job has no id: the error says what to do instead") {
    Seq("jobId", "job-id").foreach { name =>
      val error = refused(parse(name -> "nightly"))
      assert(error.getCondition == "DYNAMIC_KAFKA.UNKNOWN_OPTION")
      assert(error.getMessage.contains(s"'$name' is not an option of this data source. A batch job"))
    }
  }

  private val unknown = Table(
    ("option", "suggestion"),
    ("streamsId", Some("streamId")),
    ("clusterRooting", Some("clusterRouting")),
    ("delivery-guarantees", Some("deliveryGuarantee")),
    ("compression.type", Some("kafka.compression.type")),
    ("kafak.linger.ms", Some("kafka.linger.ms")),
    ("committedOffsetsFallback", None),
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
}

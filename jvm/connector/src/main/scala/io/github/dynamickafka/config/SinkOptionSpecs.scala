package io.github.dynamickafka.config

import io.github.dynamickafka.config.option.{OptionSpec, OptionTable, OptionType, UnsupportedOptions}

/** Every option of the sink, as [[SourceOptionSpecs]] has those of the source. */
private[dynamickafka] object SinkOptionSpecs {
  import OptionType._

  val MetadataService: OptionSpec[String] = SourceOptionSpecs.MetadataService

  val StreamId: OptionSpec[String] = OptionSpec(
    "streamId",
    text,
    None,
    "this or a column `stream`",
    "The stream to write to, for rows that do not name one in a column `stream`."
  )

  val Routing: OptionSpec[ClusterRouting] = OptionSpec(
    "clusterRouting",
    oneOf("key" -> ClusterRouting.Key, "first" -> ClusterRouting.First, "all" -> ClusterRouting.All),
    Some(ClusterRouting.Key),
    "`key`",
    "Which of the stream's clusters that take writes a record goes to: `key` to one, told by a hash of the key (without " +
      "a key, each task of a batch takes one in turn); `first` to the first one in the metadata; `all` to every one. A " +
      "row's own `cluster` goes before that."
  )

  val Guarantee: OptionSpec[DeliveryGuarantee] = OptionSpec(
    "deliveryGuarantee",
    oneOf(
      "none" -> DeliveryGuarantee.None,
      "at-least-once" -> DeliveryGuarantee.AtLeastOnce,
      "exactly-once" -> DeliveryGuarantee.ExactlyOnce
    ),
    Some(DeliveryGuarantee.AtLeastOnce),
    "`at-least-once`",
    "`none`: records are sent and nobody waits for them; `at-least-once`: a batch is done when every record is " +
      "acknowledged; `exactly-once`: a batch appears once on every cluster, or not at all, for readers with " +
      "`read_committed`. A streaming query needs `checkpointLocation` as an option for that."
  )

  val TransactionalIdPrefix: OptionSpec[String] = OptionSpec(
    "transactionalIdPrefix",
    text,
    Some("dynamic-kafka"),
    "`dynamic-kafka`",
    "How transactional ids start, for ACLs (`exactly-once`). The query's id and what makes an attempt unique follow."
  )

  val Partitioner: OptionSpec[PartitionerChoice] = OptionSpec(
    "partitioner",
    OptionType(
      "`default`, `fixed`, `round-robin`, class name",
      PartitionerChoice.parse
    ),
    Some(PartitionerChoice.Default),
    "`default`",
    "Which partition a record without `partition` goes to: `default` is Kafka's own way; `fixed`: one partition for each " +
      "task; `round-robin`: all in turn; or a class that implements Kafka's `Partitioner`."
  )

  val DeadLetterTopic: OptionSpec[String] = OptionSpec(
    "deadLetterTopic",
    text,
    None,
    "a row that cannot be routed fails the batch",
    "The topic that rows go to which cannot be routed, on the row's cluster. Headers `dynamic-kafka-...` tell why."
  )

  val DeadLetterCluster: OptionSpec[String] = OptionSpec(
    "deadLetterCluster",
    text,
    None,
    "-",
    "The cluster whose `deadLetterTopic` takes rows that have no cluster."
  )

  val CommitTimeoutMs: OptionSpec[Long] = OptionSpec(
    "commitTimeoutMs",
    duration(min = 1),
    Some(60000L),
    "`60000`",
    "How long the transactions of a decided batch may take to be committed before the query fails (`exactly-once`). The " +
      "decision stands: the next start of the query commits what is left."
  )

  val PartialCommitPolicy: OptionSpec[Boolean] = OptionSpec(
    "partialCommitPolicy",
    oneOf("fail" -> false, "replay-lost-partitions" -> true),
    Some(false),
    "`fail`",
    "What happens at a start when Kafka has aborted some transactions of a decided batch after others were committed, " +
      "because an outage was longer than `transaction.timeout.ms`: `fail` tells what is missing, " +
      "`replay-lost-partitions` writes the tasks' missing part again, and needs a query whose batches can be repeated " +
      "partition by partition."
  )

  val CheckpointLocation: OptionSpec[String] = OptionSpec(
    "checkpointLocation",
    text,
    None,
    "-",
    "Spark's own option. With `exactly-once` the journal of decisions is kept there. Spark does not tell a sink of a " +
      "location that comes from `spark.sql.streaming.checkpointLocation`."
  )

  private def all: Seq[OptionSpec[_]] = Seq(
    MetadataService,
    StreamId,
    Routing,
    Guarantee,
    TransactionalIdPrefix,
    Partitioner,
    DeadLetterTopic,
    DeadLetterCluster,
    CommitTimeoutMs,
    PartialCommitPolicy,
    CheckpointLocation,
    SourceOptionSpecs.DiscoveryIntervalMs,
    SourceOptionSpecs.DiscoveryFailureThreshold,
    SourceOptionSpecs.ClusterRequestTimeoutMs,
    SourceOptionSpecs.ClientIdPrefix
  )

  val table: OptionTable = new OptionTable(all, UnsupportedOptions.OfSink)
}

package io.github.dynamickafka.config

import io.github.dynamickafka.format.table.WriteOptionSpecs
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.option.{OptionSpec, OptionTable, OptionType}
import io.github.dynamickafka.page.PageOptionSpecs

/** The options of the sink: the only declaration for parsing, suggestions and `docs/options.md`. */
private[dynamickafka] object SinkOptionSpecs {
  import OptionType._

  val MetadataService: OptionSpec[String] = SourceOptionSpecs.MetadataService

  val StreamId: OptionSpec[String] = OptionSpec(
    "streamId",
    text,
    None,
    "this or a column `stream`",
    "The id of the stream to write to. A value in the column `stream` of a row takes precedence."
  )

  val Routing: OptionSpec[ClusterRouting] = OptionSpec(
    "clusterRouting",
    oneOf("key" -> ClusterRouting.Key, "first" -> ClusterRouting.First, "all" -> ClusterRouting.All),
    Some(ClusterRouting.Key),
    "`key`",
    "Which of the writable clusters of the stream a record is written to. `key`: one cluster, chosen by a hash of the " +
      "key; for records without a key, each task of a batch uses one cluster, chosen in turn. `first`: the first " +
      "cluster in the metadata. `all`: every cluster. A value in the column `cluster` of a row takes precedence."
  )

  val WriteFailover: OptionSpec[Boolean] = OptionSpec(
    "writeFailover",
    oneOf("none" -> false, "next" -> true),
    Some(false),
    "`none`",
    "With `clusterRouting` `key` or `first`: what happens to a batch if a cluster does not respond, or refuses the " +
      "credentials, when the batch starts. `none`: the batch fails if it has records for this cluster. `next`: its records " +
      "go to the other writable clusters of the stream, and the cluster is asked again for a later batch. This moves keys " +
      "to other clusters and back. Rows with a value in the column `cluster` are not affected, nor are outages in the " +
      "middle of a batch."
  )

  val ClusterDistribution: OptionSpec[Boolean] = OptionSpec(
    "clusterDistribution",
    oneOf("auto" -> true, "off" -> false),
    Some(false),
    "`off`",
    "With `exactly-once`: whether Spark distributes the rows of a batch to tasks by their target cluster, so that a batch has " +
      "about as many transactions as clusters, instead of one for each task and cluster. `auto`: if the rows have a column " +
      "`cluster` that cannot be null. The cost is a shuffle, and fewer tasks that write."
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
    "`none`: fire and forget, acknowledgements are not awaited. `at-least-once`: a batch is complete when every record " +
      "is acknowledged. `exactly-once`: for consumers with isolation level `read_committed`, a batch appears once on " +
      "every cluster or not at all, unless the query ends with `PARTIAL_COMMIT`; queries and jobs then require `checkpointLocation` as an option."
  )

  val TransactionalIdPrefix: OptionSpec[String] = OptionSpec(
    "transactionalIdPrefix",
    text,
    Some("dynamic-kafka"),
    "`dynamic-kafka`",
    "With `exactly-once`: the prefix of transactional ids, for ACLs. The ids of the query and of the cluster, and " +
      "a suffix that is unique for each task attempt, are appended."
  )

  val Partitioner: OptionSpec[PartitionerChoice] = OptionSpec(
    "partitioner",
    OptionType(
      "`default`, `fixed`, `round-robin`, class name",
      PartitionerChoice.parse
    ),
    Some(PartitionerChoice.Default),
    "`default`",
    "How the partition of a record is chosen if the row has no `partition`. `default`: the default partitioner of the " +
      "Kafka producer; `fixed`: one partition per task; `round-robin`: all partitions in turn; or the name of a class " +
      "that implements Kafka's `Partitioner`."
  )

  val DeadLetterTopic: OptionSpec[String] = OptionSpec(
    "deadLetterTopic",
    text,
    None,
    "none: a row that cannot be routed fails the batch",
    "The topic, on the cluster of the row, for rows that cannot be routed. Headers `dynamic-kafka-...` contain the reason."
  )

  val DeadLetterCluster: OptionSpec[String] = OptionSpec(
    "deadLetterCluster",
    text,
    None,
    "-",
    "The cluster whose `deadLetterTopic` receives rows for which no cluster is known."
  )

  val CommitTimeoutMs: OptionSpec[Long] = OptionSpec(
    "commitTimeoutMs",
    duration(min = 1),
    Some(60000L),
    "`60000`",
    "With `exactly-once`: the time limit for committing the transactions of a batch after the decision to commit it. When " +
      "it expires, the query fails. The decision remains valid: the next start of the query commits the pending " +
      "transactions."
  )

  val PartialCommitPolicy: OptionSpec[Boolean] = OptionSpec(
    "partialCommitPolicy",
    oneOf("fail" -> false, "replay-lost-partitions" -> true),
    Some(false),
    "`fail`",
    "What happens at the start of a query if Kafka aborted some transactions of a batch after others were committed, " +
      "because an outage was longer than `transaction.timeout.ms`. `fail` fails the query and lists the missing " +
      "transactions. `replay-lost-partitions` writes only the missing parts again; it requires that each run of a batch " +
      "gives every task the same rows."
  )

  val UnknownCommit: OptionSpec[UnknownCommitPolicy] = OptionSpec(
    "unknownCommitPolicy",
    oneOf(
      "fail" -> UnknownCommitPolicy.Fail,
      "assume-committed" -> UnknownCommitPolicy.AssumeCommitted,
      "assume-aborted" -> UnknownCommitPolicy.AssumeAborted
    ),
    Some(UnknownCommitPolicy.Fail),
    "`fail`",
    "What happens if Kafka cannot say whether a transaction of a decided batch was committed: its id has expired " +
      "(`transactional.id.expiration.ms` of the brokers, 7 days by default), or the cluster id leads to another Kafka cluster. " +
      "`fail` fails the query with `TRANSACTION_UNKNOWN` and lists the transactions. `assume-committed` does not write them " +
      "again: if they were aborted, their records are lost. `assume-aborted` writes them again, or treats them as lost if " +
      "another part of the batch is committed: if they were committed, their records are duplicated. Unset it when the query " +
      "runs again."
  )

  val CheckpointLocation: OptionSpec[String] = OptionSpec(
    "checkpointLocation",
    text,
    None,
    "-",
    "Spark's option. With `exactly-once`, the journal of the sink is stored in this location, also for batch jobs. Spark " +
      "does not pass a location that is set by `spark.sql.streaming.checkpointLocation` to a sink."
  )

  private def all: Seq[OptionSpec[_]] = Seq(
    MetadataService,
    StreamId
  ) ++ WriteOptionSpecs.all ++ Seq(
    Routing,
    WriteFailover,
    ClusterDistribution,
    Guarantee,
    TransactionalIdPrefix,
    Partitioner,
    DeadLetterTopic,
    DeadLetterCluster,
    CommitTimeoutMs,
    PartialCommitPolicy,
    UnknownCommit,
    CheckpointLocation,
    SourceOptionSpecs.DiscoveryIntervalMs,
    SourceOptionSpecs.DiscoveryFailureThreshold,
    SourceOptionSpecs.ClusterRequestTimeoutMs,
    SourceOptionSpecs.ClientMetrics,
    SourceOptionSpecs.ClientIdPrefix
  ) ++ PageOptionSpecs.all

  val table: OptionTable = new OptionTable(
    all,
    RefusedOptions.OfSink,
    WriteOptionSpecs.formats.map(_.name) ++ WriteOptionSpecs.classes.map(_.name),
    WriteOptionSpecs.readsOnly,
    KafkaProperties.isKnown
  )
}

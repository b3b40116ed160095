package io.github.dynamickafka.config

import java.util.Locale

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.{Partitioner => KafkaPartitioner}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{
  ClusterRegistries,
  DeadLetterOptions,
  FormatOptionsParser,
  WriteOptionSpecs
}
import io.github.dynamickafka.kafka.{KafkaProperties, SecretOptions}
import io.github.dynamickafka.option.{NamedClass, OptionSpecs, OptionTable, OptionType, RawOptions}
import io.github.dynamickafka.page.{PageOptionSpecs, PageSettings}

/** The options of the sink: the only declaration for parsing, suggestions and `docs/options.md`. */
private[dynamickafka] object SinkOptionSpecs extends OptionSpecs {
  import OptionType._

  include(Seq(SourceOptionSpecs.MetadataService))

  val StreamId = optional("streamId", text, "required, or a column `stream`")(
    "The stream to write to. A value in the column `stream` of a row takes precedence."
  )

  include(WriteOptionSpecs.all)

  val Routing = option(
    "clusterRouting",
    oneOf("key" -> ClusterRouting.Key, "first" -> ClusterRouting.First, "all" -> ClusterRouting.All),
    "key"
  )(
    "Which writable cluster a record goes to, if its row has no value in the column `cluster`: one by a hash of the " +
      "key (`key`; without a key, each task of a batch uses one, in turn), the first one in the metadata (`first`), or " +
      "all."
  )

  val WriteFailover = option(
    "writeFailover",
    oneOf("none" -> false, "next" -> true),
    "none",
    requires = raw =>
      Option.when(raw.get(Routing) == ClusterRouting.All)(
        s"with '${Routing.name}=all' every cluster gets each record, so that no other one can get those of a cluster that is " +
          "unreachable."
      )
  )(
    "With `clusterRouting` `key` or `first`: whether records go to the other writable clusters while one [does not " +
      "respond](sink.md#clusters-that-do-not-respond); otherwise their batch fails."
  )

  val ClusterDistribution = option("clusterDistribution", oneOf("auto" -> true, "off" -> false), "off")(
    "With `exactly-once`: `auto` shuffles rows by a column `cluster` that cannot be null, for [fewer " +
      "transactions](sink.md#number-of-transactions)."
  )

  val Guarantee = option(
    "deliveryGuarantee",
    oneOf(
      "none" -> DeliveryGuarantee.None,
      "at-least-once" -> DeliveryGuarantee.AtLeastOnce,
      "exactly-once" -> DeliveryGuarantee.ExactlyOnce
    ),
    "at-least-once"
  )(
    "See [delivery guarantees](sink.md#delivery-guarantees). `exactly-once` requires `checkpointLocation`."
  )

  val TransactionalIdPrefix = option("transactionalIdPrefix", text, "dynamic-kafka")(
    "With `exactly-once`: the prefix of transactional ids, for ACLs."
  )

  val Partitioner = option(
    "partitioner",
    OptionType("`default`, `fixed`, `round-robin`, class name", PartitionerChoice.parse),
    "default"
  )(
    "How the partition is chosen if the row has none: by the producer's default, one per task (`fixed`), all in " +
      "turn (`round-robin`), or a class that implements Kafka's `Partitioner`."
  )

  val DeadLetterTopic = optional(
    "deadLetterTopic",
    text,
    "none: a row that cannot be routed fails the batch"
  )(
    "The topic, on the cluster of the row, for [rows that cannot be routed](sink.md#dead-letters)."
  )

  val DeadLetterCluster = optional(
    "deadLetterCluster",
    text,
    requires = raw =>
      Option.unless(raw.isSet(DeadLetterTopic))(
        s"it has no effect, because '${DeadLetterTopic.name}' is not set."
      )
  )(
    "The cluster whose `deadLetterTopic` receives rows for which no cluster is known."
  )

  val CommitTimeoutMs = option("commitTimeoutMs", duration(min = 1), "60000")(
    "With `exactly-once`: the time limit for committing a decided batch " +
      "([COMMIT_INCOMPLETE](errors.md#commit_incomplete))."
  )

  val PartialCommitPolicy = option(
    "partialCommitPolicy",
    oneOf("fail" -> false, "replay-lost-partitions" -> true),
    "fail"
  )(
    "At a start after [PARTIAL_COMMIT](errors.md#partial_commit): fail, or write the lost parts again, which " +
      "requires that each run of a batch gives every task the same rows."
  )

  val UnknownCommit = option(
    "unknownCommitPolicy",
    oneOf(
      "fail" -> UnknownCommitPolicy.Fail,
      "assume-committed" -> UnknownCommitPolicy.AssumeCommitted,
      "assume-aborted" -> UnknownCommitPolicy.AssumeAborted
    ),
    "fail"
  )(
    "What is assumed of transactions after [TRANSACTION_UNKNOWN](errors.md#transaction_unknown). With " +
      "`assume-committed`, aborted ones are lost; with `assume-aborted`, committed ones are duplicated. For one " +
      "start only."
  )

  val CheckpointLocation = optional("checkpointLocation", text)(
    "Spark's option. With `exactly-once`, the folder of the journal, also for batch jobs."
  )

  include(Seq(
    SourceOptionSpecs.DiscoveryIntervalMs,
    SourceOptionSpecs.DiscoveryFailureThreshold,
    SourceOptionSpecs.ClusterRequestTimeoutMs,
    SourceOptionSpecs.ClientMetrics,
    SourceOptionSpecs.ClientIdPrefix
  ))
  include(PageOptionSpecs.all)

  val table: OptionTable = new OptionTable(
    all,
    RefusedOptions.OfSink,
    WriteOptionSpecs.formats.map(_.name) ++ WriteOptionSpecs.classes.map(_.name),
    WriteOptionSpecs.readsOnly,
    KafkaProperties.isKnown
  )
}

/**
 * The parsed and checked options of a query that writes. Contains Kafka properties, so `toString` shows only the stream
 * and the delivery guarantee.
 */
private[dynamickafka] final case class SinkOptions(
    service: ServiceOptions,
    discovery: DiscoveryOptions,
    clusters: ClusterOptions,
    routing: RoutingOptions,
    delivery: DeliveryOptions,
    records: RecordOptions,
    page: Option[PageSettings]
) {

  /**
   * The metadata of the stream to which all rows are written.
   *
   * @param why what of the stream is needed, and why, for the error
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException MISSING_OPTION
   */
  def ofStream(why: String): MetadataOptions = {
    val name = SinkOptionSpecs.StreamId.name
    val id = routing.streamId.getOrElse(throw Errors.missingOption(name, s"set it to the stream whose $why."))
    MetadataOptions(service, Subscription.Ids(Seq(id)), discovery)
  }

  override def toString: String =
    s"SinkOptions(${routing.streamId.getOrElse("by row")}, ${delivery.guarantee})"
}

/**
 * Where a row goes.
 *
 * @param streamId None: the rows say it
 * @param deadLetters the destination of rows that cannot be routed
 */
private[dynamickafka] final case class RoutingOptions(
    streamId: Option[String],
    clusters: ClusterRouting,
    failover: Boolean,
    partitioner: PartitionerChoice,
    deadLetters: Option[DeadLetterOptions]
)

/** @param distribution whether rows are shuffled by their cluster */
private[dynamickafka] final case class DeliveryOptions(
    guarantee: DeliveryGuarantee,
    distribution: Boolean,
    transactions: TransactionOptions
)

private[dynamickafka] object SinkOptions {
  import SinkOptionSpecs._

  /** Parses the options, with the contract of [[SourceOptions.parse]]. */
  def parse(
      options: CaseInsensitiveStringMap,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SinkOptions = {
    val raw = RawOptions.checked(withoutName(options), table)
    SecretOptions.warn(raw)
    ClusterScope.checkValues(raw)
    val guarantee = raw.get(Guarantee)
    Acknowledgements.check(guarantee, raw)
    SinkOptions(
      SourceOptionSpecs.service(raw),
      SourceOptionSpecs.discovery(raw),
      ClusterOptions(raw, table),
      RoutingOptions(
        raw.find(StreamId),
        raw.get(Routing),
        raw.get(WriteFailover),
        raw.get(Partitioner),
        raw.find(DeadLetterTopic).map(DeadLetterOptions(_, raw.find(DeadLetterCluster)))
      ),
      DeliveryOptions(
        guarantee,
        raw.get(ClusterDistribution),
        TransactionOptions(
          raw.get(TransactionalIdPrefix),
          raw.find(CheckpointLocation),
          raw.get(CommitTimeoutMs),
          raw.get(PartialCommitPolicy),
          raw.get(UnknownCommit)
        )
      ),
      RecordOptions(
        FormatOptionsParser.writing(raw, isCatalogTable),
        ClusterRegistries(isCatalogTable, ofStatement)
      ),
      PageOptionSpecs.parse(raw)
    )
  }

  /** Spark passes the name of a query as an option. */
  private def withoutName(options: CaseInsensitiveStringMap) = new CaseInsensitiveStringMap(
    options.asCaseSensitiveMap.asScala.filterNot(_._1.equalsIgnoreCase("queryName")).asJava
  )
}

private[dynamickafka] sealed trait ClusterRouting extends Product with Serializable
private[dynamickafka] object ClusterRouting {
  case object Key extends ClusterRouting
  case object First extends ClusterRouting
  case object All extends ClusterRouting
}

private[dynamickafka] sealed trait DeliveryGuarantee extends Product with Serializable
private[dynamickafka] object DeliveryGuarantee {
  case object None extends DeliveryGuarantee
  case object AtLeastOnce extends DeliveryGuarantee
  case object ExactlyOnce extends DeliveryGuarantee
}

/**
 * The values of `acks` and `enable.idempotence` that a delivery guarantee accepts. Kafka rejects some of them too, but only
 * when a task creates its producer, and with `acks=0` a producer reports records as sent that no broker has received.
 */
private[dynamickafka] object Acknowledgements {
  private val Acks = "acks"
  private val Idempotence = "enable.idempotence"

  /** Checks the options, before a query starts. */
  private[config] def check(guarantee: DeliveryGuarantee, raw: RawOptions): Unit = {
    val written = raw.kafka.map { case (name, value) => (s"kafka.$name", name, value) } ++
      raw.cluster.map { case (key, value) => (s"cluster.$key", key, value) }
    written.foreach { case (writtenAs, key, value) =>
      val lower = key.toLowerCase(Locale.ROOT)
      // The id of a cluster may contain dots.
      val property =
        Seq(Acks, Idempotence).find(name => lower == name || lower.endsWith(s".$name"))
      for (name <- property; reason <- refusal(guarantee, name, value))
        throw Errors.invalidOption(writtenAs, value, reason)
    }
  }

  /**
   * Checks the properties of a cluster, which options and metadata have set.
   *
   * @return a warning
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def check(guarantee: DeliveryGuarantee, cluster: String, client: Map[String, String]): Option[String] = {
    val set = Seq(Acks, Idempotence).flatMap(name => client.get(name).map(name -> _))
    for ((name, value) <- set; reason <- refusal(guarantee, name, value))
      throw Errors.metadataInvalid(
        s"cluster '$cluster', property '$name'",
        s"the value is '$value': $reason"
      )
    client.get(Acks).filter(_.trim == "1" && guarantee == DeliveryGuarantee.AtLeastOnce).map(_ =>
      s"Kafka cluster '$cluster' has 'acks=1': records that the leader of a partition has acknowledged are " +
        "lost if it fails before another broker has copied them"
    )
  }

  private def refusal(guarantee: DeliveryGuarantee, property: String, value: String): Option[String] =
    (guarantee, property, value.trim.toLowerCase(Locale.ROOT)) match {
      case (DeliveryGuarantee.ExactlyOnce, Idempotence, "false") =>
        Some("'deliveryGuarantee' is 'exactly-once', and transactions require idempotence.")
      case (DeliveryGuarantee.ExactlyOnce, Acks, acks) if acks != "all" && acks != "-1" =>
        Some("'deliveryGuarantee' is 'exactly-once', and transactions require 'all'.")
      case (DeliveryGuarantee.AtLeastOnce, Acks, "0") =>
        Some(
          "'deliveryGuarantee' is 'at-least-once', and without acknowledgements a lost record is not noticed; " +
            "'deliveryGuarantee' 'none' accepts it."
        )
      case _ => None
    }
}

private[dynamickafka] sealed trait PartitionerChoice extends Product with Serializable
private[dynamickafka] object PartitionerChoice {
  case object Default extends PartitionerChoice
  case object Fixed extends PartitionerChoice
  case object RoundRobin extends PartitionerChoice

  /** An implementation of Kafka's `Partitioner`, which the producers instantiate. */
  final case class OfClass(name: String) extends PartitionerChoice

  private val words =
    OptionType.oneOf[PartitionerChoice]("default" -> Default, "fixed" -> Fixed, "round-robin" -> RoundRobin)

  def parse(text: String): Either[String, PartitionerChoice] =
    words.parse(text).orElse(NamedClass.find(text, classOf[KafkaPartitioner]).map(_ =>
      OfClass(text)
    )).left.map(problem => s"it is neither 'default', 'fixed' nor 'round-robin', nor a partitioner: $problem")
}

/** Options of exactly-once delivery. */
private[dynamickafka] final case class TransactionOptions(
    idPrefix: String,
    checkpointLocation: Option[String],
    commitTimeoutMs: Long,
    replayLost: Boolean,
    unknown: UnknownCommitPolicy
)

/** What is assumed about a transaction of which Kafka cannot say whether it was committed. */
private[dynamickafka] sealed trait UnknownCommitPolicy extends Product with Serializable
private[dynamickafka] object UnknownCommitPolicy {
  case object Fail extends UnknownCommitPolicy
  case object AssumeCommitted extends UnknownCommitPolicy
  case object AssumeAborted extends UnknownCommitPolicy
}

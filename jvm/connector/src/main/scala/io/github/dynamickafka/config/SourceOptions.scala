package io.github.dynamickafka.config

import java.util.Locale

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.format.table.{
  ClusterRegistries,
  FormatOptionSpecs,
  FormatOptionsParser,
  FormatTable,
  Formats,
  WriteOptionSpecs
}
import io.github.dynamickafka.kafka.{KafkaProperties, SecretOptions}
import io.github.dynamickafka.option._
import io.github.dynamickafka.page.{PageOptionSpecs, PageSettings}

/**
 * The options of the source: the only declaration for parsing, suggestions and `docs/options.md`, where they are in the order of these
 * traits.
 */
private[dynamickafka] object SourceOptionSpecs extends SubscriptionSpecs
    with PositionSpecs
    with DiscoverySpecs
    with ReplacedClusterSpecs
    with ClusterSpecs
    with LimitSpecs
    with AlignmentSpecs
    with TaskSpecs
    with RealTimeSpecs
    with ColumnSpecs
    with ClientSpecs
    with CommitSpecs {
  include(PageOptionSpecs.all ++ FormatOptionSpecs.all)

  val table: OptionTable = new OptionTable(
    all,
    RefusedOptions.OfSource,
    Formats.registered.all.map(_.name) ++ FormatOptionSpecs.classes.map(_.name),
    WriteOptionSpecs.writesOnly,
    KafkaProperties.isKnown,
    Seq(ReplicationPolicyProperty)
  )
}

/** Columns of rows without a format. */
private[config] trait ColumnSpecs extends OptionSpecs {

  val IncludeHeaders = option("includeHeaders", OptionType.boolean, "false")(
    "Whether rows have the column `headers`."
  )
}

/**
 * The parsed and checked options of a query. Contains Kafka properties, so `toString` shows only the subscription.
 *
 * @param remembered as the user wrote them, what the checkpoint stores of them
 */
private[dynamickafka] final case class SourceOptions(
    metadata: MetadataOptions,
    offsets: OffsetsOptions,
    clusters: ClusterOptions,
    batches: BatchOptions,
    records: RecordOptions,
    page: Option[PageSettings],
    remembered: SortedMap[String, String]
) {
  def changes: ClusterChangeOptions = metadata.changes

  override def toString: String = s"SourceOptions(${metadata.subscription.text})"
}

/** Which streams a query reads, and how it learns of them. */
private[dynamickafka] final case class MetadataOptions(
    service: ServiceOptions,
    subscription: Subscription,
    discovery: DiscoveryOptions,
    changes: ClusterChangeOptions = ClusterChangeOptions()
)

/** @param includeHeaders whether rows without a format have the column `headers` */
private[dynamickafka] final case class RecordOptions(
    format: FormatTable,
    registries: ClusterRegistries,
    includeHeaders: Boolean = false
)

private[dynamickafka] object SourceOptions {
  import SourceOptionSpecs._

  /**
   * Throws an error for the first option that is unknown, missing or invalid, or that has no effect. Pure, except for a log warning
   * about secrets.
   *
   * @param isCatalogTable whether the formats are those of a table of a catalog, over which the metadata of a cluster takes precedence
   * @param ofStatement names of options over which it does not, because one query of the table sets them
   */
  def parse(
      options: CaseInsensitiveStringMap,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SourceOptions = {
    val raw = RawOptions.checked(options, table)
    SecretOptions.warn(raw)
    ClusterScope.checkValues(raw)
    // What a policy requires is named first.
    val replaced = replacedClusters(raw)
    val offsets = OffsetsOptions(raw)
    SourceOptions(
      MetadataOptions(service(raw), subscription(raw), discovery(raw), changes(raw, replaced)),
      offsets,
      ClusterOptions(raw, table),
      BatchOptions(LimitOptions(raw), alignment(raw), RealTimeOptions(raw)),
      RecordOptions(
        FormatOptionsParser.reading(raw, isCatalogTable),
        ClusterRegistries(isCatalogTable, ofStatement),
        raw.get(IncludeHeaders)
      ),
      PageOptionSpecs.parse(raw),
      RememberedOptions(raw)
    )
  }

  /** The options in a checkpoint, which is not trusted: an address among them would get the log-in of the metadata. */
  def remembered(stored: Map[String, String]): Map[String, String] =
    RememberedOptions(RawOptions(new CaseInsensitiveStringMap(stored.asJava), table))
}

/**
 * The options that decide what the next batch of a query reads. They are stored in its checkpoint for the command `plan`, so
 * no option that may contain a secret is among them.
 */
private object RememberedOptions {
  import SourceOptionSpecs._

  private val ofQuery: Seq[OptionSpec[_]] = Seq(
    StreamIds,
    StreamPattern,
    NewClusterStartingOffsets,
    NewTopicStartingOffsets,
    RemovedClusterPolicy,
    RemovedClusterRetentionMs,
    MaxRemovedClusters,
    AllowMissingStreams,
    ReplacedPolicy,
    MirrorMakerSourceAlias,
    MirrorMakerReplicationPolicy,
    // Some policies require them.
    CommitOffsets,
    CommitGroupId,
    MaxOffsetsPerTrigger,
    MaxBytesPerTrigger,
    MinOffsetsPerTrigger,
    Alignment
  )
  private val ofCluster: Set[OptionSpec[_]] =
    Set(StartingOffsets, StartingTimestamp, StartingOffsetsByTimestamp, MaxOffsetsPerTrigger)

  /** The options that are set, under their documented names, with the values that the user wrote. */
  def apply(raw: RawOptions): SortedMap[String, String] = {
    val declared = ofQuery.flatMap(spec => raw.written(spec).map(spec.name -> _.value))
    val clusters = raw.cluster.toSeq.flatMap { case (key, value) =>
      ClusterKeys.endsWithOption(key, table).collect {
        case (id, spec) if ofCluster(spec) => s"cluster.$id.${spec.name}" -> value
      }
    }
    val ofPolicy = raw.under(ReplicationPolicyProperty).map { case (name, value) =>
      ReplicationPolicyProperty + name -> value
    }
    val ofClients = (isolation(raw) ++ (ofPolicy -- SecretOptions.contained(ofPolicy)))
      .filterNot(_._2.contains("${"))
    SortedMap.from(declared ++ clusters ++ ofClients)
  }

  /** Up to which offset a partition is read, of all clusters and of one. */
  private def isolation(raw: RawOptions): Map[String, String] = {
    def is(name: String) = name.toLowerCase(Locale.ROOT).endsWith(ConsumerConfig.ISOLATION_LEVEL_CONFIG)
    raw.kafka.collect {
      case (name, value) if is(name) => s"${OptionName.Kafka}${name.toLowerCase(Locale.ROOT)}" -> value
    } ++
      raw.cluster.collect { case (name, value) if is(name) => s"${OptionName.Cluster}$name" -> value }
  }
}

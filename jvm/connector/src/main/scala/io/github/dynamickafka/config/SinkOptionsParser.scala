package io.github.dynamickafka.config

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{ClusterRegistries, FormatOptionsParser}
import io.github.dynamickafka.kafka.SecretOptions
import io.github.dynamickafka.option.RawOptions
import io.github.dynamickafka.page.PageOptionSpecs
import io.github.dynamickafka.topology.UnreachableReplayPolicy

/** Parses the options of a query that writes into [[SinkOptions]], with the contract of [[SourceOptionsParser]]. */
private[dynamickafka] object SinkOptionsParser {
  import SinkOptionSpecs._

  /**
   * @param isCatalogTable see [[SourceOptionsParser]]
   * @param ofStatement see [[SourceOptionsParser]]
   */
  def parse(
      options: CaseInsensitiveStringMap,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SinkOptions = {
    val raw = RawOptions(withoutName(options), table)
    SecretOptions.warn(raw)
    ClusterScope.checkValues(raw)
    val guarantee = raw.get(Guarantee)
    Acknowledgements.check(guarantee, raw)
    SinkOptions(
      service = MetadataServiceSpecs.parse(raw),
      streamId = raw.find(StreamId),
      discovery = DiscoveryOptions(
        intervalMs = raw.get(SourceOptionSpecs.DiscoveryIntervalMs),
        failureThreshold = raw.get(SourceOptionSpecs.DiscoveryFailureThreshold),
        callTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
        allowMissingStreams = false
      ),
      clusters = ClusterOptions(
        skipUnreachable = false,
        failureTimeoutMs = -1L,
        requestTimeoutMs = raw.get(SourceOptionSpecs.ClusterRequestTimeoutMs),
        unreachableReplay = UnreachableReplayPolicy.Fail,
        groupIdPrefix = None,
        shared = raw.kafka,
        perCluster = raw.cluster,
        clientIdPrefix = raw.find(SourceOptionSpecs.ClientIdPrefix),
        table = table,
        clientMetrics = Option.when(raw.get(SourceOptionSpecs.ClientMetrics))("query")
      ),
      routing = raw.get(Routing),
      failover = failover(raw),
      distribution = raw.get(ClusterDistribution),
      guarantee = guarantee,
      partitioner = raw.get(Partitioner),
      deadLetters = deadLetters(raw),
      transactions = TransactionOptions(
        raw.get(TransactionalIdPrefix),
        raw.find(CheckpointLocation),
        raw.get(CommitTimeoutMs),
        raw.get(PartialCommitPolicy),
        raw.get(UnknownCommit)
      ),
      format = FormatOptionsParser.writing(raw, isCatalogTable),
      clusterRegistries = ClusterRegistries(isCatalogTable, ofStatement),
      page = PageOptionSpecs.parse(raw)
    )
  }

  /** Spark passes the name of a query as an option. */
  private def withoutName(options: CaseInsensitiveStringMap) = new CaseInsensitiveStringMap(
    options.asCaseSensitiveMap.asScala.filterNot(_._1.equalsIgnoreCase("queryName")).asJava
  )

  private def failover(raw: RawOptions): Boolean = {
    if (raw.get(WriteFailover) && raw.get(Routing) == ClusterRouting.All)
      throw Errors.invalidOption(
        WriteFailover.name,
        "next",
        s"with '${Routing.name}=all' every cluster gets each record, so that no other one can get those of a cluster that is " +
          "unreachable."
      )
    raw.get(WriteFailover)
  }

  private def deadLetters(raw: RawOptions): Option[DeadLetterOptions] = {
    val cluster = raw.find(DeadLetterCluster)
    for (id <- cluster if !raw.isSet(DeadLetterTopic))
      throw Errors.invalidOption(
        DeadLetterCluster.name,
        id,
        s"it has no effect, because '${DeadLetterTopic.name}' is not set."
      )
    raw.find(DeadLetterTopic).map(DeadLetterOptions(_, cluster))
  }
}

package io.github.dynamickafka.config

import java.util.Locale

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.{ClusterRegistries, FormatOptionsParser}
import io.github.dynamickafka.kafka.SecretOptions
import io.github.dynamickafka.option.{ClusterKeys, OptionName, OptionSpec, RawOptions}
import io.github.dynamickafka.page.PageOptionSpecs
import io.github.dynamickafka.topology.{OffsetsPolicy, UnreachableReplayPolicy}

/**
 * Parses the options of a query into [[SourceOptions]], or throws an error for the first invalid option. Pure, except
 * for a log warning about secrets. No option is ignored: an option that has no effect is rejected.
 */
private[dynamickafka] object SourceOptionsParser {
  import SourceOptionSpecs._

  /**
   * @param isCatalogTable whether the formats are those of a table of a catalog, over which the metadata of a cluster takes precedence
   * @param ofStatement names of options over which it does not, because one query of the table sets them
   */
  def parse(
      options: CaseInsensitiveStringMap,
      isCatalogTable: Boolean = false,
      ofStatement: Set[String] = Set.empty
  ): SourceOptions = {
    val raw = RawOptions(options, table)
    SecretOptions.warn(raw)
    ClusterScope.checkValues(raw)
    // What a policy requires is named first.
    val replacedClusters = new ReplacedClusterOptions(raw, CommitGroupId, CommitOffsets).parse()
    val offsets = this.offsets(raw)
    SourceOptions(
      service = MetadataServiceSpecs.parse(raw),
      subscription = subscription(raw),
      discovery = DiscoveryOptions(
        intervalMs = raw.get(DiscoveryIntervalMs),
        failureThreshold = raw.get(DiscoveryFailureThreshold),
        callTimeoutMs = raw.get(ClusterRequestTimeoutMs),
        allowMissingStreams = raw.get(AllowMissingStreams),
        maxRemovedClusters = raw.find(MaxRemovedClusters),
        removalConfirmations = raw.get(RemovalConfirmations)
      ),
      offsets = offsets,
      clusters = ClusterOptions(
        skipUnreachable = raw.get(ClusterFailurePolicy),
        failureTimeoutMs = raw.get(ClusterFailureTimeoutMs),
        requestTimeoutMs = raw.get(ClusterRequestTimeoutMs),
        unreachableReplay = raw.get(UnreachableReplay),
        groupIdPrefix = raw.find(GroupIdPrefix),
        shared = raw.kafka,
        perCluster = raw.cluster,
        clientIdPrefix = raw.find(ClientIdPrefix),
        table = table,
        snapshotMaxAgeMs = raw.get(ClusterSnapshotMaxAgeMs),
        clientMetrics = Option.when(raw.get(ClientMetrics))("query"),
        refuseMisspelled = raw.get(UnknownClusterOptions)
      ),
      limits = limits(raw),
      failOnDataLoss = raw.get(FailOnDataLoss),
      includeHeaders = raw.get(IncludeHeaders),
      removedClusterRetentionMs = raw.get(RemovedClusterRetentionMs),
      drainRemovedClusters = raw.get(RemovedClusterPolicy),
      allowDuplicateClusters = raw.get(AllowDuplicateClusters),
      replacedClusters = replacedClusters,
      deferWithState = deferWithState(raw),
      alignment = alignment(raw),
      format = FormatOptionsParser.reading(raw, isCatalogTable),
      clusterRegistries = ClusterRegistries(isCatalogTable, ofStatement),
      realTime = realTime(raw),
      page = PageOptionSpecs.parse(raw),
      remembered = RememberedOptions(raw)
    )
  }

  /** The options in a checkpoint, which is not trusted: an address among them would get the log-in of the metadata. */
  def remembered(stored: Map[String, String]): Map[String, String] =
    RememberedOptions(RawOptions(new CaseInsensitiveStringMap(stored.asJava), table))

  private def deferWithState(raw: RawOptions): Boolean = {
    val set = raw.get(DeferWithState)
    if (set && raw.get(UnreachableReplay) != UnreachableReplayPolicy.Defer)
      throw Errors.invalidOption(
        DeferWithState.name,
        "true",
        s"it has no effect without '${UnreachableReplay.name}=defer'."
      )
    set
  }

  private def alignment(raw: RawOptions): Option[AlignmentOptions] =
    if (raw.get(Alignment)) {
      val maxDriftMs = raw.find(AlignmentMaxDrift).getOrElse(throw Errors.missingOption(
        AlignmentMaxDrift.name,
        s"'${Alignment.name}=timestamp' requires it: set it to at most the delay of the watermark."
      ))
      // What alignment holds back would count for it, and be waited for in vain.
      raw.find(MinOffsetsPerTrigger).foreach(least =>
        throw Errors.invalidOption(
          MinOffsetsPerTrigger.name,
          least.toString,
          s"it cannot be combined with '${Alignment.name}=timestamp'."
        )
      )
      Some(AlignmentOptions(maxDriftMs, raw.get(AlignmentIdleTimeout)))
    } else {
      Seq(AlignmentMaxDrift, AlignmentIdleTimeout).filter(raw.isSet(_)).foreach(option =>
        throw Errors.invalidOption(
          option.name,
          raw.written(option).fold("")(_.value),
          s"it has no effect without '${Alignment.name}=timestamp'."
        )
      )
      None
    }

  private def realTime(raw: RawOptions): RealTimeOptions = {
    if (!RealTimeMode.isAvailable)
      for (spec <- Seq(RealTimeTasks, RealTimeMinBatchMs); written <- raw.written(spec))
        throw Errors.invalidOption(written.name, written.value, "real-time mode requires Spark 4.1 or later.")
    RealTimeOptions(raw.find(RealTimeTasks), raw.get(RealTimeMinBatchMs), refusedInRealTime(raw))
  }

  /** The first option, as the user wrote it, and its value. */
  private def refusedInRealTime(raw: RawOptions): Option[(String, String)] = {
    val specs = Seq[OptionSpec[_]](
      MaxOffsetsPerTrigger,
      MinOffsetsPerTrigger,
      MaxTriggerDelay,
      MinPartitions,
      MaxRecordsPerPartition,
      EndingOffsets,
      EndingTimestamp,
      EndingOffsetsByTimestamp
    )
    val ofQuery =
      (specs ++ Seq(Alignment).filter(raw.get(_))).flatMap(raw.written(_)).map(w => w.name -> w.value)
    val ofClusters = raw.ofClusters.map(_.writtenAs)
      .filter(name => specs.exists(spec => OptionName.normalize(name).endsWith(s".${spec.key}")))
    (ofQuery ++ ofClusters.map(name => name -> raw.asWritten.getOrElse(name, ""))).headOption
  }

  private def limits(raw: RawOptions): LimitOptions = {
    val (least, most) = (raw.find(MinOffsetsPerTrigger), raw.find(MaxOffsetsPerTrigger))
    for (l <- least; m <- most if l > m)
      throw Errors.invalidOption(
        MinOffsetsPerTrigger.name,
        l.toString,
        s"it is greater than '${MaxOffsetsPerTrigger.name}', which is $m."
      )
    LimitOptions(
      maxOffsetsPerTrigger = most,
      maxBytesPerTrigger = raw.find(MaxBytesPerTrigger),
      minOffsetsPerTrigger = least,
      maxTriggerDelayMs = raw.get(MaxTriggerDelay),
      minPartitions = raw.find(MinPartitions),
      maxRecordsPerPartition = raw.find(MaxRecordsPerPartition),
      historyFilesPerTrigger = raw.get(HistoryFilesPerTrigger)
    )
  }

  private def subscription(raw: RawOptions): Subscription =
    (raw.find(StreamIds), raw.find(StreamPattern)) match {
      case (Some(ids), None) => Subscription.Ids(ids)
      case (None, Some(regex)) => Subscription.Pattern(regex)
      case (Some(_), Some(regex)) =>
        throw Errors.invalidOption(
          StreamPattern.name,
          regex.regex,
          s"'${StreamIds.name}' is also set, but only one of the two options is allowed."
        )
      case (None, None) =>
        throw Errors.missingOption(
          StreamIds.name,
          s"set it to the ids of the streams to read, or set '${StreamPattern.name}' to a pattern of the ids."
        )
    }

  private def offsets(raw: RawOptions): OffsetsOptions = {
    val starting = raw
      .find(StartingTimestamp)
      .map(OffsetsPolicy.Timestamp)
      .orElse(raw.find(StartingOffsetsByTimestamp))
      .getOrElse(raw.get(StartingOffsets))
    val ending = raw
      .find(EndingTimestamp)
      .map(OffsetsPolicy.Timestamp)
      .orElse(raw.find(EndingOffsetsByTimestamp))
      .orElse(raw.find(EndingOffsets))
    val offsets = OffsetsOptions(
      starting,
      raw.get(NewClusterStartingOffsets),
      raw.get(NewTopicStartingOffsets),
      ending,
      committedFallback = raw.get(CommittedOffsetsFallback),
      commitGroupId = raw.find(CommitGroupId),
      commit = raw.get(CommitOffsets)
    )
    checkGroup(raw, offsets)
    offsets.copy(
      starting = offsets.withFallback(offsets.starting),
      newCluster = offsets.withFallback(offsets.newCluster),
      newTopic = offsets.withFallback(offsets.newTopic),
      ending = offsets.ending.map(offsets.withFallback)
    )
  }

  /** The options of clusters that specify offsets, with their names. */
  private def clusterOffsets(raw: RawOptions): Seq[(String, OffsetsPolicy)] = raw.ofClusters.collect {
    case RawOptions.OfCluster(cluster, name, policy: OffsetsPolicy) =>
      name -> ClusterOffsets(cluster, policy, name)
  }

  /** Checks that `committed` has a consumer group, and that `commitGroupId` has an effect. */
  private def checkGroup(raw: RawOptions, offsets: OffsetsOptions): Unit = {
    val values = Seq(
      StartingOffsets.name -> offsets.starting,
      NewClusterStartingOffsets.name -> offsets.newCluster,
      NewTopicStartingOffsets.name -> offsets.newTopic
    ) ++ offsets.ending.map(EndingOffsets.name -> _) ++ clusterOffsets(raw)
    val committed = values.collect { case (name, OffsetsPolicy.Committed(_)) => name }

    val kafkaGroup = (raw.kafka.keys ++ raw.cluster.keys.map(k => s".$k")).map(_.toLowerCase(Locale.ROOT))
    val hasKafkaGroup = kafkaGroup.exists(k => k == "group.id" || k.endsWith(".group.id"))
    if (offsets.commit && offsets.commitGroupId.isEmpty && !hasKafkaGroup)
      throw Errors.invalidOption(
        CommitOffsets.name,
        "true",
        s"no consumer group is set to commit the offsets to: set '${CommitGroupId.name}' or 'kafka.group.id'."
      )
    committed.headOption match {
      case Some(name) if offsets.commitGroupId.isEmpty && !hasKafkaGroup =>
        throw Errors.invalidOption(
          name,
          "committed",
          s"no consumer group is set to read the offsets of: set '${CommitGroupId.name}' or 'kafka.group.id'."
        )
      case None if raw.isSet(CommitGroupId) && !offsets.commit =>
        throw Errors.invalidOption(
          CommitGroupId.name,
          offsets.commitGroupId.getOrElse(""),
          s"it has no effect: it is used only if '${StartingOffsets.name}' is 'committed' or if " +
            s"'${CommitOffsets.name}' is 'true'."
        )
      case _ =>
    }
  }
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

  /** Those that are set, under their documented names, with the values that the user wrote. */
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

package io.github.dynamickafka.source.cluster

import org.apache.kafka.common.IsolationLevel
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.AttemptLimit
import io.github.dynamickafka.config.{ClusterProperties, ClusterScope, SourceOptionSpecs, SourceOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{ClientDefaults, ConsumerSettings, KafkaProperties, ProducerSettings}
import io.github.dynamickafka.metadata.{OffsetsPolicy, Topology, TopologyTopic}
import io.github.dynamickafka.offset.ClusterView
import io.github.dynamickafka.option.{ClusterKeys, Misspelling, OptionName, OptionSpec, Suggestions}

/**
 * Merges options and metadata of each cluster of one topology, with the precedence of
 * [[io.github.dynamickafka.config.ClusterProperties]]. Used by one thread.
 */
private[dynamickafka] final class ClusterConfigs(options: SourceOptions, scope: ClusterScope) {
  import ClusterConfigs._

  private var made = Map.empty[String, (Map[String, String], ClusterConfig)]

  /**
   * Resolves the configuration once for each change of the properties, because each trigger asks for it.
   *
   * @param properties the properties of the cluster in the metadata or the checkpoint
   */
  def apply(id: String, properties: Map[String, String]): ClusterConfig =
    made.get(id).filter(_._1 == properties).fold {
      val config = resolve(id, properties)
      made += id -> (properties -> config)
      config
    }(_._2)

  private def resolve(id: String, properties: Map[String, String]): ClusterConfig = {
    val effective = scope.consumer(id, properties)
    ClusterConfig(
      effective,
      committedGroup = options.offsets.commitGroupId.orElse(effective.groupId),
      requestTimeoutMs = options.clusters.requestTimeoutMs
    )
  }

  /** How producers of dead letters are created. */
  def producer(id: String, properties: Map[String, String]): ProducerSettings =
    new ProducerSettings(id, scope.producer(id, properties).client)

  /** The start position of a topic at the first start of the query. */
  def starting(id: String, topic: TopologyTopic): OffsetsPolicy =
    own(id, SourceOptionSpecs.Starting, topic.startingOffsets)
      .getOrElse(ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting))

  /**
   * The start position of a topic that is added later.
   *
   * @param clusterIsKnown whether other topics of the cluster are or were read
   * @param unresolvedAtStart whether the cluster was in the metadata at the first start of the query, but unreachable
   */
  def entering(
      id: String,
      topic: TopologyTopic,
      clusterIsKnown: Boolean,
      unresolvedAtStart: Boolean
  ): OffsetsPolicy =
    own(id, SourceOptionSpecs.Starting, topic.startingOffsets).getOrElse {
      if (clusterIsKnown) options.offsets.newTopic
      else if (unresolvedAtStart)
        ofOneCluster(SourceOptionSpecs.StartingOffsets, options.offsets.starting)
      else options.offsets.newCluster
    }

  /**
   * The stopping position of a topic; None: no stopping position.
   *
   * @param topic the topic in the metadata; None if it has left them, where the options still apply
   */
  def ending(id: String, topic: Option[TopologyTopic]): Option[OffsetsPolicy] =
    own(id, SourceOptionSpecs.Ending, topic.flatMap(_.stoppingOffsets)).orElse(options.offsets.ending)

  /**
   * Refuses JSON that has no effect: stopping offsets without the level of clusters if there are several, and starting offsets of a
   * cluster or topic that the metadata does not have. Only for a first start, since starting offsets are not for what is added later.
   */
  def checkFirst(topology: Topology): Unit = {
    options.offsets.ending.foreach(ofOneCluster(SourceOptionSpecs.EndingOffsets, _))
    for ((id, topics) <- starting) {
      val clusters = named(topology, id)
      if (clusters.isEmpty && !scope.ids(id) && !topology.removals.contains(id))
        refuseStarting(s"the metadata does not have cluster '$id'.", id, topology.clusters.keys)
      val known = clusters.flatMap(_.topics.keys)
      def isKnown(topic: String) =
        known.contains(topic) || clusters.exists(_.patterns.exists(_.matches(topic)))
      for (topic <- topics.keys.toSeq.sorted if clusters.nonEmpty && !isKnown(topic))
        refuseStarting(
          s"the metadata does not have topic '$topic' of cluster '${clusters.map(_.id).mkString("', '")}'.",
          topic,
          known
        )
    }
  }

  /** Refuses starting offsets of partitions that are not read, after the clusters have responded. */
  def checkFirst(topology: Topology, views: Map[String, ClusterView]): Unit = for {
    (id, topics) <- starting
    cluster <- named(topology, id)
    view <- views.get(cluster.id).collect { case view: ClusterView.Reachable => view }
    (topic, partitions) <- topics.toSeq.sortBy(_._1) if cluster.topics.contains(topic) && !view.missing(topic)
  } {
    val known =
      view.ends.of(topic).keySet ++ view.unanswered.keys.collect { case (`topic`, p) => p }
    for (partition <- partitions.keys.toSeq.sorted if known.nonEmpty && !known(partition))
      refuseStarting(
        s"topic '$topic' of cluster '${cluster.id}' has no partition $partition that is read.",
        "",
        known.toSeq.sorted.map(_.toString)
      )
  }

  private def starting: Seq[(String, Map[String, Map[Int, Long]])] = (options.offsets.starting match {
    case OffsetsPolicy.Exact(all) => all
    case OffsetsPolicy.TimestampByPartition(all) => all
    case _ => Map.empty: OffsetsPolicy.ByCluster
  }).toSeq.sortBy(_._1)

  private def named(topology: Topology, id: String) =
    if (id == OffsetsPolicy.AnyCluster) topology.clusters.values.toSeq else topology.clusters.get(id).toSeq

  /** @param name for a suggestion; empty: there is none */
  private def refuseStarting(what: String, name: String, known: Iterable[String]) =
    throw Errors.invalidOption(
      SourceOptionSpecs.StartingOffsets.name,
      "{...}",
      s"$what${Suggestions.didYouMean(name, known)} It has " +
        s"${known.toSeq.take(MostNamed).mkString(", ")}${if (known.size > MostNamed) ", ..." else ""}."
    )

  /**
   * Checks that each cluster whose metadata specifies `committed` has a consumer group in this query.
   *
   * @throws DynamicKafkaIllegalArgumentException METADATA_INVALID
   */
  def checkGroups(topology: Topology): Unit =
    for {
      cluster <- topology.clusters.values
      topic <- cluster.topics.values ++ cluster.patterns.map(_.topic)
      (key, forms, policy) <- Seq(
        ("starting_offsets", SourceOptionSpecs.Starting, topic.startingOffsets),
        ("stopping_offsets", SourceOptionSpecs.Ending, topic.stoppingOffsets)
      )
      if own(cluster.id, forms, None).isEmpty && policy.exists(_.isInstanceOf[OffsetsPolicy.Committed])
      if this(cluster.id, cluster.properties).committedGroup.isEmpty
    } throw Errors.metadataInvalid(
      s"stream '${topic.stream}', cluster '${cluster.id}', key '$key'",
      "it is 'committed', but the query has no consumer group to read the offsets of: set 'commitGroupId' or " +
        "'kafka.group.id'"
    )

  /** `cluster.*` options that apply to none of the clusters. */
  def unmatched: Seq[String] = scope.unmatched

  def maxOffsetsPerTrigger(id: String): Option[Long] =
    scope.value(id, SourceOptionSpecs.MaxOffsetsPerTrigger)

  private def ofOneCluster(spec: OptionSpec[_], policy: OffsetsPolicy): OffsetsPolicy = {
    val byTopic = policy match {
      case OffsetsPolicy.Exact(all) => all.contains(OffsetsPolicy.AnyCluster)
      case OffsetsPolicy.TimestampByPartition(all) => all.contains(OffsetsPolicy.AnyCluster)
      case _ => false
    }
    if (byTopic && scope.ids.size > 1) {
      throw Errors.invalidOption(
        spec.name,
        "{topic: ...}",
        s"the streams are on several clusters (${scope.ids.toSeq.sorted.mkString(", ")}), so the JSON requires a cluster level: " +
          """{"<cluster id>": {"<topic>": {"<partition>": <offset>}}}."""
      )
    }
    policy
  }

  /** The option of this cluster or, if it is not set, the value in the metadata. */
  private def own(
      id: String,
      forms: Seq[OptionSpec[OffsetsPolicy]],
      metadata: Option[OffsetsPolicy]
  ): Option[OffsetsPolicy] =
    forms.iterator.flatMap(scope.offsets(id, _)).nextOption()
      .orElse(metadata.map(OffsetsPolicy.about(id, _)))
      .map(options.offsets.withFallback)
}

private[dynamickafka] object ClusterConfigs {

  def apply(options: SourceOptions, ids: Set[String]): ClusterConfigs =
    new ClusterConfigs(options, new ClusterScope(options.clusters, ids))

  /**
   * The clusters of a topology from the checkpoint that require secrets that neither the checkpoint nor an option has.
   * None with `clusterFailurePolicy=skip`, because the query then continues without them.
   */
  def incomplete(options: SourceOptions, topology: Topology): Set[String] =
    if (options.clusters.unreachable.skip) Set.empty
    else {
      val configs = ClusterConfigs(options, topology.clusters.keySet.toSet)
      topology.clusters.values.filter { cluster =>
        val set = configs(cluster.id, cluster.properties).properties.client.keySet
        cluster.withheld.exists(name => !set(KafkaProperties.canonical(name)))
      }.map(_.id).toSet
    }

  /** Creates the configurations for each set of known clusters, and keeps the newest few. Used by one thread. */
  final class ByScope(options: SourceOptions) {
    private var kept = Map.empty[Set[String], ClusterConfigs]

    def apply(ids: Set[String]): ClusterConfigs = kept.getOrElse(
      ids, {
        val made = ClusterConfigs(options, ids)
        // A trigger needs one for the clusters of the topology, and one that includes clusters that drain.
        kept = (if (kept.size < MostKept) kept else Map.empty[Set[String], ClusterConfigs]) + (ids -> made)
        made
      }
    )
  }
  private val MostKept = 4
  private val MostNamed = 10
}

/**
 * The configuration for connecting to one cluster and reading from it. If it changes, all clients of the cluster are
 * recreated.
 *
 * @param committedGroup the consumer group of `committed` offsets
 * @param requestTimeoutMs the time limit for all requests of one trigger
 */
private[dynamickafka] final case class ClusterConfig(
    properties: ClusterProperties,
    committedGroup: Option[String],
    requestTimeoutMs: Long
) {
  def bootstrapServers: String = properties.bootstrapServers

  /** What the latest offset of a partition is: the end of the log, or the last stable offset. */
  def isolation: IsolationLevel =
    if (consumer.readsCommitted) IsolationLevel.READ_COMMITTED else IsolationLevel.READ_UNCOMMITTED

  /** The time limit of one attempt with one client; see [[AttemptLimit]]. */
  def attemptMs: Long = AttemptLimit.ms(requestTimeoutMs)

  /** The producer of dead letters, as far as the properties of consumers have what producers need. */
  def producer: ProducerSettings =
    new ProducerSettings(properties.clusterId, ClientDefaults.producer(properties.client))

  /**
   * The settings of consumers with assigned partitions. They commit no offsets, so they have a group only if the user
   * set one, for brokers that require it.
   */
  lazy val consumer: ConsumerSettings = new ConsumerSettings(properties.clusterId, properties.client)
}

/**
 * Checks each topology of the metadata service against the options of the query. A topology that the query cannot use
 * counts as a failure of the service. Used by the thread that polls.
 */
private[source] final class TopologyCheck(options: SourceOptions) extends (Topology => Unit) {
  import TopologyCheck._

  private val log = LoggerFactory.getLogger(classOf[TopologyCheck])
  private var passed: Option[Topology] = None

  /** @throws DynamicKafkaIllegalArgumentException METADATA_INVALID */
  override def apply(topology: Topology): Unit =
    if (!passed.contains(topology)) {
      val ids = idsOf(topology)
      val configs = ClusterConfigs(options, ids)
      configs.checkGroups(topology)
      if (!passed.map(idsOf).contains(ids)) warn(configs.unmatched, ids)
      passed = Some(topology)
    }

  private def warn(unmatched: Seq[String], ids: Set[String]): Unit =
    if (unmatched.nonEmpty) {
      val named = unmatched.map { option =>
        val id = idIn(option, options)
        option + Suggestions.closest(id, ids).fold("")(known => s" (did you mean cluster '$known'?)")
      }
      log.warn(
        "These options have no effect, because the metadata has no such cluster: {}; its clusters are: {}",
        named.mkString(", "),
        ids.toSeq.sorted.mkString(", ")
      )
    }
}

private[source] object TopologyCheck {

  /** @throws DynamicKafkaIllegalArgumentException UNKNOWN_CLUSTER, if an option has the id of a cluster with a typing error */
  def refuseMisspelled(options: SourceOptions, topology: Topology): Unit = {
    val ids = idsOf(topology)
    ClusterConfigs(options, ids).unmatched.foreach { option =>
      val id = idIn(option, options)
      Misspelling.of(id, ids).foreach(known =>
        throw Errors.unknownCluster(option, id, known, ids.toSeq.sorted)
      )
    }
  }

  private def idsOf(topology: Topology): Set[String] =
    (topology.clusters.keySet ++ topology.removals.keySet).toSet

  private def idIn(option: String, options: SourceOptions): String =
    ClusterKeys.probableId(option.stripPrefix(OptionName.Cluster), options.clusters.properties.table)
}

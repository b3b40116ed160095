package io.github.dynamickafka.metadata

import java.util.regex.Pattern

import scala.collection.immutable.{SortedMap, SortedSet, TreeMap}

/**
 * The clusters and topics that a subscription resolves to at one moment. Immutable. Equal topologies have the same
 * effect.
 *
 * @param clusters by cluster id
 * @param removals what the metadata removes explicitly, by cluster id
 * @param unconfirmed what `clusters` has although the last answer of the service lacks it, until further answers confirm
 *                    this, by cluster id
 * @param histories files that a new query reads before Kafka, by stream id
 * @param streams of a query that writes: where the rows of a stream go, by stream id. Then `clusters` has all clusters of these
 *                streams, without topics
 */
private[dynamickafka] final case class Topology(
    clusters: SortedMap[String, TopologyCluster],
    removals: SortedMap[String, Removal] = TreeMap.empty[String, Removal],
    unconfirmed: SortedMap[String, Removal] = TreeMap.empty[String, Removal],
    histories: SortedMap[String, TopologyHistory] = TreeMap.empty[String, TopologyHistory],
    streams: SortedMap[String, WriteStream] = TreeMap.empty[String, WriteStream]
) {
  def leftOut: Set[String] = streams.values.flatMap(_.leftOut).toSet

  /** Why nothing can be written to a cluster; None: at least one stream takes writes on it. */
  def writeProblem(cluster: String): Option[String] = {
    val entries = streams.values.flatMap(_.entry(cluster)).toSeq
    if (entries.isEmpty)
      Some(s"the cluster is not in the metadata, which has ${clusters.keys.mkString(", ")}")
    else if (entries.exists(_.closed.isEmpty)) None
    else entries.head.closed.map(why => s"the cluster takes no writes: $why")
  }

  /** Routes to none of these clusters where a stream has others; see [[WriteStream.without]]. */
  def leavingOut(ids: Set[String]): Topology =
    if (ids.isEmpty) this else copy(streams = streams.map { case (id, s) => id -> s.without(ids) })

  def withReplaced(id: String): Seq[String] = id +: clusters.get(id).flatMap(_.replaces).toSeq

  /** Whether the last answer of the service has this topic. */
  def names(cluster: String, topic: String): Boolean =
    clusters.get(cluster).exists(_.topics.contains(topic)) && !unconfirmed.get(cluster).exists(_(topic))

  /** The topology without these topics, (cluster id, name), as if the metadata removed them explicitly. */
  def without(topics: Set[(String, String)]): Topology =
    topics.groupMap(_._1)(_._2).foldLeft(this) { case (all, (id, names)) =>
      val removal = all.removals.getOrElse(id, Removal.none)
      all.copy(
        clusters = all.clusters.updatedWith(id)(
          _.map(c => c.copy(topics = c.topics -- names)).filter(c => c.topics.nonEmpty || c.patterns.nonEmpty)
        ),
        removals = all.removals.updated(id, removal.copy(topics = removal.topics ++ names))
      )
    }

  /** Whether the metadata removes this topic explicitly, so that it is not drained. */
  def removes(cluster: String, topic: String): Boolean = removals.get(cluster).exists(_(topic))

  /** The topology with the properties of the clusters that `other` has too. */
  def withPropertiesOf(other: Topology): Topology = copy(clusters = clusters.map { case (id, cluster) =>
    id -> other.clusters.get(id).fold(cluster)(o =>
      cluster.copy(properties = o.properties, withheld = o.withheld)
    )
  })
}

private[dynamickafka] object Topology {
  val empty: Topology = Topology(SortedMap.empty)
}

/**
 * Files that a new query reads before Kafka.
 *
 * @param format the name of Spark's data source
 * @param options options of this data source; none of them is a secret
 * @param cluster the cluster of rows without a column `cluster`: the one of the metadata, or the only cluster of the stream
 */
private[dynamickafka] final case class TopologyHistory(
    format: String,
    path: String,
    options: Map[String, String] = Map.empty,
    cluster: Option[String] = None
)

/**
 * What the metadata removes explicitly from a cluster, by `state: removed` or because the cluster is inactive: reading it
 * ends at once, in contrast to what is only missing in the metadata.
 *
 * @param patterns Java regular expressions for whole names of topics
 * @param all whether the whole cluster is removed
 */
private[dynamickafka] final case class Removal(
    topics: SortedSet[String],
    patterns: Set[String],
    all: Boolean = false
) {
  def apply(topic: String): Boolean = all || topics(topic) || patterns.exists(topic.matches)
}

private[dynamickafka] object Removal {
  val none: Removal = Removal(SortedSet.empty[String], Set.empty)
  val OfCluster: Removal = Removal(SortedSet.empty[String], Set.empty, all = true)
}

/**
 * One cluster of a topology.
 *
 * @param topics by topic name; not empty unless there is a pattern
 * @param properties the Kafka client properties of the metadata, without the prefix `kafka.`. They may contain secrets:
 *                   `toString` shows only the bootstrap servers
 * @param patterns topics that are selected by a pattern; `topics` has those that are known to match
 * @param withheld the names of properties that are missing because the topology is from a checkpoint, which has no secrets
 * @param replaces the id of the cluster whose place this one takes
 */
private[dynamickafka] final case class TopologyCluster(
    id: String,
    topics: SortedMap[String, TopologyTopic],
    properties: Map[String, String],
    patterns: Seq[TopologyPattern] = Nil,
    withheld: Set[String] = Set.empty,
    replaces: Option[String] = None
) {
  def bootstrapServers: String = properties.getOrElse("bootstrap.servers", "")

  /** The cluster without topics, while it waits for another one. */
  def withoutTopics: TopologyCluster = copy(topics = SortedMap.empty, patterns = Nil)

  /**
   * A copy with the topics that match the patterns.
   *
   * @param there all topics of the cluster
   */
  def matching(there: Iterable[String]): TopologyCluster =
    if (patterns.isEmpty) this
    else {
      val named = topics.toSeq.filterNot(_._2.matched)
      val found =
        for (pattern <- patterns; topic <- there if pattern.matches(topic)) yield topic -> pattern.topic
      copy(topics = TopologyTopic.byName(named ++ found))
    }

  override def toString: String =
    s"TopologyCluster($id, $bootstrapServers, ${topics.map { case (t, i) => s"$t: $i" }.mkString(", ")})"
}

/**
 * One topic on one cluster of a topology.
 *
 * @param stream the value of the column `stream`: the first subscribed stream id, in sorted order, with this (cluster,
 *               topic)
 * @param draining true if every stream with this (cluster, topic) is draining on this cluster
 * @param startingOffsets the value in the metadata, which takes precedence over the options of the query, except for
 *                        `cluster.<id>.startingOffsets`
 * @param partitions the partitions to read; None: all partitions
 * @param matched whether the topic is selected only by a pattern
 * @param registry what the metadata says about the registry of its records
 */
private[dynamickafka] final case class TopologyTopic(
    stream: String,
    draining: Boolean = false,
    startingOffsets: Option[OffsetsPolicy] = None,
    stoppingOffsets: Option[OffsetsPolicy] = None,
    partitions: Option[SortedSet[Int]] = None,
    matched: Boolean = false,
    registry: Map[String, String] = Map.empty
) {
  def reads(partition: Int): Boolean = partitions.forall(_(partition))

  /** Omits the options of registries, which may be secrets. */
  override def toString: String = {
    val options = registry.keys.toSeq.sorted.mkString(", ")
    s"TopologyTopic($stream, $draining, $startingOffsets, $stoppingOffsets, $partitions, $matched, $options)"
  }
}

private[dynamickafka] object TopologyTopic {

  /** Merges topics that several streams or patterns may name. */
  def byName(all: Seq[(String, TopologyTopic)]): SortedMap[String, TopologyTopic] =
    SortedMap.from(all.groupMap(_._1)(_._2).map { case (name, naming) => name -> merge(naming) })

  /**
   * Merges the entries of several streams for one topic of a cluster: the topic belongs to the first stream, drains if
   * it drains in all of them, and the partitions of all of them are read.
   */
  def merge(naming: Seq[TopologyTopic]): TopologyTopic = {
    val byStream = naming.sortBy(_.stream)
    val some = byStream.flatMap(_.partitions)
    TopologyTopic(
      stream = byStream.head.stream,
      draining = byStream.forall(_.draining),
      startingOffsets = byStream.flatMap(_.startingOffsets).headOption,
      stoppingOffsets = byStream.flatMap(_.stoppingOffsets).headOption,
      partitions = Option.when(some.size == byStream.size)(some.reduce(_ ++ _)),
      matched = byStream.forall(_.matched),
      registry = byStream.head.registry
    )
  }
}

/**
 * The topics of one stream that a pattern selects.
 *
 * @param regex a Java regular expression for whole names
 * @param topic the metadata of each matching topic
 */
private[dynamickafka] final case class TopologyPattern(regex: String, topic: TopologyTopic) {
  private lazy val compiled = Pattern.compile(regex)
  def matches(topic: String): Boolean = compiled.matcher(topic).matches()
}

/**
 * Where the rows of a stream go. For tasks, too.
 *
 * @param clusters in the order of the metadata, which `clusterRouting=first` uses
 * @param leftOut clusters that take writes, but only of rows that name them
 */
private[dynamickafka] final case class WriteStream(
    id: String,
    clusters: Seq[WriteEntry],
    leftOut: Set[String] = Set.empty
) {

  /** The ids of the clusters that take writes, in the order of the metadata. */
  def open: Seq[String] = clusters.filter(_.closed.isEmpty).map(_.cluster)

  /** The entries to route to, sorted by cluster id, so that the order of the metadata does not affect routing by key. */
  val writable: IndexedSeq[WriteEntry] = clusters.filter(isRouted).sortBy(_.cluster).toIndexedSeq

  val first: Option[WriteEntry] = clusters.find(isRouted)

  /** Routes to none of these clusters, unless no other one takes writes: then the write fails with the reason. */
  def without(ids: Set[String]): WriteStream =
    copy(leftOut = if (open.forall(ids)) Set.empty else open.filter(ids).toSet)

  private def isRouted(entry: WriteEntry) = entry.closed.isEmpty && !leftOut(entry.cluster)

  def entry(cluster: String): Option[WriteEntry] = clusters.find(_.cluster == cluster)
}

/**
 * The topics of a stream on one cluster, for writing.
 *
 * @param topics the topics, with the partitions that belong to the stream; None: all partitions
 * @param pattern a pattern of further topics of the stream
 * @param closed the reason why the cluster takes no writes; None: it takes writes
 * @param registry what the metadata says about the registry of its records
 */
private[dynamickafka] final case class WriteEntry(
    cluster: String,
    topics: SortedMap[String, Option[IndexedSeq[Int]]],
    pattern: Option[String],
    closed: Option[String],
    registry: Map[String, String] = Map.empty
) {
  def has(topic: String): Boolean = topics.contains(topic) || pattern.exists(topic.matches)

  def only: Option[String] = Option.when(topics.size == 1 && pattern.isEmpty)(topics.head._1)

  def partitions(topic: String): Option[IndexedSeq[Int]] = topics.get(topic).flatten

  /** Omits the options of registries, which may be secrets. */
  override def toString: String =
    s"WriteEntry($cluster, $topics, $pattern, $closed, ${registry.keys.toSeq.sorted.mkString(", ")})"
}

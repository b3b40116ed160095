package io.github.dynamickafka.metadata

import java.{util => ju}

import scala.jdk.CollectionConverters._

/**
 * The metadata of a stream on one cluster. Immutable. `toString` shows only the bootstrap servers of the properties.
 *
 * Exactly one of `topics`, `topicPattern` and `partitions` must be set. The connector validates the values when it uses
 * them: invalid metadata counts as a failure of the metadata service (METADATA_INVALID).
 *
 * @param topics the topics of the stream on this cluster; empty if `topicPattern` or `partitions` is set
 * @param properties Kafka client properties, without the prefix `kafka.`; `bootstrap.servers` is required
 * @param startingOffsets the start position of topics that are new to the query, in a text form of the option
 *                        `startingOffsets`; null: the option of the query applies
 * @param stoppingOffsets the stopping offsets, in a text form of the option `endingOffsets`; null: the option of the
 *                        query applies
 * @param state `active`, `draining` or `removed`. A draining cluster is read up to its current latest offsets; a removed
 *              cluster is not read from the next batch on, and its offsets are retained. Neither takes writes
 * @param topicPattern a Java regular expression that selects every topic whose whole name matches, including topics
 *                     that are created later; null: none
 * @param partitions the partition numbers of each topic, from 0, if only some partitions belong to the stream
 * @param write whether the stream is written to this cluster; does not affect reads
 * @param formatOptions the registry of this cluster, with the names of the options of the data source: `registry.url`. The format of
 *                      records is that of the stream
 * @param replaces the id of the cluster whose place this one takes: the option `replacedClusterPolicy` says where a query
 *                 continues that has read that one; null: none
 */
final class ClusterMetadata private (
    topics: ju.Collection[String],
    properties: ju.Map[_, _],
    val startingOffsets: String,
    val stoppingOffsets: String,
    val state: String,
    val topicPattern: String,
    partitions: ju.Map[String, _ <: ju.Collection[Integer]],
    val write: Boolean,
    formatOptions: ju.Map[String, String],
    val replaces: String
) extends Serializable {

  private val topicSet = new ju.LinkedHashSet[String](topics)
  private val propertyMap = {
    val copy = new ju.LinkedHashMap[String, String]
    properties.asScala.foreach { case (k, v) => copy.put(String.valueOf(k), String.valueOf(v)) }
    copy
  }

  private val formatMap = new ju.TreeMap[String, String](formatOptions)

  private val partitionMap = {
    val copy = new ju.LinkedHashMap[String, ju.Set[Integer]]
    partitions.asScala.foreach { case (topic, numbers) =>
      copy.put(topic, ju.Collections.unmodifiableSet(new ju.TreeSet[Integer](numbers)))
    }
    copy
  }

  def getTopics: ju.Set[String] = ju.Collections.unmodifiableSet(topicSet)
  def getProperties: ju.Map[String, String] = ju.Collections.unmodifiableMap(propertyMap)
  def getStartingOffsets: String = startingOffsets
  def getStoppingOffsets: String = stoppingOffsets
  def getState: String = state
  def getTopicPattern: String = topicPattern
  def getPartitions: ju.Map[String, ju.Set[Integer]] = ju.Collections.unmodifiableMap(partitionMap)
  def isWrite: Boolean = write
  def getFormatOptions: ju.Map[String, String] = ju.Collections.unmodifiableMap(formatMap)
  def getReplaces: String = replaces

  def withTopics(topics: ju.Collection[String]): ClusterMetadata = copy(topics = topics)
  def withStartingOffsets(offsets: String): ClusterMetadata = copy(startingOffsets = offsets)
  def withStoppingOffsets(offsets: String): ClusterMetadata = copy(stoppingOffsets = offsets)
  def withState(state: String): ClusterMetadata = copy(state = state)
  def withTopicPattern(pattern: String): ClusterMetadata = copy(topicPattern = pattern)
  def withPartitions(partitions: ju.Map[String, _ <: ju.Collection[Integer]]): ClusterMetadata =
    copy(partitions = partitions)
  def withWrite(write: Boolean): ClusterMetadata = copy(write = write)
  def withFormatOptions(options: ju.Map[String, String]): ClusterMetadata = copy(formatOptions = options)
  def withReplaces(cluster: String): ClusterMetadata = copy(replaces = cluster)

  private def copy(
      topics: ju.Collection[String] = topicSet,
      startingOffsets: String = startingOffsets,
      stoppingOffsets: String = stoppingOffsets,
      state: String = state,
      topicPattern: String = topicPattern,
      partitions: ju.Map[String, _ <: ju.Collection[Integer]] = partitionMap,
      write: Boolean = write,
      formatOptions: ju.Map[String, String] = formatMap,
      replaces: String = replaces
  ) = new ClusterMetadata(
    topics,
    propertyMap,
    startingOffsets,
    stoppingOffsets,
    state,
    topicPattern,
    partitions,
    write,
    formatOptions,
    replaces
  )

  private def identity = (
    getTopics,
    getProperties,
    startingOffsets,
    stoppingOffsets,
    state,
    topicPattern,
    getPartitions,
    write,
    getFormatOptions,
    replaces
  )

  private def subscription =
    if (topicPattern != null) s"topicPattern=$topicPattern"
    else if (!partitionMap.isEmpty) s"partitions=$partitionMap"
    else s"topics=${topicSet.asScala.mkString("[", ",", "]")}"

  override def equals(other: Any): Boolean = other match {
    case that: ClusterMetadata => identity == that.identity
    case _ => false
  }
  override def hashCode: Int = identity.hashCode
  override def toString: String =
    s"ClusterMetadata($subscription, " +
      s"bootstrap.servers=${propertyMap.get("bootstrap.servers")}, state=$state, write=$write)"
}

object ClusterMetadata {
  val Active = "active"
  val Draining = "draining"
  val Removed = "removed"

  private[dynamickafka] val States: Seq[String] = Seq(Active, Draining, Removed)

  /** The metadata of a stream on one cluster, with Scala's collections. */
  def apply(
      topics: Seq[String] = Nil,
      properties: Map[String, String] = Map.empty,
      startingOffsets: String = null,
      stoppingOffsets: String = null,
      state: String = Active,
      topicPattern: String = null,
      partitions: Map[String, Seq[Int]] = Map.empty,
      write: Boolean = true,
      formatOptions: Map[String, String] = Map.empty,
      replaces: String = null
  ): ClusterMetadata = new ClusterMetadata(
    topics.asJava,
    properties.asJava,
    startingOffsets,
    stoppingOffsets,
    state,
    topicPattern,
    partitions.map { case (topic, numbers) => topic -> numbers.map(Int.box).asJava }.asJava,
    write,
    formatOptions.asJava,
    replaces
  )

  /** The metadata of a stream on one cluster, for Java. What is not set by `with...` has the default of [[apply]]. */
  def of(properties: ju.Map[_, _]): ClusterMetadata =
    new ClusterMetadata(
      ju.List.of(),
      properties,
      null,
      null,
      Active,
      null,
      ju.Map.of(),
      true,
      ju.Map.of(),
      null
    )
}

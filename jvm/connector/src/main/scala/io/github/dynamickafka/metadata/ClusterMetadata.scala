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
final class ClusterMetadata private (private val values: ClusterMetadata.Values) extends Serializable {
  import ClusterMetadata.{Selected, Values}

  val startingOffsets: String = values.offsets.starting
  val stoppingOffsets: String = values.offsets.stopping
  val state: String = values.state
  val topicPattern: String = values.topics.pattern
  val write: Boolean = values.write
  val replaces: String = values.replaces

  def getTopics: ju.Set[String] = values.topics.names
  def getProperties: ju.Map[String, String] = values.properties
  def getStartingOffsets: String = startingOffsets
  def getStoppingOffsets: String = stoppingOffsets
  def getState: String = state
  def getTopicPattern: String = topicPattern
  def getPartitions: ju.Map[String, ju.Set[Integer]] = values.topics.partitions
  def isWrite: Boolean = write
  def getFormatOptions: ju.Map[String, String] = values.formatOptions
  def getReplaces: String = replaces

  private[dynamickafka] def topics: Seq[String] = getTopics.asScala.toSeq
  private[dynamickafka] def properties: Map[String, String] = values.properties.asScala.toMap
  private[dynamickafka] def partitions: Seq[(String, IndexedSeq[Int])] =
    getPartitions.asScala.toSeq.map { case (topic, all) =>
      topic -> all.asScala.toIndexedSeq.map(_.toInt)
    }

  /** The topics that have a name, whole or in part. */
  private[dynamickafka] def named: Seq[String] = topics ++ partitions.map(_._1)

  /** The key of a document that selects the topics, and its value. */
  private[dynamickafka] def selection: (String, Any) =
    if (topicPattern != null) "topic_pattern" -> topicPattern
    else if (partitions.isEmpty) "topics" -> topics
    else "partitions" -> partitions.toMap

  /** The same, with the value as text. */
  private[dynamickafka] def subscription: (String, String) = selection._1 -> Option(topicPattern).getOrElse(
    (topics ++ partitions.map { case (topic, all) => s"$topic (${all.mkString(", ")})" }).mkString(", ")
  )

  def withTopics(topics: ju.Collection[String]): ClusterMetadata =
    selecting(_.copy(names = ju.Collections.unmodifiableSet(new ju.LinkedHashSet[String](topics))))
  def withStartingOffsets(offsets: String): ClusterMetadata =
    having(v => v.copy(offsets = v.offsets.copy(starting = offsets)))
  def withStoppingOffsets(offsets: String): ClusterMetadata =
    having(v => v.copy(offsets = v.offsets.copy(stopping = offsets)))
  def withState(state: String): ClusterMetadata = having(_.copy(state = state))
  def withTopicPattern(pattern: String): ClusterMetadata = selecting(_.copy(pattern = pattern))
  def withPartitions(partitions: ju.Map[String, _ <: ju.Collection[Integer]]): ClusterMetadata =
    selecting(_.copy(partitions = Values.numbers(partitions)))
  def withWrite(write: Boolean): ClusterMetadata = having(_.copy(write = write))
  def withFormatOptions(options: ju.Map[String, String]): ClusterMetadata =
    having(_.copy(formatOptions = ju.Collections.unmodifiableMap(new ju.TreeMap[String, String](options))))
  def withReplaces(cluster: String): ClusterMetadata = having(_.copy(replaces = cluster))

  private def having(change: Values => Values) = new ClusterMetadata(change(values))
  private def selecting(change: Selected => Selected) = having(v => v.copy(topics = change(v.topics)))

  override def equals(other: Any): Boolean = other match {
    case that: ClusterMetadata => values == that.values
    case _ => false
  }
  override def hashCode: Int = values.hashCode
  override def toString: String = {
    val subscription =
      if (topicPattern != null) s"topicPattern=$topicPattern"
      else if (!getPartitions.isEmpty) s"partitions=$getPartitions"
      else s"topics=${topics.mkString("[", ",", "]")}"
    s"ClusterMetadata($subscription, " +
      s"bootstrap.servers=${getProperties.get("bootstrap.servers")}, state=$state, write=$write)"
  }
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
  ): ClusterMetadata = of(properties.asJava).withTopics(topics.asJava).withStartingOffsets(startingOffsets)
    .withStoppingOffsets(stoppingOffsets).withState(state).withTopicPattern(topicPattern)
    .withPartitions(partitions.map { case (topic, numbers) => topic -> numbers.map(Int.box).asJava }.asJava)
    .withWrite(write).withFormatOptions(formatOptions.asJava).withReplaces(replaces)

  /** The metadata of a stream on one cluster, for Java. What is not set by `with...` has the default of [[apply]]. */
  def of(properties: ju.Map[_, _]): ClusterMetadata =
    new ClusterMetadata(Values(properties = Values.texts(properties)))

  /** The collections are copies that cannot be changed. */
  private final case class Values(
      properties: ju.Map[String, String],
      topics: Selected = Selected(),
      offsets: Offsets = Offsets(),
      state: String = Active,
      write: Boolean = true,
      formatOptions: ju.Map[String, String] = ju.Map.of(),
      replaces: String = null
  )

  private final case class Selected(
      names: ju.Set[String] = ju.Set.of(),
      pattern: String = null,
      partitions: ju.Map[String, ju.Set[Integer]] = ju.Map.of()
  )

  private final case class Offsets(starting: String = null, stopping: String = null)

  private object Values {
    def texts(all: ju.Map[_, _]): ju.Map[String, String] = copied(all)(String.valueOf(_: Any))

    def numbers(all: ju.Map[String, _ <: ju.Collection[Integer]]): ju.Map[String, ju.Set[Integer]] =
      copied(all)(numbers => ju.Collections.unmodifiableSet(new ju.TreeSet[Integer](numbers)))

    private def copied[V, A](all: ju.Map[_, V])(of: V => A): ju.Map[String, A] = {
      val copy = new ju.LinkedHashMap[String, A]
      all.forEach { (name, value) =>
        val _ = copy.put(String.valueOf(name), of(value))
      }
      ju.Collections.unmodifiableMap(copy)
    }
  }
}

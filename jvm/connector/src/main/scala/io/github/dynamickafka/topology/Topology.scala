package io.github.dynamickafka.topology

import java.util.regex.Pattern

import scala.collection.immutable.{SortedMap, SortedSet}

/**
 * What the subscription resolves to at one moment. Immutable; two equal topologies ask for the same work.
 *
 * @param clusters by cluster id
 */
private[dynamickafka] final case class Topology(clusters: SortedMap[String, TopologyCluster])

private[dynamickafka] object Topology {
  val empty: Topology = Topology(SortedMap.empty)
}

/**
 * @param topics by topic name; never empty where there is no pattern
 * @param properties Kafka client properties as the metadata service gave them, without the `kafka.` prefix.
 *                   They may hold secrets: `toString` shows the bootstrap servers only
 * @param patterns topics that are told by a pattern; `topics` has those that are known to match
 */
private[dynamickafka] final case class TopologyCluster(
    id: String,
    topics: SortedMap[String, TopologyTopic],
    properties: Map[String, String],
    patterns: Seq[TopologyPattern] = Nil
) {
  def bootstrapServers: String = properties.getOrElse("bootstrap.servers", "")

  /**
   * The same, with the topics that match.
   *
   * @param there all topics of the cluster
   */
  def matching(there: Iterable[String]): TopologyCluster =
    if (patterns.isEmpty) this
    else {
      val named = topics.toSeq.filterNot(_._2.matched)
      val found =
        for (pattern <- patterns; topic <- there if pattern.matches(topic)) yield topic -> pattern.topic
      copy(topics = SortedMap.from((named ++ found).groupMap(_._1)(_._2).map { case (topic, naming) =>
        topic -> TopologyTopic.merge(naming)
      }))
    }

  override def toString: String =
    s"TopologyCluster($id, $bootstrapServers, ${topics.map { case (t, i) => s"$t: $i" }.mkString(", ")})"
}

/**
 * @param stream value of the `stream` column: the first subscribed stream id, in sorted order, that names
 *               this (cluster, topic)
 * @param draining true where every stream that names this (cluster, topic) has it draining
 * @param startingOffsets the metadata's own value, which wins over the query's options but not over
 *                        `cluster.<id>.startingOffsets`
 * @param partitions what is read of it; None: all partitions
 * @param matched known by a pattern alone
 */
private[dynamickafka] final case class TopologyTopic(
    stream: String,
    draining: Boolean = false,
    startingOffsets: Option[OffsetsPolicy] = None,
    stoppingOffsets: Option[OffsetsPolicy] = None,
    partitions: Option[SortedSet[Int]] = None,
    matched: Boolean = false
) {
  def reads(partition: Int): Boolean = partitions.forall(_(partition))
}

private[dynamickafka] object TopologyTopic {

  /**
   * What several streams say of one topic of a cluster: the first one has it, it is drained when all want that, and what
   * one of them reads of it is read.
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
      matched = byStream.forall(_.matched)
    )
  }
}

/**
 * Topics of one stream that are told by a pattern.
 *
 * @param regex a Java regular expression for whole names
 * @param topic what holds for each of them
 */
private[dynamickafka] final case class TopologyPattern(regex: String, topic: TopologyTopic) {
  private lazy val compiled = Pattern.compile(regex)
  def matches(topic: String): Boolean = compiled.matcher(topic).matches()
}

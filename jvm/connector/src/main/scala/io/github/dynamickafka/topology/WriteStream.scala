package io.github.dynamickafka.topology

import scala.collection.immutable.SortedMap

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

  /** Sorted by cluster id, so that the order of the metadata does not affect routing by key. */
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

  /** Without the options of registries, which may be secrets. */
  override def toString: String =
    s"WriteEntry($cluster, $topics, $pattern, $closed, ${registry.keys.toSeq.sorted.mkString(", ")})"
}

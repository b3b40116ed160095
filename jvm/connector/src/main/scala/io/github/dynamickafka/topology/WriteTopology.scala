package io.github.dynamickafka.topology

import scala.collection.immutable.SortedMap

/**
 * The streams that a query can write to, at one moment. Immutable. Tasks use `streams` for routing; `clusters` stays on the
 * driver.
 *
 * @param streams by stream id
 * @param clusters all clusters of these streams, by cluster id, with their properties
 */
private[dynamickafka] final case class WriteTopology(
    streams: SortedMap[String, WriteStream],
    clusters: SortedMap[String, WriteCluster]
) {

  /** The clusters that at least one stream leaves out. */
  def leftOut: Set[String] = streams.values.flatMap(_.leftOut).toSet

  /** Why nothing can be written to a cluster; None: at least one stream takes writes on it. */
  def problem(cluster: String): Option[String] = {
    val entries = streams.values.flatMap(_.entry(cluster)).toSeq
    if (entries.isEmpty)
      Some(s"the cluster is not in the metadata, which has ${clusters.keys.mkString(", ")}")
    else if (entries.exists(_.closed.isEmpty)) None
    else entries.head.closed.map(why => s"the cluster takes no writes: $why")
  }

  /** Routes to none of these clusters where a stream has others; see [[WriteStream.without]]. */
  def without(ids: Set[String]): WriteTopology =
    if (ids.isEmpty) this else copy(streams = streams.map { case (id, s) => id -> s.without(ids) })
}

private[dynamickafka] object WriteTopology {
  val empty: WriteTopology = WriteTopology(SortedMap.empty, SortedMap.empty)
}

/** @param properties the Kafka client properties of the metadata; `toString` shows only the bootstrap servers */
private[dynamickafka] final case class WriteCluster(id: String, properties: Map[String, String]) {
  override def toString: String = s"WriteCluster($id, ${properties.getOrElse("bootstrap.servers", "")})"
}

/**
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

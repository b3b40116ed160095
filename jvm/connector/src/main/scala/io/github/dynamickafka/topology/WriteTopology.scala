package io.github.dynamickafka.topology

import scala.collection.immutable.SortedMap

/**
 * The streams that can be written to, as the metadata has them at one moment. Immutable and serializable: tasks route
 * by it. Holds no properties of clusters that could be secrets: those are in [[WriteCluster.properties]], which stay on
 * the driver.
 *
 * @param streams by stream id
 * @param clusters all clusters of these streams, by cluster id, with their properties
 */
private[dynamickafka] final case class WriteTopology(
    streams: SortedMap[String, WriteStream],
    clusters: SortedMap[String, WriteCluster]
)

private[dynamickafka] object WriteTopology {
  val empty: WriteTopology = WriteTopology(SortedMap.empty, SortedMap.empty)
}

/** @param properties Kafka client properties as the metadata service gave them; `toString` shows the servers only */
private[dynamickafka] final case class WriteCluster(id: String, properties: Map[String, String]) {
  override def toString: String = s"WriteCluster($id, ${properties.getOrElse("bootstrap.servers", "")})"
}

/** @param clusters in the order of the metadata, which `clusterRouting=first` goes by */
private[dynamickafka] final case class WriteStream(id: String, clusters: Seq[WriteEntry]) {

  /** By cluster id, which does not change when the metadata is put in another order. */
  val writable: IndexedSeq[WriteEntry] = clusters.filter(_.closed.isEmpty).sortBy(_.cluster).toIndexedSeq

  val first: Option[WriteEntry] = clusters.find(_.closed.isEmpty)

  def entry(cluster: String): Option[WriteEntry] = clusters.find(_.cluster == cluster)
}

/**
 * What a stream has on one cluster, to write to.
 *
 * @param topics with the partitions that belong to the stream; None: all of them
 * @param pattern of topics that belong to the stream as well
 * @param closed why it takes no writes; None: it does
 */
private[dynamickafka] final case class WriteEntry(
    cluster: String,
    topics: SortedMap[String, Option[IndexedSeq[Int]]],
    pattern: Option[String],
    closed: Option[String]
) {
  def has(topic: String): Boolean = topics.contains(topic) || pattern.exists(topic.matches)

  def only: Option[String] = Option.when(topics.size == 1 && pattern.isEmpty)(topics.head._1)

  def partitions(topic: String): Option[IndexedSeq[Int]] = topics.get(topic).flatten
}

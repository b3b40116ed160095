package io.github.dynamickafka.sink

import io.github.dynamickafka.lineage.TopicDataset
import io.github.dynamickafka.topology.Topology

/** The topics for lineage that have got records of a batch: what is written, not what could be. Pure. */
private[sink] object WrittenDatasets {

  /**
   * @param address the bootstrap servers of a cluster
   * @param written of each task, the topics by cluster
   */
  def apply(
      topology: Topology,
      address: String => Option[String],
      written: Seq[Map[String, Set[String]]]
  ): Seq[TopicDataset] =
    for {
      (cluster, topics) <- written.flatten.groupMapReduce(_._1)(_._2)(_ ++ _).toSeq.sortBy(_._1)
      servers <- address(cluster).toSeq
      topic <- topics.toSeq.sorted
      stream = topology.streams.values.find(_.entry(cluster).exists(_.has(topic))).map(_.id)
      dataset <- TopicDataset.of(servers, cluster, topic, stream)
    } yield dataset
}

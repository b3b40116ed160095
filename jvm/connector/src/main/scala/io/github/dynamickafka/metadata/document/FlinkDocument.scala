package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.collection.mutable
import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * The YAML format of Flink's `YamlFileMetadataService`: a list of `{streamId, clusterMetadataList}`. Bootstrap servers
 * are the only properties in it.
 */
private[metadata] object FlinkDocument {

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val ids = mutable.Set.empty[String]
    val addresses = mutable.Map.empty[String, (String, String)]
    root.elements { element =>
      val stream = element.as(Place.Stream, "streamId")
      val fields = stream.fields(Seq("streamId", "clusterMetadataList"))
      val id = fields.required("streamId") { node =>
        val id = DocumentParts.streamId(node.scalar, node)
        if (!ids.add(id)) node.fail(s"stream '$id' is duplicate")
        id
      }.getOrElse("")
      val clusters = fields.required("clusterMetadataList") { list =>
        val known = mutable.Set.empty[String]
        list.elements(entry => cluster(entry.as(Place.Cluster, "clusterId"), known, id, addresses))
      }.getOrElse(Nil)
      DocumentParts.warnWithoutClusters(stream, clusters)
      new KafkaStream(id, clusters.to(VectorMap).asJava)
    }
  }

  /** @param addresses by cluster, with the first stream that has one */
  private def cluster(
      entry: DocumentNode,
      known: mutable.Set[String],
      stream: String,
      addresses: mutable.Map[String, (String, String)]
  ): (String, ClusterMetadata) = {
    val fields = entry.fields(Seq("clusterId", "bootstrapServers", "topics"))
    val bootstrap = fields.required("bootstrapServers")(DocumentParts.address)
    // In Flink, the address is the default of the id. Here it rarely is a valid id, because it contains ':'.
    val id =
      if (fields.node("clusterId").isDefined)
        fields.get("clusterId")(node => DocumentParts.clusterId(node.scalar, node))
      else bootstrap.map { address =>
        if (!Names.isClusterId(address)) entry.fail(
          s"'clusterId' is missing, and '$address' of 'bootstrapServers' cannot replace it: ${Names.ClusterIdRule}"
        )
        address
      }
    id.filterNot(known.add).foreach(twice => entry.report(s"cluster '$twice' is duplicate"))
    for (cluster <- id; address <- bootstrap; node <- fields.node("bootstrapServers")) {
      val (other, first) = addresses.getOrElseUpdate(cluster, (stream, address))
      node.warn(Option.when(first != address)(
        s"stream '$other' specifies a different address for this cluster: no query can read both streams"
      ))
    }
    val topics = fields.required("topics")(DocumentParts.topics).getOrElse(ju.List.of[String]())
    id.getOrElse("") ->
      ClusterMetadata.of(ju.Map.of(DocumentParts.Bootstrap, bootstrap.getOrElse(""))).withTopics(topics)
  }
}

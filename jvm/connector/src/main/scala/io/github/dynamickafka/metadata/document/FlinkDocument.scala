package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.mutable

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * The YAML format of Flink's `YamlFileMetadataService`: a list of `{streamId, clusterMetadataList}`. Bootstrap servers
 * are the only properties in it.
 */
private[metadata] object FlinkDocument {

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val ids = mutable.Set.empty[String]
    root.elements.map { element =>
      val fields = element.fields(Seq("streamId", "clusterMetadataList"))
      val idNode = fields.getOrElse("streamId", element.fail("'streamId' is missing"))
      val id = DocumentParts.streamId(idNode.scalar, idNode)
      if (!ids.add(id)) idNode.fail(s"stream '$id' is duplicate")
      val named = element.as("stream", id)
      val clusters = named.fields(Seq("streamId", "clusterMetadataList"))
        .getOrElse("clusterMetadataList", named.fail("'clusterMetadataList' is missing"))
      val found = new ju.LinkedHashMap[String, ClusterMetadata]
      clusters.elements.foreach(entry => cluster(entry, found))
      new KafkaStream(id, found)
    }
  }

  private def cluster(entry: DocumentNode, found: ju.Map[String, ClusterMetadata]): Unit = {
    val fields = entry.fields(Seq("clusterId", "bootstrapServers", "topics"))
    val bootstrapNode = fields.getOrElse("bootstrapServers", entry.fail("'bootstrapServers' is missing"))
    val bootstrap = bootstrapNode.scalar
    if (bootstrap.isBlank) bootstrapNode.fail("must not be blank")
    val id = fields.get("clusterId") match {
      case Some(node) => DocumentParts.clusterId(node.scalar, node)
      // In Flink, the address is the default of the id. Here it rarely is a valid id, because it contains ':'.
      case None if Names.isClusterId(bootstrap) => bootstrap
      case None =>
        entry.fail(
          s"'clusterId' is missing, and '$bootstrap' of 'bootstrapServers' cannot replace it: ${Names.ClusterIdRule}"
        )
    }
    val named = entry.as("cluster", id)
    if (found.containsKey(id)) named.fail(s"cluster '$id' is duplicate")
    val topics = named.fields(Seq("clusterId", "bootstrapServers", "topics"))
      .getOrElse("topics", named.fail("'topics' is missing"))
    found.put(
      id,
      new ClusterMetadata(DocumentParts.topics(topics), ju.Map.of(DocumentParts.Bootstrap, bootstrap))
    )
    ()
  }
}

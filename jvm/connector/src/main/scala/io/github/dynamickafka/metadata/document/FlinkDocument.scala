package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.mutable

import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/**
 * The YAML of Flink's `YamlFileMetadataService`: a list of `{streamId, clusterMetadataList}`. It carries bootstrap
 * servers and no other property.
 */
private[metadata] object FlinkDocument {

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val ids = mutable.Set.empty[String]
    root.elements.map { element =>
      val fields = element.fields(Seq("streamId", "clusterMetadataList"))
      val idNode = fields.getOrElse("streamId", element.fail("'streamId' is missing"))
      val id = DocumentParts.streamId(idNode.scalar, idNode)
      if (!ids.add(id)) idNode.fail(s"stream '$id' is given twice")
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
      // As in Flink, but there an address is an id and here it hardly ever can be: it holds a ':'.
      case None if Names.isClusterId(bootstrap) => bootstrap
      case None =>
        entry.fail(
          s"'clusterId' is missing, and '$bootstrap' of 'bootstrapServers' can't stand for it: ${Names.ClusterIdRule}"
        )
    }
    val named = entry.as("cluster", id)
    if (found.containsKey(id)) named.fail(s"cluster '$id' is given twice")
    val topics = named.fields(Seq("clusterId", "bootstrapServers", "topics"))
      .getOrElse("topics", named.fail("'topics' is missing"))
    found.put(
      id,
      new ClusterMetadata(DocumentParts.topics(topics), ju.Map.of(DocumentParts.Bootstrap, bootstrap))
    )
    ()
  }
}

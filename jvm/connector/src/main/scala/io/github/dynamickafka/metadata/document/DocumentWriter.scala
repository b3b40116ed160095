package io.github.dynamickafka.metadata.document

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.fasterxml.jackson.databind.node.ObjectNode

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}

/** Writes streams as a document of the service `static`: version 1 of the format, in JSON. Pure. */
private[dynamickafka] object DocumentWriter {
  private val mapper = new ObjectMapper

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID`, without values of properties */
  def text(streams: Iterable[KafkaStream]): String = {
    val root = mapper.createObjectNode().put("version", 1)
    val (clusters, byId) = (root.putObject("clusters"), root.putObject("streams"))
    val first = mutable.Map.empty[String, (String, Map[String, String])]
    streams.foreach { stream =>
      val id = stream.streamId
      if (byId.has(id)) refuse(s"the stream '$id' is duplicate")
      val node = byId.putObject(id)
      val entries = node.putObject("clusters")
      stream.getClusterMetadataMap.asScala.foreach { case (cluster, metadata) =>
        val properties = metadata.getProperties.asScala.toMap
        val (other, before) = first.getOrElseUpdate(cluster, (id, properties))
        if (before != properties) refuse(
          s"the streams '$other' and '$id' specify different properties for the cluster '$cluster': " +
            Names.differing(before, properties).mkString(", ")
        )
        val known = clusters.putObject(cluster)
        put(known.putObject("properties"), properties)
        Option(metadata.replaces).foreach(known.put("replaces", _))
        entry(entries.putObject(cluster), metadata)
      }
      options(node, stream.getFormatOptions.asScala)
      Option(stream.history).foreach(history(node.putObject("history"), _))
    }
    mapper.writeValueAsString(root)
  }

  private def entry(node: ObjectNode, cluster: ClusterMetadata): Unit = {
    if (cluster.topicPattern != null) node.put("topic_pattern", cluster.topicPattern)
    else if (!cluster.getPartitions.isEmpty) node.set[ObjectNode]("partitions", tree(cluster.getPartitions))
    else node.set[ObjectNode]("topics", tree(cluster.getTopics))
    node.put("state", cluster.state).put("write", cluster.write)
    Option(cluster.startingOffsets).foreach(node.put("starting_offsets", _))
    Option(cluster.stoppingOffsets).foreach(node.put("stopping_offsets", _))
    val prefix = "registry."
    val (registry, others) = cluster.getFormatOptions.asScala.partition(_._1.startsWith(prefix))
    if (registry.nonEmpty)
      put(
        node.putObject("registry"),
        registry.map { case (name, value) => name.drop(prefix.length) -> value }
      )
    // They are refused where the document is read.
    options(node, others)
  }

  private def history(node: ObjectNode, history: StreamHistory): Unit = {
    node.put("format", history.format).put("path", history.path)
    options(node, history.getOptions.asScala)
    Option(history.cluster).foreach(node.put("cluster", _))
  }

  private def options(node: ObjectNode, values: collection.Map[String, String]): Unit =
    if (values.nonEmpty) put(node.putObject("options"), values)

  private def put(node: ObjectNode, values: collection.Map[String, String]): Unit =
    values.foreach { case (name, value) => node.put(name, value) }

  private def tree(value: AnyRef) = mapper.valueToTree[com.fasterxml.jackson.databind.JsonNode](value)

  private def refuse(reason: String) = throw Errors.metadataInvalid("the streams", reason)
}

package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.immutable.VectorMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.config.offsets.OffsetsParser
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}

/** The document format of this connector, version 1: `version`, `clusters` with their properties, and `streams`. */
private[metadata] object DocumentV1 {

  private val Top = Seq("version", "clusters", "streams")
  private val Ways = Seq("topics", "topic_pattern", "partitions")
  private val History = "history"
  private val Replaces = "replaces"
  private val Entry = Ways ++ Seq("state", "write", "starting_offsets", "stopping_offsets")
  private val CamelCase =
    Map("starting_offsets" -> "startingOffsets", "stopping_offsets" -> "stoppingOffsets")

  private val mapper = new ObjectMapper

  private type Properties = Map[String, String]

  /**
   * @param registry the options of the registry of this cluster
   * @param replaces the id of the cluster whose place this one takes
   */
  private final case class Cluster(
      properties: Properties,
      registry: Map[String, String],
      replaces: Option[String]
  )

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val top = root.fields(Top)
    version(top.getOrElse("version", root.fail("'version' is missing, write 'version: 1'")))
    val clusters = top.get("clusters").toSeq.flatMap(_.items("cluster"))
      .map { case (id, node) => DocumentParts.clusterId(id, node) -> cluster(id, node) }.to(VectorMap)
    top.getOrElse("streams", root.fail("'streams' is missing")).items("stream")
      .map { case (id, node) => stream(DocumentParts.streamId(id, node), node, clusters) }
  }

  private def version(node: DocumentNode): Unit = {
    val found = node.scalar
    if (found != "1") node.fail(s"version $found is unknown; this release supports version 1")
  }

  private def cluster(id: String, node: DocumentNode): Cluster = {
    val fields = node.fields(Seq("properties", DocumentFormat.Registry, Replaces))
    Cluster(
      properties(fields.getOrElse("properties", node.fail("'properties' is missing"))),
      fields.get(DocumentFormat.Registry).fold(Map.empty[String, String])(DocumentFormat.registry),
      fields.get(Replaces).map { of =>
        val former = DocumentParts.clusterId(of.scalar, of)
        if (former == id) of.fail("a cluster cannot replace itself")
        former
      }
    )
  }

  private def properties(node: DocumentNode): Properties = {
    val found = node.items("property").map { case (key, value) => (key, value, value.scalar) }
    found.find(_._1 == DocumentParts.Bootstrap) match {
      case None => node.fail(s"'${DocumentParts.Bootstrap}' is missing")
      case Some((_, value, text)) => if (text.isBlank) value.fail("must not be blank")
    }
    found.map { case (key, _, text) => key -> text }.to(VectorMap)
  }

  private def stream(id: String, node: DocumentNode, clusters: Map[String, Cluster]): KafkaStream = {
    val fields = node.fields("clusters" +: (DocumentFormat.Keys :+ History))
    val entries = fields.getOrElse("clusters", node.fail("'clusters' is missing"))
    val format = DocumentFormat.options(fields)
    val found = new ju.LinkedHashMap[String, ClusterMetadata]
    entries.items("cluster").foreach { case (cluster, entry) =>
      val known = clusters.getOrElse(
        cluster,
        entry.fail(
          s"'clusters' has no cluster '$cluster'.${Names.didYouMean(cluster, clusters.keys)}"
        )
      )
      // A registry of the stream takes precedence over that of the cluster.
      val registry = if (DocumentFormat.hasRegistry(format)) Map.empty[String, String] else known.registry
      found.put(cluster, clusterMetadata(entry, known, registry))
    }
    entries.items("cluster").foreach { case (cluster, entry) =>
      val isRemoved = found.get(cluster).state == ClusterMetadata.Removed
      clusters(cluster).replaces.filter(former =>
        !isRemoved && Option(found.get(former)).exists(_.state == ClusterMetadata.Active)
      ).foreach(former => entry.fail(Names.replacesActive(former)))
    }
    new KafkaStream(id, found, format.asJava, fields.get(History).map(history).orNull)
  }

  private def history(node: DocumentNode): StreamHistory = {
    val fields = node.fields(Seq("format", "path", "options", "cluster"))
    def text(key: String) =
      DocumentParts.notBlank(fields.getOrElse(key, node.fail(s"'$key' is missing")))
    val options = fields.get("options").toSeq.flatMap(_.items("option")).map { case (name, value) =>
      name -> value.scalar
    }
    new StreamHistory(
      text("format"),
      text("path"),
      options.toMap.asJava,
      fields.get("cluster").map(of => DocumentParts.clusterId(of.scalar, of)).orNull
    )
  }

  private def clusterMetadata(
      entry: DocumentNode,
      cluster: Cluster,
      registry: Map[String, String]
  ): ClusterMetadata = {
    val fields = entry.fields(Entry ++ CamelCase.values ++ DocumentFormat.Keys)
    (DocumentFormat.Keys.toSet - DocumentFormat.Registry).flatMap(fields.get).minByOption(_.line)
      .foreach(_.fail(DocumentFormat.OneFormat))
    oneWay(entry, Ways.flatMap(way => fields.get(way).map(way -> _)))
    new ClusterMetadata(
      fields.get("topics").fold[ju.Collection[String]](ju.List.of())(DocumentParts.topics),
      cluster.properties.asJava,
      offsets(fields, "starting_offsets").orNull,
      offsets(fields, "stopping_offsets").orNull,
      fields.get("state").map(state).getOrElse(ClusterMetadata.Active),
      fields.get("topic_pattern").map(pattern).orNull,
      fields.get("partitions").map(DocumentParts.partitions).orNull,
      fields.get("write").forall(_.truth),
      fields.get(DocumentFormat.Registry).fold(registry)(DocumentFormat.registry).asJava,
      cluster.replaces.orNull
    )
  }

  private def oneWay(entry: DocumentNode, ways: Seq[(String, DocumentNode)]): Unit = {
    val rule = "exactly one of 'topics', 'topic_pattern' and 'partitions' is required"
    if (ways.isEmpty) entry.fail(s"'topics' is missing; $rule")
    val ordered = ways.sortBy(_._2.line)
    ordered.drop(1).headOption.foreach(_._2.fail(s"is specified together with '${ordered.head._1}'; $rule"))
  }

  private def pattern(node: DocumentNode): String = {
    val text = node.text
    Names.badPattern(text).foreach(node.fail(_))
    text
  }

  private def state(node: DocumentNode): String = {
    val found = node.scalar
    if (ClusterMetadata.States.contains(found)) found
    else node.fail(
      s"'$found' is not a valid state, use 'active', 'draining' or 'removed'." +
        Names.didYouMean(found, ClusterMetadata.States)
    )
  }

  private def offsets(fields: Map[String, DocumentNode], name: String): Option[String] = {
    val (snake, camel) = (fields.get(name), fields.get(CamelCase(name)))
    for (_ <- snake; twice <- camel) twice.fail(s"is the same key as '$name', which is also specified")
    snake.orElse(camel).map { node =>
      val text = if (node.isMapping) json(node) else node.scalar
      val parsed =
        if (name == "stopping_offsets") OffsetsParser.ending(text) else OffsetsParser.starting(text)
      parsed.left.foreach(reason => node.fail(Names.cannotBeUsed(text, reason)))
      text
    }
  }

  /** The offsets by topic and partition in the JSON format of the option, in a stable order. */
  private def json(node: DocumentNode): String = {
    val positions = new ju.TreeMap[String, ju.Map[String, Long]]
    node.items("topic").foreach { case (topic, partitions) =>
      val offsets = new ju.TreeMap[String, Long]
      partitions.items("partition").foreach { case (partition, offset) =>
        offsets.put(
          partition,
          offset.scalar.toLongOption.getOrElse(offset.fail("must be an integer"))
        )
      }
      positions.put(topic, offsets)
    }
    mapper.writeValueAsString(positions)
  }
}

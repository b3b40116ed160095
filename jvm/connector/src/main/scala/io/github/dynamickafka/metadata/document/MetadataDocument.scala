package io.github.dynamickafka.metadata.document

import java.{util => ju}

import scala.collection.immutable.{TreeMap, VectorMap}
import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper

import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.KafkaProperties
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}

/**
 * The streams of a document: a file, an option, or the answer of a service in another language.
 *
 * @param streams by id, in the order of the document
 * @param invalid why other streams cannot be used, by id: an error of queries that select them
 */
private[dynamickafka] final case class MetadataDocument(
    streams: Map[String, KafkaStream],
    invalid: Map[String, Throwable] = Map.empty
)

private[dynamickafka] object MetadataDocument {

  /**
   * A document with all its problems.
   *
   * @param streams what the document says, and only if there are no errors
   * @param errors why the document is refused, by line
   * @param warnings what is accepted and probably a mistake, by line; empty if there are errors
   */
  final class Checked(val streams: Map[String, KafkaStream], val errors: Seq[Problem], problems: Problems) {
    lazy val warnings: Seq[Problem] = if (errors.isEmpty) problems.allWarnings else Nil
  }

  /**
   * Parses version 1 of the format or Flink's list of streams, in YAML or JSON.
   *
   * Parsing is strict, because a mistake in the document affects data: anything unknown fails with METADATA_INVALID,
   * which names the origin, the line, the stream, the cluster and the key, but no value of a property.
   */
  def parse(text: String, origin: String): MetadataDocument = MetadataDocument(accepted(check(text), origin))

  /** As `parse`, with all errors in place of the first one. */
  def check(text: String): Checked = check(DocumentText.tree(text))

  def check(tree: => DocumentTree): Checked = {
    val problems = new Problems
    val streams = problems.attempt {
      val root = DocumentNode.root(tree, problems)
      if (root.isList) FlinkDocument.streams(root) else DocumentV1.streams(root)
    }
    new Checked(streams.getOrElse(Nil).map(s => s.streamId -> s).to(VectorMap), problems.allErrors, problems)
  }

  def accepted(document: Checked, origin: String): Map[String, KafkaStream] = {
    refuse(document.errors, origin)
    document.streams
  }

  /** Reads another document, such as the properties in a column of a table. */
  private[metadata] def read[A](text: String, origin: String)(read: DocumentNode => A): A = {
    val problems = new Problems
    val found = problems.attempt(read(DocumentNode.root(DocumentText.tree(text), problems)))
    refuse(problems.allErrors, origin)
    found.getOrElse(throw new IllegalStateException("a document without a value has a problem"))
  }

  /** METADATA_INVALID with the first problem, and the others after it. */
  private def refuse(errors: Seq[Problem], origin: String): Unit = errors.headOption.foreach { first =>
    val others = errors.slice(1, MostErrors).map(other => s"\n  ${other.text}")
    val more = if (errors.size > MostErrors) s"\n  and ${errors.size - MostErrors} more errors" else ""
    throw Errors.metadataInvalid(
      first.where.fold(origin)(where => s"$origin, $where"),
      first.reason + others.mkString + more
    )
  }

  private val MostErrors = 5
}

/** The document format of this connector, version 1: `version`, `clusters` with their properties, and `streams`. */
private[metadata] object DocumentV1 {

  private val Top = Seq("version", "clusters", "streams")
  private val Ways = Seq("topics", "topic_pattern", "partitions")
  private val History = "history"
  private val Replaces = "replaces"
  private val Prefix = "kafka."
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
      node: DocumentNode,
      properties: Properties = Map.empty,
      registry: Map[String, String] = Map.empty,
      replaces: Option[String] = None
  )

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val top = root.fields(Top)
    top.required("version", ", write 'version: 1'")(version)
    val declared = top.get("clusters")(_.items("cluster")((id, node) =>
      node.attempt(cluster(id, node)).getOrElse(Cluster(node))
    ))
    // None: no id is known, because the part cannot be read.
    val clusters =
      if (top.node("clusters").isEmpty) Some(Map.empty[String, Cluster]) else declared.map(_.toMap)
    val found = top.required("streams")(_.items(Place.Stream)((id, node) => stream(id, node, clusters)))
      .getOrElse(Nil).map(_._2)
    val used = found.flatMap(_.getClusterMetadataMap.keySet.asScala).toSet
    declared.toSeq.flatten.foreach { case (id, cluster) =>
      cluster.node.warn(Option.unless(used(id))("no stream uses this cluster"))
    }
    found
  }

  private def version(node: DocumentNode): Unit = {
    val found = node.scalar
    if (found != "1") node.fail(s"version $found is unknown; this release supports version 1")
  }

  private def cluster(id: String, node: DocumentNode): Cluster = {
    val _ = node.attempt(DocumentParts.clusterId(id, node))
    val fields = node.fields(Seq("properties", DocumentFormat.Registry, Replaces))
    Cluster(
      node,
      fields.required("properties")(properties).getOrElse(Map.empty),
      fields.get(DocumentFormat.Registry)(DocumentFormat.registry).getOrElse(Map.empty),
      fields.get(Replaces) { of =>
        val former = DocumentParts.clusterId(of.scalar, of)
        if (former == id) of.fail("a cluster cannot replace itself")
        former
      }
    )
  }

  private def properties(node: DocumentNode): Properties = {
    var nodes = Map.empty[String, DocumentNode]
    val found = node.items("property") { (key, value) =>
      nodes += key -> value
      value.warn(Option.when(key.startsWith(Prefix))(
        s"properties have no prefix here: write '${key.stripPrefix(Prefix)}'"
      ))
      if (key == DocumentParts.Bootstrap) DocumentParts.address(value) else value.scalar
    }
    if (!nodes.contains(DocumentParts.Bootstrap)) node.report(s"'${DocumentParts.Bootstrap}' is missing")
    KafkaProperties.problems(found.toMap).foreach { case (name, reason) => nodes(name).report(reason) }
    found.to(VectorMap)
  }

  private def stream(id: String, node: DocumentNode, clusters: Option[Map[String, Cluster]]): KafkaStream = {
    val _ = node.attempt(DocumentParts.streamId(id, node))
    val fields = node.fields("clusters" +: (DocumentFormat.Keys :+ History))
    val format = DocumentFormat.options(fields)
    val entries = fields.required("clusters")(_.items(Place.Cluster) { (id, entry) =>
      clusters.filterNot(_.contains(id)).foreach(all =>
        entry.report(s"'clusters' has no cluster '$id'.${Names.didYouMean(id, all.keys)}")
      )
      val cluster = clusters.flatMap(_.get(id)).getOrElse(Cluster(entry))
      // A registry of the stream takes precedence over that of the cluster.
      val registry = if (DocumentFormat.hasRegistry(format)) Map.empty[String, String] else cluster.registry
      entry -> clusterMetadata(entry, cluster, registry)
    }).getOrElse(Nil)
    val found = entries.map { case (cluster, (_, metadata)) => cluster -> metadata }.to(VectorMap)
    for ((_, (entry, metadata)) <- entries; former <- Option(metadata.replaces))
      if (
        metadata.state != ClusterMetadata.Removed && found.get(former).exists(
          _.state == ClusterMetadata.Active
        )
      ) entry.report(Names.replacesActive(former))
    DocumentParts.warnWithoutClusters(node, found)
    new KafkaStream(id, found.asJava, format.asJava, fields.get(History)(history).orNull)
  }

  private def history(node: DocumentNode): StreamHistory = {
    val fields = node.fields(Seq("format", "path", "options", "cluster"))
    new StreamHistory(
      fields.required("format")(DocumentParts.notBlank).getOrElse(""),
      fields.required("path")(DocumentParts.notBlank).getOrElse(""),
      fields.get("options")(DocumentFormat.values).getOrElse(Map.empty).asJava,
      fields.get("cluster")(of => DocumentParts.clusterId(of.scalar, of)).orNull
    )
  }

  private def clusterMetadata(
      entry: DocumentNode,
      cluster: Cluster,
      registry: Map[String, String]
  ): ClusterMetadata = {
    val fields = entry.fields(Entry ++ CamelCase.values ++ DocumentFormat.Keys)
    DocumentFormat.Keys.filter(_ != DocumentFormat.Registry).flatMap(fields.node).foreach(
      _.report(DocumentFormat.OneFormat)
    )
    oneWay(entry, Ways.flatMap(way => fields.node(way).map(way -> _)))
    val all = ClusterMetadata.of(cluster.properties.asJava)
      .withTopics(fields.get("topics")(DocumentParts.topics).getOrElse(ju.List.of[String]()))
      .withStartingOffsets(offsets(fields, "starting_offsets").orNull)
      .withStoppingOffsets(offsets(fields, "stopping_offsets").orNull)
      .withState(fields.get("state")(state).getOrElse(ClusterMetadata.Active))
      .withTopicPattern(fields.get("topic_pattern")(pattern).orNull)
      .withWrite(fields.get("write")(_.truth).getOrElse(true))
      .withFormatOptions(fields.get(DocumentFormat.Registry)(
        DocumentFormat.registry
      ).getOrElse(registry).asJava)
      .withReplaces(cluster.replaces.orNull)
    fields.get("partitions")(DocumentParts.partitions).fold(all)(all.withPartitions)
  }

  private def oneWay(entry: DocumentNode, ways: Seq[(String, DocumentNode)]): Unit = {
    val rule = "exactly one of 'topics', 'topic_pattern' and 'partitions' is required"
    if (ways.isEmpty) entry.report(s"'topics' is missing; $rule")
    val ordered = ways.sortBy(_._2.line)
    ordered.drop(1).headOption.foreach(_._2.report(
      s"is specified together with '${ordered.head._1}'; $rule"
    ))
  }

  private def pattern(node: DocumentNode): String = {
    val text = node.text
    Names.badPattern(text).foreach(node.fail(_))
    text
  }

  private def state(node: DocumentNode): String = {
    val found = node.scalar
    Names.badState(found).foreach { reason =>
      val meant =
        if (found.startsWith("drain")) Names.meant(ClusterMetadata.Draining)
        else Names.didYouMean(found, ClusterMetadata.States)
      node.fail(s"$reason.$meant")
    }
    found
  }

  private def offsets(fields: Fields, name: String): Option[String] = {
    val camel = CamelCase(name)
    val key = if (fields.node(name).isDefined) name else camel
    if (key == name)
      fields.node(camel).foreach(_.report(s"is the same key as '$name', which is also specified"))
    fields.get(key) { node =>
      val text = if (node.isMapping) node.whole(json(node)) else Some(node.scalar)
      text.foreach { t =>
        val parsed = if (name == "stopping_offsets") OffsetsParser.ending(t) else OffsetsParser.starting(t)
        parsed.left.foreach(reason => node.fail(Names.cannotBeUsed(t, reason)))
      }
      text
    }.flatten
  }

  /** The offsets by topic and partition in the JSON format of the option, in a stable order. */
  private def json(node: DocumentNode): String = {
    val topics = node.items("topic")((_, partitions) =>
      partitions.items("partition")((_, offset) =>
        offset.scalar.toLongOption.getOrElse(offset.fail("must be an integer"))
      ).to(TreeMap).asJava
    )
    mapper.writeValueAsString(topics.to(TreeMap).asJava)
  }
}

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

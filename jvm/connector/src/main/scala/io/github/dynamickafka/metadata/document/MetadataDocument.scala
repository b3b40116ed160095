package io.github.dynamickafka.metadata.document

import scala.collection.immutable.{TreeMap, VectorMap}
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.format.table.Formats
import io.github.dynamickafka.kafka.{BrokerSocket, KafkaProperties}
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream, StreamHistory}
import io.github.dynamickafka.option.{ClusterKeys, Suggestions}

/** The streams of a document by id, in its order: a file, an option, or the answer of a service in another language. */
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
  def parse(text: String, origin: String): Map[String, KafkaStream] = accepted(check(text), origin)

  /** Parses like `parse`, with all errors in place of the first one. */
  def check(text: String): Checked = check(DocumentText.tree(text))

  def check(tree: => DocumentTree): Checked = {
    val (streams, problems) =
      reading(tree)(root => if (root.isList) FlinkDocument.streams(root) else DocumentV1.streams(root))
    new Checked(streams.getOrElse(Nil).map(s => s.streamId -> s).to(VectorMap), problems.allErrors, problems)
  }

  def accepted(document: Checked, origin: String): Map[String, KafkaStream] = {
    refuse(document.errors, origin)
    document.streams
  }

  /** Reads another document, such as the properties in a column of a table. */
  private[metadata] def read[A](text: String, origin: String)(read: DocumentNode => A): A = {
    val (found, problems) = reading(DocumentText.tree(text))(read)
    refuse(problems.allErrors, origin)
    found.getOrElse(throw new IllegalStateException("a document without a value has a problem"))
  }

  private def reading[A](tree: => DocumentTree)(read: DocumentNode => A): (Option[A], Problems) = {
    val problems = new Problems
    val found = problems.attempt {
      val root = tree
      read(new DocumentNode(root, problems, root.line, Place()))
    }
    found -> problems
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

  private val Ways = Seq("topics", "topic_pattern", "partitions")
  private val History = "history"
  private val Replaces = "replaces"
  private val Prefix = "kafka."
  private val Entry = Ways ++ Seq("state", "write", "starting_offsets", "stopping_offsets")
  private val CamelCase =
    Map("starting_offsets" -> "startingOffsets", "stopping_offsets" -> "stoppingOffsets")

  /**
   * @param registry the options of the registry of this cluster
   * @param replaces the id of the cluster whose place this one takes
   */
  private final case class Cluster(
      node: DocumentNode,
      properties: Map[String, String] = Map.empty,
      registry: Map[String, String] = Map.empty,
      replaces: Option[String] = None
  )

  def streams(root: DocumentNode): Seq[KafkaStream] = {
    val top = root.fields(Seq("version", "clusters", "streams"))
    top.required("version", ", write 'version: 1'")(node =>
      node.checked(node.scalar)(found =>
        Option.when(found != "1")(s"version $found is unknown; this release supports version 1")
      )
    )
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

  private def cluster(id: String, node: DocumentNode): Cluster = {
    val _ = node.attempt(DocumentParts.clusterId(id, node))
    val fields = node.fields(Seq("properties", DocumentFormat.Registry, Replaces))
    Cluster(
      node,
      fields.required("properties")(properties).getOrElse(Map.empty),
      fields.get(DocumentFormat.Registry)(DocumentFormat.registry).getOrElse(Map.empty),
      fields.get(Replaces)(of =>
        of.checked(DocumentParts.clusterId(of.scalar, of))(former =>
          Option.when(former == id)("a cluster cannot replace itself")
        )
      )
    )
  }

  private def properties(node: DocumentNode): Map[String, String] = {
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
        entry.report(s"'clusters' has no cluster '$id'.${Suggestions.didYouMean(id, all.keys)}")
      )
      val cluster = clusters.flatMap(_.get(id)).getOrElse(Cluster(entry))
      // A registry of the stream takes precedence over that of the cluster.
      val registry =
        if (format.keys.exists(DocumentFormat.isRegistry)) Map.empty[String, String] else cluster.registry
      entry -> clusterMetadata(entry, cluster, registry)
    }).getOrElse(Nil)
    val found = entries.map { case (cluster, (_, metadata)) => cluster -> metadata }.to(VectorMap)
    for {
      (_, (entry, metadata)) <- entries if metadata.state != ClusterMetadata.Removed
      former <- Option(metadata.replaces) if found.get(former).exists(_.state == ClusterMetadata.Active)
    } entry.report(Names.replacesActive(former))
    DocumentParts.warnWithoutClusters(node, found)
    KafkaStream(id, found, format, fields.get(History)(history).orNull)
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
    ClusterMetadata(
      fields.get("topics")(DocumentParts.topics).getOrElse(Nil),
      cluster.properties,
      offsets(fields, "starting_offsets").orNull,
      offsets(fields, "stopping_offsets").orNull,
      fields.get("state")(node => node.checked(node.scalar)(badState)).getOrElse(ClusterMetadata.Active),
      fields.get("topic_pattern")(node => node.checked(node.text)(Names.badPattern)).orNull,
      fields.get("partitions")(DocumentParts.partitions).getOrElse(Map.empty),
      fields.get("write")(_.truth).getOrElse(true),
      fields.get(DocumentFormat.Registry)(DocumentFormat.registry).getOrElse(registry),
      cluster.replaces.orNull
    )
  }

  private def oneWay(entry: DocumentNode, ways: Seq[(String, DocumentNode)]): Unit = {
    val rule = "exactly one of 'topics', 'topic_pattern' and 'partitions' is required"
    ways.sortBy(_._2.line) match {
      case Seq() => entry.report(s"'topics' is missing; $rule")
      case Seq((first, _), (_, second), _*) =>
        second.report(s"is specified together with '$first'; $rule")
      case _ => ()
    }
  }

  private def badState(text: String): Option[String] = Names.badState(text).map(reason =>
    s"$reason." + (
      if (text.startsWith("drain")) Errors.meant(ClusterMetadata.Draining)
      else Suggestions.didYouMean(text, ClusterMetadata.States)
    )
  )

  private def offsets(fields: Fields, name: String): Option[String] = {
    val camel = CamelCase(name)
    val key = if (fields.node(name).isDefined) name else camel
    if (key == name)
      fields.node(camel).foreach(_.report(s"is the same key as '$name', which is also specified"))
    fields.get(key) { node =>
      val text = if (node.isMapping) node.whole(json(node)) else Some(node.scalar)
      text.map(node.checked(_) { t =>
        val parsed = if (name == "stopping_offsets") OffsetsParser.ending(t) else OffsetsParser.starting(t)
        parsed.left.toOption.map(Names.cannotBeUsed(t, _))
      })
    }.flatten
  }

  /** The offsets by topic and partition in the JSON format of the option, in a stable order. */
  private def json(node: DocumentNode): String = {
    val topics = node.items("topic")((_, partitions) =>
      partitions.items("partition")((_, offset) =>
        offset.scalar.toLongOption.getOrElse(offset.fail("must be an integer"))
      ).to(TreeMap)
    )
    Json.write(topics.to(TreeMap))
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
      val id = fields.required("streamId")(node =>
        node.checked(DocumentParts.streamId(node.scalar, node))(id =>
          Option.unless(ids.add(id))(s"stream '$id' is duplicate")
        )
      ).getOrElse("")
      val clusters = fields.required("clusterMetadataList") { list =>
        val known = mutable.Set.empty[String]
        list.elements(entry => cluster(entry.as(Place.Cluster, "clusterId"), known, id, addresses))
      }.getOrElse(Nil)
      DocumentParts.warnWithoutClusters(stream, clusters)
      KafkaStream(id, clusters.to(VectorMap))
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
      else bootstrap.map(entry.checked(_)(address =>
        Option.unless(ClusterKeys.isClusterId(address))(
          s"'clusterId' is missing, and '$address' of 'bootstrapServers' cannot replace it: ${ClusterKeys.Rule}"
        )
      ))
    id.filterNot(known.add).foreach(twice => entry.report(s"cluster '$twice' is duplicate"))
    for (cluster <- id; address <- bootstrap; node <- fields.node("bootstrapServers")) {
      val (other, first) = addresses.getOrElseUpdate(cluster, (stream, address))
      node.warn(Option.when(first != address)(
        s"stream '$other' specifies a different address for this cluster: no query can read both streams"
      ))
    }
    val topics = fields.required("topics")(DocumentParts.topics).getOrElse(Nil)
    id.getOrElse("") -> ClusterMetadata(topics, Map(DocumentParts.Bootstrap -> bootstrap.getOrElse("")))
  }
}

/**
 * What a document says about the format of records, as options of the data source. Names and values are checked where they are
 * used; what is certainly wrong is a warning here. Values of a registry may be secrets.
 */
private[metadata] object DocumentFormat {
  val Registry = "registry"
  private val Options = "options"
  private val Texts = Map("format" -> "format", "key_format" -> "keyFormat", "schema" -> "schema")
  private val KeyFields = "key_fields"

  val Keys: Seq[String] = Seq("format", "key_format", KeyFields, "schema", Registry, Options)

  /** @param fields of a stream */
  def options(fields: Fields): Map[String, String] = {
    val further = fields.get(Options)(values).getOrElse(Map.empty)
    val texts = Texts.toSeq.flatMap { case (key, option) =>
      fields.get(key)(node => option -> known(key, node))
    }
    val keys = fields.get(KeyFields)(node =>
      "keyFields" -> (
        if (node.isList)
          DocumentParts.filled(node, "field")(node.elements(DocumentParts.notBlank)).mkString(";")
        else DocumentParts.notBlank(node)
      )
    )
    further ++ texts ++ keys ++ fields.get(Registry)(registry).getOrElse(Map.empty)
  }

  /** The address, or a map of the options. */
  def registry(node: DocumentNode): Map[String, String] =
    if (node.isMapping) values(node).map { case (name, value) => s"$Registry.$name" -> value }
    else Map(s"$Registry.url" -> DocumentParts.notBlank(node))

  def isRegistry(option: String): Boolean = option.startsWith(s"$Registry.")

  /** Why a cluster cannot have a format. */
  val OneFormat: String =
    "the records of a stream have one format on all clusters; make a stream for those of another format. A cluster can have a registry"

  def values(node: DocumentNode): Map[String, String] =
    node.items("option")((_, value) => value.scalar).toMap

  private def known(key: String, node: DocumentNode): String = {
    val text = DocumentParts.notBlank(node)
    node.warn(
      if (key == "schema") unknownType(text)
      else Formats.registered.toRead.parse(text).left.toOption.map(reason =>
        s"'$text' is no format of records: $reason"
      )
    )
    text
  }

  /** The word in place of a type, if Spark refuses DDL for that reason. */
  private def unknownType(ddl: String): Option[String] =
    Option.unless(ddl.trim.startsWith("{"))(Try(StructType.fromDDL(ddl))).flatMap(_.failed.toOption).collect {
      case e: ParseException if e.getCondition == "UNSUPPORTED_DATATYPE" =>
        val word = e.getMessageParameters.get("typeName").stripPrefix("\"").stripSuffix("\"")
        s"'$word' is not a type of Spark.${Suggestions.didYouMean(word, Types)}"
    }

  /** The types that are written most, for suggestions. */
  private val Types =
    ("ARRAY BIGINT BINARY BOOLEAN DATE DECIMAL DOUBLE FLOAT INT INTEGER MAP SMALLINT STRING STRUCT TIMESTAMP " +
      "TIMESTAMP_NTZ TINYINT VARIANT").split(" ").toSeq

}

/** The common parts of both document formats. */
private[metadata] object DocumentParts {

  val Bootstrap = "bootstrap.servers"

  def streamId(id: String, node: DocumentNode): String =
    node.checked(id)(id => Option.when(id.isBlank)("a stream id must not be blank"))

  def clusterId(id: String, node: DocumentNode): String = node.checked(id)(id =>
    Option.unless(ClusterKeys.isClusterId(id))(s"'$id' is not a valid cluster id: ${ClusterKeys.Rule}")
  )

  def notBlank(node: DocumentNode): String = notBlank(node, node.text)

  private def notBlank(node: DocumentNode, text: String): String =
    node.checked(text)(text => Option.when(text.isBlank)("must not be blank"))

  /** Checks `bootstrap.servers`. What a reference becomes is not known here. */
  def address(node: DocumentNode): String = {
    val text = notBlank(node, node.scalar)
    if (!text.contains("${")) text.split(",").map(_.trim).filter(_.nonEmpty).foreach(entry =>
      node.warn(Option.when(BrokerSocket.addresses(entry).isEmpty)(
        s"'$entry' is not host:port, so that no client can connect"
      ))
    )
    text
  }

  /** A stream without clusters is valid, because a metadata service may know it as such. */
  def warnWithoutClusters(stream: DocumentNode, clusters: Iterable[_]): Unit =
    stream.warn(Option.when(clusters.isEmpty)(
      "it has no cluster: polls of queries that read it fail, unless allowMissingStreams is true"
    ))

  def topics(node: DocumentNode): Seq[String] = filled(node, "topic")(
    distinct(node)(element => element.checked(element.text)(Names.badTopic))(topic => s"topic '$topic'")
  )

  def partitions(node: DocumentNode): Map[String, Seq[Int]] = {
    val found = node.items("topic") { (topic, numbers) =>
      Names.badTopic(topic).foreach(numbers.fail)
      filled(numbers, "partition")(distinct(numbers)(element =>
        element.scalar.toIntOption.filter(_ >= 0)
          .getOrElse(element.fail("must be a partition number of at least 0"))
      )(number => s"partition $number"))
    }
    if (node.isEmpty) node.fail("must contain partitions of at least one topic")
    found.to(VectorMap)
  }

  /** What is made of a list, which must not be empty. */
  def filled[A](node: DocumentNode, element: String)(read: => A): A = {
    val found = read
    if (node.isEmpty) node.fail(s"must contain at least one $element")
    found
  }

  private def distinct[A](node: DocumentNode)(read: DocumentNode => A)(shown: A => String): Seq[A] = {
    val found = mutable.Set.empty[A]
    node.elements(element =>
      element.checked(read(element))(value =>
        Option.unless(found.add(value))(s"${shown(value)} is duplicate")
      )
    )
  }
}

/** Writes streams as a document of the service `static`: version 1 of the format, in JSON. Pure. */
private[dynamickafka] object DocumentWriter {

  /** @throws DynamicKafkaIllegalArgumentException `METADATA_INVALID`, without values of properties */
  def text(streams: Iterable[KafkaStream]): String = {
    val ids = streams.toSeq.map(_.streamId)
    ids.diff(ids.distinct).headOption.foreach(id => refuse(s"the stream '$id' is duplicate"))
    val entries =
      for (stream <- streams.toSeq; (id, entry) <- stream.entries) yield (id, stream.streamId, entry)
    val byCluster = entries.groupBy(_._1)
    Json.write(Json.fields(
      "version" -> 1,
      "clusters" -> Json.Fields(entries.map(_._1).distinct.map(id => id -> cluster(id, byCluster(id)))),
      "streams" -> Json.Fields(streams.toSeq.map(of => of.streamId -> stream(of)))
    ))
  }

  /** @param entries with the ids of the cluster and of the streams */
  private def cluster(id: String, entries: Seq[(String, String, ClusterMetadata)]): Json.Fields = {
    val (_, first, one) = entries.head
    entries.find(_._3.properties != one.properties).foreach { case (_, stream, other) =>
      refuse(
        s"the streams '$first' and '$stream' specify different properties for the cluster '$id': " +
          Names.differing(one.properties, other.properties).mkString(", ")
      )
    }
    Json.fields("properties" -> one.properties) ++
      Json.present("replaces" -> entries.flatMap(e => Option(e._3.replaces)).lastOption)
  }

  private def stream(of: KafkaStream): Json.Fields =
    Json.fields("clusters" -> Json.Fields(of.entries.map { case (id, cluster) => id -> entry(cluster) })) ++
      Json.present("options" -> of.getFormatOptions.asScala, "history" -> Option(of.history).map(history))

  private def entry(cluster: ClusterMetadata): Json.Fields = {
    val (registry, others) = cluster.getFormatOptions.asScala.partition(o => DocumentFormat.isRegistry(o._1))
    Json.fields(cluster.selection, "state" -> cluster.state, "write" -> cluster.write) ++ Json.present(
      "starting_offsets" -> Option(cluster.startingOffsets),
      "stopping_offsets" -> Option(cluster.stoppingOffsets),
      "registry" -> registry.map { case (name, of) =>
        name.stripPrefix(s"${DocumentFormat.Registry}.") -> of
      },
      // Unknown keys are refused where the document is read.
      "options" -> others
    )
  }

  private def history(of: StreamHistory): Json.Fields =
    Json.fields("format" -> of.format, "path" -> of.path) ++
      Json.present("options" -> of.getOptions.asScala, "cluster" -> Option(of.cluster))

  private def refuse(reason: String) = throw Errors.metadataInvalid("the streams", reason)
}

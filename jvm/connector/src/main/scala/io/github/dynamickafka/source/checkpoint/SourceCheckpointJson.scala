package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.metadata.{Removal, Topology, TopologyCluster, TopologyPattern, TopologyTopic}
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{
  CompositeOffset,
  CompositeOffsetJson,
  HandOver,
  HistoryFile,
  HistoryPlan,
  HistoryTable,
  LogKey,
  Positions,
  RowTimes
}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs

/** The codec of the files of [[SourceCheckpoint]], all of one version. Rejects any other version. */
private[dynamickafka] object SourceCheckpointJson {
  private val Version = 1
  private val mapper = new ObjectMapper

  def write(initial: InitialOffset): String = Json.write(
    versioned("unresolved" -> initial.unresolved) ++
      Json.present(
        "unresolvedTopics" -> initial.unresolvedTopics,
        "history" -> initial.history.map(HistoryPlanJson.of)
      ) ++
      Json.fields("offset" -> Json.Raw(initial.offset.json))
  )

  /** @param file the path of the file, for errors */
  def readInitial(text: String, file: String): InitialOffset = reading(text, file) { root =>
    InitialOffset(
      offset = CompositeOffsetJson.read(required(root, "offset").toString),
      unresolved = texts(required(root, "unresolved")).toSet,
      unresolvedTopics = byName(root.path("unresolvedTopics"))(texts(_).toSet),
      history = Option(root.get("history")).map(HistoryPlanJson.read)
    )
  }

  def write(topology: RememberedTopology): String = Json.write(
    versioned("current" -> json(topology.current), "former" -> json(topology.former)) ++
      Json.present("removed" -> topology.current.removals.map { case (id, removal) =>
        id -> Json.fields("all" -> removal.all, "topics" -> removal.topics, "patterns" -> removal.patterns)
      }) ++ Json.fields("options" -> topology.options)
  )

  /** @param file the path of the file, for errors */
  def readTopology(text: String, file: String): RememberedTopology = reading(text, file) { root =>
    RememberedTopology(
      current = topology(required(root, "current")).copy(removals = removals(root.path("removed"))),
      former = topology(required(root, "former")),
      options = byName(required(root, "options"))(_.asText)
    )
  }

  private def removals(node: JsonNode): SortedMap[String, Removal] = byName(node)(entry =>
    Removal(
      SortedSet.from(texts(entry.path("topics"))),
      texts(entry.path("patterns")).toSet,
      entry.path("all").asBoolean(false)
    )
  )

  private def json(topology: Topology): SortedMap[String, Json.Fields] = topology.clusters.map {
    case (id, cluster) =>
      id -> (Json.fields("properties" -> cluster.properties) ++
        Json.present("withheld" -> cluster.withheld, "replaces" -> cluster.replaces) ++
        Json.fields("topics" -> cluster.topics.map { case (name, topic) => name -> json(topic) }) ++
        Json.present("patterns" -> cluster.patterns.map(p =>
          Json.fields("regex" -> p.regex) ++ json(p.topic)
        )))
  }

  private def json(topic: TopologyTopic): Json.Fields = Json.fields("stream" -> topic.stream) ++ Json.present(
    "draining" -> Option.when(topic.draining)(true),
    "startingOffsets" -> topic.startingOffsets.map(OffsetsParser.render),
    "stoppingOffsets" -> topic.stoppingOffsets.map(OffsetsParser.render),
    "partitions" -> topic.partitions,
    "matched" -> Option.when(topic.matched)(true),
    "registry" -> topic.registry.filter { case (name, value) => RegistryOptionSpecs.isStorable(name, value) }
  )

  private def topology(node: JsonNode): Topology =
    Topology(byName(node)(identity).map { case (id, entry) =>
      id -> TopologyCluster(
        id,
        topics = byName(required(entry, "topics"))(topic),
        properties = byName(required(entry, "properties"))(_.asText).toMap,
        patterns = entry.path("patterns").elements.asScala
          .map(p => TopologyPattern(p.path("regex").asText, topic(p))).toSeq,
        withheld = texts(entry.path("withheld")).toSet,
        replaces = Option(entry.get("replaces")).map(_.asText)
      )
    })

  private def topic(t: JsonNode): TopologyTopic = TopologyTopic(
    stream = required(t, "stream").asText,
    draining = t.path("draining").asBoolean(false),
    startingOffsets = offsets(t, "startingOffsets"),
    stoppingOffsets = offsets(t, "stoppingOffsets"),
    partitions = Option(t.get("partitions")).map(p => SortedSet.from(p.elements.asScala.map(_.asInt))),
    matched = t.path("matched").asBoolean(false),
    registry = byName(t.path("registry"))(_.asText).toMap
  )

  private def offsets(node: JsonNode, field: String) =
    Option(node.get(field)).map { text =>
      OffsetsParser.starting(text.asText).fold(reason => throw Errors.invalidOffset(reason), identity)
    }

  private[checkpoint] def versioned(more: (String, Any)*): Json.Fields =
    Json.fields("version" -> Version) ++ Json.Fields(more)

  private[checkpoint] def reading[A](text: String, file: String)(f: JsonNode => A): A = {
    def damaged(reason: String, cause: Throwable = null) =
      Errors.invalidOffset(s"the file $file is damaged: $reason", cause)
    val root =
      try mapper.readTree(text)
      catch { case NonFatal(e) => throw damaged("it is not JSON", e) }
    if (!root.isObject) throw damaged("it is not a JSON object")
    if (root.path("version").asInt(-1) != Version) {
      throw Errors.unknownOffsetVersion(s"The file $file", root.path("version").asText("none"), Version)
    }
    try f(root)
    catch {
      case e: DynamicKafkaRuntimeException if !isOtherVersion(e) =>
        throw damaged(Option(e.getMessageParameters.get("reason")).getOrElse(e.getMessage), e)
      case NonFatal(e) if !isOtherVersion(e) => throw damaged("a part is missing or has another type", e)
    }
  }

  private[checkpoint] def isOtherVersion(e: Throwable): Boolean = e match {
    case e: DynamicKafkaRuntimeException => e.getCondition.endsWith(".UNKNOWN_OFFSET_VERSION")
    case _ => false
  }

  private[checkpoint] def required(node: JsonNode, name: String): JsonNode =
    Option(node.get(name)).getOrElse(throw new IllegalArgumentException(s"'$name' is missing"))

  private[checkpoint] def byName[A](node: JsonNode)(f: JsonNode => A): SortedMap[String, A] =
    SortedMap.from(node.properties.iterator.asScala.map(e => e.getKey -> f(e.getValue)))

  private def texts(node: JsonNode): Iterator[String] = node.elements.asScala.map(_.asText)
}

/**
 * The codec of the last records that were read. Their offsets and their times are written as composite offsets, which are packed if they
 * are large.
 */
private[dynamickafka] object RecordsReadJson {

  def write(read: RecordsRead): String = {
    def part(value: LastRecord => Long) = {
      val clusters = read.partitions.groupBy(_._1.cluster).map { case (id, all) =>
        id -> Positions.from(all.map { case (key, last) => (key.topic, key.partition, value(last)) })
      }
      Json.Raw(CompositeOffset(SortedMap.from(clusters)).json)
    }
    Json.write(SourceCheckpointJson.versioned("offsets" -> part(_.offset), "times" -> part(_.time)))
  }

  /** @param file the path of the file, for errors */
  def read(text: String, file: String): RecordsRead = SourceCheckpointJson.reading(text, file) { root =>
    def part(name: String) = CompositeOffsetJson.read(root.get(name).toString).clusters
    val times = part("times")
    RecordsRead((for {
      (id, offsets) <- part("offsets").iterator
      (topic, p, offset) <- offsets.iterator
    } yield LogKey(id, topic, p) -> LastRecord(offset, times(id).get(topic, p).get)).toMap)
  }
}

/** The histories of a query in the file with its initial offset. */
private[checkpoint] object HistoryPlanJson {
  import SourceCheckpointJson.byName

  def of(plan: HistoryPlan): Json.Fields = Json.fields(
    "streams" -> plan.tables.map { case (stream, table) => stream -> json(table) },
    "offsets" -> json(plan.handOver.offsets),
    "times" -> json(plan.handOver.times),
    "topicTimes" -> plan.handOver.topicTimes
  )

  private def json(table: HistoryTable): Json.Fields = {
    val files = table.files.map(file =>
      Seq[Any](file.path, file.least, file.greatest) ++ Option.when(file.clusters.nonEmpty)(
        file.clusters.map { case (id, rows) => id -> Seq(rows.least, rows.greatest) }
      )
    )
    Json.fields(
      "format" -> table.format,
      "path" -> table.path,
      "schema" -> table.schema,
      "options" -> table.options
    ) ++ Json.present("cluster" -> table.cluster, "topic" -> table.topic) ++
      Json.fields("files" -> files, "ends" -> json(table.ends))
  }

  private def json(positions: SortedMap[String, Positions]): Json.Fields =
    Json.Fields(positions.toSeq.map { case (id, of) => id -> of.byTopic })

  def read(node: JsonNode): HistoryPlan = HistoryPlan(
    byName(node.get("streams"))(readTable),
    HandOver(
      positions(node.get("offsets")),
      positions(node.get("times")),
      byName(node.get("topicTimes"))(byName(_)(number))
    )
  )

  private def readTable(node: JsonNode) = HistoryTable(
    text(node.get("format")),
    text(node.get("path")),
    byName(node.get("options"))(text).toMap,
    text(node.get("schema")),
    Option(node.get("cluster")).map(text),
    Option(node.get("topic")).map(text),
    node.get("files").elements.asScala.map(readFile).toVector,
    positions(node.get("ends"))
  )

  private def readFile(node: JsonNode) = HistoryFile(
    text(node.get(0)),
    number(node.get(1)),
    number(node.get(2)),
    byName(node.path(3))(rows => RowTimes(number(rows.get(0)), number(rows.get(1))))
  )

  private def positions(node: JsonNode): SortedMap[String, Positions] = byName(node)(topics =>
    Positions(byName(topics)(partitions =>
      byName(partitions)(number).map { case (p, value) => p.toInt -> value }
    ).toSeq)
  )

  private def text(node: JsonNode): String =
    if (node.isTextual) node.textValue else throw new IllegalArgumentException(s"not a text: $node")

  private def number(node: JsonNode): Long =
    if (node.isIntegralNumber) node.longValue else throw new IllegalArgumentException(s"not a number: $node")
}

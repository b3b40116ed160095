package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.{SortedMap, SortedSet}
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.fasterxml.jackson.databind.node.ObjectNode
import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.config.OffsetsParser
import io.github.dynamickafka.error.{DynamicKafkaRuntimeException, Errors}
import io.github.dynamickafka.offset.alignment.LogKey
import io.github.dynamickafka.offset.history.{HandOver, HistoryFile, HistoryPlan, HistoryTable, RowTimes}
import io.github.dynamickafka.offset.replacement.{LastRecord, RecordsRead}
import io.github.dynamickafka.offset.{CompositeOffset, CompositeOffsetJson, Positions}
import io.github.dynamickafka.schemaregistry.RegistryOptionSpecs
import io.github.dynamickafka.topology.{Removal, Topology, TopologyCluster, TopologyPattern, TopologyTopic}

/** The codec of the files of [[SourceCheckpoint]], all of one version. Rejects any other version. */
private[dynamickafka] object SourceCheckpointJson {
  private val Version = 1
  private val mapper = new ObjectMapper

  def write(initial: InitialOffset): String = {
    val root = versioned()
    val unresolved = root.putArray("unresolved")
    initial.unresolved.toSeq.sorted.foreach(unresolved.add)
    if (initial.unresolvedTopics.nonEmpty) {
      val byCluster = root.putObject("unresolvedTopics")
      initial.unresolvedTopics.toSeq.sortBy(_._1).foreach { case (id, topics) =>
        val all = byCluster.putArray(id)
        topics.toSeq.sorted.foreach(all.add)
      }
    }
    initial.history.foreach(HistoryPlanJson.write(root.putObject("history"), _))
    root.set[ObjectNode]("offset", mapper.readTree(initial.offset.json))
    root.toString
  }

  /** @param file the path of the file, for errors */
  def readInitial(text: String, file: String): InitialOffset = reading(text, file) { root =>
    InitialOffset(
      offset = CompositeOffsetJson.read(required(root, "offset").toString),
      unresolved = required(root, "unresolved").elements.asScala.map(_.asText).toSet,
      unresolvedTopics = root.path("unresolvedTopics").properties.asScala.map { e =>
        e.getKey -> e.getValue.elements.asScala.map(_.asText).toSet
      }.toMap,
      history = Option(root.get("history")).map(HistoryPlanJson.read)
    )
  }

  def write(topology: RememberedTopology): String = {
    val root = versioned()
    write(root.putObject("current"), topology.current)
    write(root.putObject("former"), topology.former)
    if (topology.current.removals.nonEmpty) writeRemovals(root.putObject("removed"), topology.current)
    val options = root.putObject("options")
    topology.options.foreach { case (name, value) => options.put(name, value) }
    root.toString
  }

  /** @param file the path of the file, for errors */
  def readTopology(text: String, file: String): RememberedTopology = reading(text, file) { root =>
    RememberedTopology(
      current = topology(required(root, "current")).copy(removals = removals(root.path("removed"))),
      former = topology(required(root, "former")),
      options = SortedMap.from(fields(required(root, "options")).map { case (name, value) =>
        name -> value.asText
      })
    )
  }

  private def writeRemovals(node: ObjectNode, topology: Topology): Unit =
    topology.removals.foreach { case (id, removal) =>
      val entry = node.putObject(id).put("all", removal.all)
      val topics = entry.putArray("topics")
      removal.topics.foreach(topics.add)
      val patterns = entry.putArray("patterns")
      removal.patterns.toSeq.sorted.foreach(patterns.add)
    }

  private def removals(node: JsonNode): SortedMap[String, Removal] =
    SortedMap.from(fields(node).map { case (id, entry) =>
      id -> Removal(
        SortedSet.from(entry.path("topics").elements.asScala.map(_.asText)),
        entry.path("patterns").elements.asScala.map(_.asText).toSet,
        entry.path("all").asBoolean(false)
      )
    })

  private def write(node: ObjectNode, topology: Topology): Unit =
    topology.clusters.foreach { case (id, cluster) =>
      val entry = node.putObject(id)
      val properties = entry.putObject("properties")
      cluster.properties.toSeq.sorted.foreach { case (k, v) => properties.put(k, v) }
      if (cluster.withheld.nonEmpty) {
        val names = entry.putArray("withheld")
        cluster.withheld.toSeq.sorted.foreach(names.add)
      }
      cluster.replaces.foreach(entry.put("replaces", _))
      val topics = entry.putObject("topics")
      cluster.topics.foreach { case (name, topic) => write(topics.putObject(name), topic) }
      if (cluster.patterns.nonEmpty) {
        val patterns = entry.putArray("patterns")
        cluster.patterns.foreach(p => write(patterns.addObject().put("regex", p.regex), p.topic))
      }
    }

  private def write(t: ObjectNode, topic: TopologyTopic): Unit = {
    t.put("stream", topic.stream)
    if (topic.draining) t.put("draining", true)
    topic.startingOffsets.foreach(o => t.put("startingOffsets", OffsetsParser.render(o)))
    topic.stoppingOffsets.foreach(o => t.put("stoppingOffsets", OffsetsParser.render(o)))
    topic.partitions.foreach { numbers =>
      val partitions = t.putArray("partitions")
      numbers.foreach(partitions.add(_))
    }
    if (topic.matched) t.put("matched", true)
    val registry = topic.registry.filter { case (name, value) =>
      RegistryOptionSpecs.isStorable(name, value)
    }
    if (registry.nonEmpty) {
      val options = t.putObject("registry")
      registry.toSeq.sorted.foreach { case (name, value) => options.put(name, value) }
    }
    ()
  }

  private def topology(node: JsonNode): Topology =
    Topology(SortedMap.from(fields(node).map { case (id, entry) =>
      id -> TopologyCluster(
        id,
        topics = SortedMap.from(fields(required(entry, "topics")).map { case (name, t) =>
          name -> topic(t)
        }),
        properties = fields(required(entry, "properties")).map { case (k, v) => k -> v.asText }.toMap,
        patterns = entry.path("patterns").elements.asScala
          .map(p => TopologyPattern(p.path("regex").asText, topic(p))).toSeq,
        withheld = entry.path("withheld").elements.asScala.map(_.asText).toSet,
        replaces = Option(entry.get("replaces")).map(_.asText)
      )
    }))

  private def topic(t: JsonNode): TopologyTopic = TopologyTopic(
    stream = required(t, "stream").asText,
    draining = t.path("draining").asBoolean(false),
    startingOffsets = offsets(t, "startingOffsets"),
    stoppingOffsets = offsets(t, "stoppingOffsets"),
    partitions = Option(t.get("partitions")).map(p => SortedSet.from(p.elements.asScala.map(_.asInt))),
    matched = t.path("matched").asBoolean(false),
    registry = fields(t.path("registry")).map { case (name, value) => name -> value.asText }.toMap
  )

  private def offsets(node: JsonNode, field: String) =
    Option(node.get(field)).map { text =>
      OffsetsParser.starting(text.asText).fold(reason => throw Errors.invalidOffset(reason), identity)
    }

  private[checkpoint] def versioned(): ObjectNode = mapper.createObjectNode().put("version", Version)

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

  private[checkpoint] def fields(node: JsonNode): Iterator[(String, JsonNode)] =
    node.properties.iterator.asScala.map(e => e.getKey -> e.getValue)
}

/**
 * The codec of the last records that were read. Their offsets and their times are written as composite offsets, which are packed if they
 * are large.
 */
private[dynamickafka] object RecordsReadJson {

  def write(read: RecordsRead): String = {
    val root = SourceCheckpointJson.versioned()
    def part(name: String)(value: LastRecord => Long): Unit = {
      val clusters = read.partitions.groupBy(_._1.cluster).map { case (id, all) =>
        id -> Positions.from(all.map { case (key, last) => (key.topic, key.partition, value(last)) })
      }
      val text = CompositeOffset(SortedMap.from(clusters)).json
      val _ = root.set[ObjectNode](name, CompositeOffsetJson.mapper.readTree(text))
    }
    part("offsets")(_.offset)
    part("times")(_.time)
    root.toString
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
  import SourceCheckpointJson.fields

  def write(node: ObjectNode, plan: HistoryPlan): Unit = {
    val streams = node.putObject("streams")
    plan.tables.foreach { case (stream, table) => write(streams.putObject(stream), table) }
    write(node.putObject("offsets"), plan.handOver.offsets)
    write(node.putObject("times"), plan.handOver.times)
    val topics = node.putObject("topicTimes")
    plan.handOver.topicTimes.foreach { case (id, times) =>
      val cluster = topics.putObject(id)
      times.foreach { case (topic, ms) => cluster.put(topic, ms) }
    }
  }

  private def write(node: ObjectNode, table: HistoryTable): Unit = {
    node.put("format", table.format).put("path", table.path).put("schema", table.schema)
    val options = node.putObject("options")
    table.options.toSeq.sorted.foreach { case (name, value) => options.put(name, value) }
    table.cluster.foreach(node.put("cluster", _))
    table.topic.foreach(node.put("topic", _))
    val files = node.putArray("files")
    table.files.foreach { file =>
      val values = files.addArray().add(file.path).add(file.least).add(file.greatest)
      if (file.clusters.nonEmpty) {
        val clusters = values.addObject()
        file.clusters.foreach { case (id, rows) => clusters.putArray(id).add(rows.least).add(rows.greatest) }
      }
    }
    write(node.putObject("ends"), table.ends)
  }

  private def write(node: ObjectNode, positions: SortedMap[String, Positions]): Unit =
    positions.foreach { case (id, of) =>
      val cluster = node.putObject(id)
      of.byTopic.foreach { case (topic, partitions) =>
        val numbers = cluster.putObject(topic)
        partitions.foreach { case (partition, value) => numbers.put(partition.toString, value) }
      }
    }

  def read(node: JsonNode): HistoryPlan = HistoryPlan(
    SortedMap.from(fields(node.get("streams")).map { case (stream, table) => stream -> readTable(table) }),
    HandOver(
      positions(node.get("offsets")),
      positions(node.get("times")),
      SortedMap.from(fields(node.get("topicTimes")).map { case (id, topics) =>
        id -> SortedMap.from(fields(topics).map { case (topic, ms) => topic -> number(ms) })
      })
    )
  )

  private def readTable(node: JsonNode) = HistoryTable(
    text(node.get("format")),
    text(node.get("path")),
    fields(node.get("options")).map { case (name, value) => name -> text(value) }.toMap,
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
    SortedMap.from(Option(node.get(3)).iterator.flatMap(fields).map { case (id, rows) =>
      id -> RowTimes(number(rows.get(0)), number(rows.get(1)))
    })
  )

  private def positions(node: JsonNode): SortedMap[String, Positions] =
    SortedMap.from(fields(node).map { case (id, topics) =>
      id -> Positions(fields(topics).map { case (topic, partitions) =>
        topic -> SortedMap.from(fields(partitions).map { case (p, value) => p.toInt -> number(value) })
      }.toSeq)
    })

  private def text(node: JsonNode): String =
    if (node.isTextual) node.textValue else throw new IllegalArgumentException(s"not a text: $node")

  private def number(node: JsonNode): Long =
    if (node.isIntegralNumber) node.longValue else throw new IllegalArgumentException(s"not a number: $node")
}

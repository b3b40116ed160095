package io.github.dynamickafka.source.checkpoint

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.JsonNode
import com.fasterxml.jackson.databind.node.ObjectNode

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.offset.history.{HandOver, HistoryFile, HistoryPlan, HistoryTable, RowTimes}

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

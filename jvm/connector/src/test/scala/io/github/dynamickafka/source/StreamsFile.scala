package io.github.dynamickafka.source

import java.nio.file.{Files, Path, StandardCopyOption}
import java.util.UUID

import io.github.dynamickafka.metadata.ClusterMetadata
import io.github.dynamickafka.testkit.KafkaCluster

/** A metadata file that a test replaces atomically while a query runs. */
final class StreamsFile(folder: Path) {
  val path: Path = folder.resolve("streams.json")

  def write(streams: (String, Seq[Entry])*): Unit = {
    val clusters = streams.flatMap(_._2).map(e => e.id -> e.properties).toMap.map { case (id, properties) =>
      val all = properties.map { case (k, v) => s""""$k": "$v"""" }.mkString(", ")
      s""""$id": {"properties": {$all}}"""
    }
    val documents = streams.map { case (stream, entries) =>
      val of = entries.map { e =>
        val topics = e.topics.map(t => s""""$t"""").mkString(", ")
        val start = e.starting.fold("")(at => s""", "starting_offsets": "$at"""")
        s""""${e.id}": {"topics": [$topics], "state": "${e.state}", "write": ${e.write}$start}"""
      }
      s""""$stream": {"clusters": {${of.mkString(", ")}}}"""
    }
    writeText(
      s"""{"version": 1, "clusters": {${clusters.mkString(", ")}}, "streams": {${documents.mkString(
          ", "
        )}}}"""
    )
  }

  def writeText(text: String): Unit = {
    val part = folder.resolve(s".${UUID.randomUUID()}")
    Files.writeString(part, text)
    Files.move(part, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING)
    ()
  }
}

/** The entry of a cluster in a stream. */
final case class Entry(
    id: String,
    properties: Map[String, String],
    topics: Seq[String],
    state: String = ClusterMetadata.Active,
    starting: Option[String] = None,
    stopping: Option[String] = None,
    pattern: Option[String] = None,
    partitions: Map[String, Seq[Int]] = Map.empty,
    write: Boolean = true,
    format: Map[String, String] = Map.empty,
    replaced: Option[String] = None
) {
  def draining: Entry = copy(state = ClusterMetadata.Draining)
  def in(options: (String, String)*): Entry = copy(format = options.toMap)
  def replacing(id: String): Entry = copy(replaced = Some(id))
  def readOnly: Entry = copy(write = false)
  def startingAt(offsets: String): Entry = copy(starting = Some(offsets))
  def stoppingAt(offsets: String): Entry = copy(stopping = Some(offsets))
  def matching(regex: String): Entry = copy(topics = Nil, pattern = Some(regex))
  def only(some: (String, Seq[Int])*): Entry = copy(topics = Nil, partitions = some.toMap)
  def and(property: String, value: String): Entry = copy(properties = properties + (property -> value))

  def metadata: ClusterMetadata =
    ClusterMetadata(
      topics,
      properties,
      starting.orNull,
      stopping.orNull,
      state,
      pattern.orNull,
      partitions,
      write,
      format,
      replaced.orNull
    )
}

object Entry {
  def apply(id: String, cluster: KafkaCluster, topics: String*): Entry =
    at(id, cluster.bootstrapServers, topics: _*)

  def at(id: String, servers: String, topics: String*): Entry =
    new Entry(id, Map("bootstrap.servers" -> servers), topics)
}

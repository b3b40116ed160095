package io.github.dynamickafka.admin

import java.nio.file.{Files, Path}
import java.util.concurrent.CompletableFuture

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}

import io.github.dynamickafka.kafka.{ClusterClients, ClusterRequests, ListedOffset, Opening, TopicAnswer}
import io.github.dynamickafka.source.cluster.ClusterConfig

/** A checkpoint that a test writes, with one source, and with addresses such as `blue-1:9092`. */
final class CheckpointFolder(val path: Path) {

  def log(batch: Long, offset: String*): CheckpointFolder =
    write(s"offsets/$batch", s"v1\n{\"batchTimestampMs\":1795246634419}\n${offset.mkString("\n")}")

  def commit(batch: Long): CheckpointFolder = write(s"commits/$batch", "v1\n{}")

  /** Clusters by id, with their topics and properties beside the address. */
  def topology(
      current: Seq[(String, String)],
      former: Seq[(String, String)] = Nil,
      options: String = "{}",
      properties: String = ""
  ): CheckpointFolder = {
    def clusters(all: Seq[(String, String)]) = all.map { case (id, topic) =>
      s""""$id":{"properties":{"bootstrap.servers":"$id-1:9092"$properties},"topics":{"$topic":{"stream":"orders"}}}"""
    }.mkString("{", ",", "}")
    write(
      "sources/0/dynamic-kafka/topology/0.json",
      s"""{"version":1,"current":${clusters(current)},"former":${clusters(former)},"options":$options}"""
    )
  }

  private def write(name: String, text: String): CheckpointFolder = {
    Files.createDirectories(path.resolve(name).getParent)
    Files.writeString(path.resolve(name), text)
    this
  }

  override def toString: String = path.toString
}

object CheckpointFolder {
  def temporary(): CheckpointFolder =
    new CheckpointFolder(Files.createTempDirectory("dynamic-kafka-checkpoint-"))

  /** A context whose clusters answer by a function of address, partition and question; None: they do not answer. */
  private[admin] def answering(answer: (
      ClusterConfig,
      TopicPartition,
      OffsetSpec
  ) => Option[Long])(context: Context): Context =
    new Context(
      context.catalog,
      context.file,
      () => "alice",
      config =>
        new ClusterClients(_ => Opening[ClusterRequests](new Answering(answer(config, _, _)))(_.close()))
          .connect(Map.empty, config.requestTimeoutMs),
      isCommand = true
    )

  private final class Answering(answer: (TopicPartition, OffsetSpec) => Option[Long])
      extends ClusterRequests {
    override def offsets(
        specs: Map[TopicPartition, OffsetSpec],
        isolation: IsolationLevel
    ): Map[TopicPartition, CompletableFuture[ListedOffset]] = specs.map { case (at, spec) =>
      at -> answer(at, spec).fold(new CompletableFuture[ListedOffset])(offset =>
        CompletableFuture.completedFuture(ListedOffset(offset))
      )
    }
    override def clusterId: CompletableFuture[String] = CompletableFuture.completedFuture("")
    override def topics: CompletableFuture[Set[String]] = ???
    override def describe(topics: Set[String]): Map[String, CompletableFuture[TopicAnswer]] = ???
    override def committed(group: String): CompletableFuture[Map[TopicPartition, Long]] = ???
    override def commit(
        group: String,
        offsets: Map[TopicPartition, Long]
    ): Map[TopicPartition, CompletableFuture[Unit]] = ???
    override def close(): Unit = ()
  }
}

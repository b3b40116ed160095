package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.source.checkpoint.Refusal
import io.github.dynamickafka.base.Json
import io.github.dynamickafka.catalog.StreamProperties
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.Suggestions

/** `streams` and `clusters`: what the metadata service says, without a property of Kafka's clients. Asks no cluster. */
private[admin] object StreamCommands {
  private val Stream = Parameter.text("stream", "The id of a stream. NULL: all streams").optional

  val all: Seq[Command] = Seq(
    Command(
      "streams",
      "The streams of the metadata, with their clusters, and their topics or their format",
      Seq(Parameter.File),
      "stream STRING, clusters ARRAY<STRING>, format STRING",
      (context, _) => new Streams(context)
    ),
    Command(
      "clusters",
      "The clusters of each stream, or of one stream, with their state and their topics",
      Seq(Stream),
      "stream STRING, cluster STRING, state STRING, write BOOLEAN, topics ARRAY<STRING>",
      (context, arguments) => new Clusters(context.streams(), arguments.get(Stream)),
      isCommand = false
    )
  )

  /** Only SQL has it. */
  private final class Clusters(streams: Seq[KafkaStream], id: Option[String]) extends Result {
    id.foreach(Unknown.refuseStream(_, streams.map(_.streamId)))
    override def rows: Seq[Seq[Any]] = for {
      stream <- streams if id.forall(_ == stream.streamId)
      (cluster, entry) <- entries(stream)
    } yield Seq(stream.streamId, cluster, entry.state, entry.write, StreamProperties.topics(entry))
    override def json: Any = rows
    override def text: String = ""
  }

  private def entries(stream: KafkaStream): Seq[(String, ClusterMetadata)] =
    stream.getClusterMetadataMap.asScala.toSeq

  private final class Streams(context: Context) extends Result {
    private val streams = context.streams()

    override def rows: Seq[Seq[Any]] = streams.map(stream =>
      Seq(stream.streamId, entries(stream).map(_._1), context.catalog.format(stream))
    )

    override def json: Any = Json.fields(
      "file" -> context.file,
      "streams" -> streams.map(stream =>
        Json.fields(
          "stream" -> stream.streamId,
          "clusters" -> entries(stream).map { case (id, entry) =>
            Json.Fields(Seq("cluster" -> id, "state" -> entry.state) ++ Topics.json(entry))
          }
        )
      )
    )

    override def text: String = Text.table(
      Seq("stream", "cluster", "state", "topics"),
      streams.flatMap { stream =>
        val lines = entries(stream).map { case (id, entry) =>
          Seq(stream.streamId, id, entry.state, Topics.text(entry))
        }
        if (lines.isEmpty) Seq(Seq(stream.streamId, "", "", "")) else lines
      }
    )
  }
}

/** The topics of a stream on a cluster. */
private[admin] object Topics {

  /** `topics`, and the pattern or the partitions where they are given. */
  def json(entry: ClusterMetadata): Seq[(String, Any)] =
    Seq("topics" -> entry.getTopics.asScala.toSeq) ++
      Option(entry.topicPattern).map("topic_pattern" -> _) ++
      Option.when(!entry.getPartitions.isEmpty)("partitions" -> Json.Fields(partitions(entry)))

  def text(entry: ClusterMetadata): String =
    Option(entry.topicPattern).map(pattern => s"matching $pattern").getOrElse(
      if (entry.getPartitions.isEmpty) entry.getTopics.asScala.mkString(", ")
      else partitions(entry).map { case (topic, all) => s"$topic (${all.mkString(", ")})" }.mkString(", ")
    )

  /** The key of the metadata that selects the topics, and its value. */
  def subscription(entry: ClusterMetadata): (String, String) =
    if (entry.topicPattern != null) "topic_pattern" -> entry.topicPattern
    else (if (entry.getPartitions.isEmpty) "topics" else "partitions") -> text(entry)

  private def partitions(entry: ClusterMetadata): Seq[(String, Seq[Int])] =
    entry.getPartitions.asScala.toSeq.map { case (topic, all) => topic -> all.asScala.map(_.toInt).toSeq }
}

/** Names that are not known, in the words of all commands. */
private[admin] object Unknown {

  def refuseStream(id: String, known: Seq[String]): Unit =
    if (!known.contains(id)) throw new Refusal(s"there is no stream '$id'.${suggestion(id, known)}")

  /** Empty if no known name is similar. */
  def suggestion(name: String, known: Iterable[String]): String =
    Suggestions.closest(name, known).fold("")(s => s" Did you mean '$s'?")
}

package io.github.dynamickafka.admin

import java.nio.charset.StandardCharsets.UTF_8

import scala.util.Using

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.catalog.StreamProperties
import io.github.dynamickafka.metadata.document.Problem
import io.github.dynamickafka.metadata.service.FileMetadataService
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}
import io.github.dynamickafka.option.Suggestions
import io.github.dynamickafka.sink.commit.Refused
import io.github.dynamickafka.source.checkpoint.Refusal

/**
 * `streams`, `clusters`, `validate`, `describe`, `diff` and `schema`: what metadata says. Nothing is changed, and no cluster is asked.
 * Properties of Kafka's clients are shown by `describe` and `diff` alone, and only harmless ones.
 */
private[admin] object MetadataCommands {
  private val File = Parameter.path("file", "A metadata file, any URI that Spark reads").positional
  private val Stream = Parameter.text("stream", "The id of the stream").positional
  private val Old = Parameter.path(
    "old",
    "The metadata file that is replaced. NULL: what the metadata service of the catalog says now"
  )
  private val New = Parameter.path("new", "The metadata file that replaces it").positional

  private val OneOrAll = Parameter.text("stream", "The id of a stream. NULL: all streams").optional

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
      Seq(OneOrAll),
      "stream STRING, cluster STRING, state STRING, write BOOLEAN, topics ARRAY<STRING>",
      (context, arguments) => new Clusters(context.streams(), arguments.get(OneOrAll)),
      isCommand = false
    ),
    Command(
      "validate",
      "Whether a query accepts a metadata file: all errors, and warnings about valid content that is probably a mistake. " +
        "No row: neither of them. Exit code 1: there are errors",
      Seq(File),
      "severity STRING, line INT, stream STRING, cluster STRING, key STRING, message STRING",
      (context, arguments) => new Validated(context, arguments(File))
    ),
    Command(
      "describe",
      "Clusters, topics, offsets and properties of a stream. Values of properties are shown only if they are known to be harmless",
      Seq(Parameter.File, Stream),
      "cluster STRING, name STRING, value STRING",
      (context, arguments) => new Described(context, arguments(Stream))
    ),
    Command(
      "diff",
      "What queries would notice if other metadata replaced the metadata of now. " +
        "Exit code 1: there are changes; 2: a file is not valid",
      Seq(Old.positional.onlyOnLine, New, Old.optional.onlyInSql),
      StreamChange.Columns,
      (context, arguments) =>
        try {
          val old = arguments.get(Old).fold(context.streams())(context.streamsOf)
          new Changed(StreamChange.all(old, context.streamsOf(arguments(New))))
        } catch { case e: Refused => throw new ExitCode(2, e) }
    ),
    Command(
      "schema",
      "The JSON Schema of metadata files, for editors",
      Nil,
      "schema STRING",
      (_, _) =>
        new Result {
          private val schema = new String(
            Using.resource(
              getClass.getResourceAsStream("/io/github/dynamickafka/metadata.schema.json")
            )(_.readAllBytes()),
            UTF_8
          ).stripTrailing
          override def rows: Seq[Seq[Any]] = Seq(Seq(schema))
          override def json: Any = Json.Raw(schema)
          override def text: String = schema
        }
    )
  )

  private def find(streams: Seq[KafkaStream], id: String): KafkaStream =
    streams.find(_.streamId == id).getOrElse(throw new Refusal(
      s"there is no stream '$id'.${Suggestions.didYouMean(id, streams.map(_.streamId))}"
    ))

  /** Only SQL has it. */
  private final class Clusters(streams: Seq[KafkaStream], id: Option[String]) extends Result {
    private val chosen = id.fold(streams)(one => Seq(find(streams, one)))
    override def rows: Seq[Seq[Any]] = for {
      stream <- chosen
      (cluster, entry) <- stream.entries
    } yield Seq(stream.streamId, cluster, entry.state, entry.write, StreamProperties.topics(entry))
    override def json: Any = rows
    override def text: String = ""
  }

  private final class Streams(context: Context) extends Result {
    private val streams = context.streams()

    override def rows: Seq[Seq[Any]] = streams.map(stream =>
      Seq(stream.streamId, stream.entries.map(_._1), context.catalog.format(stream))
    )

    override def json: Any = Json.fields(
      "file" -> context.file,
      "streams" -> streams.map(stream =>
        Json.fields(
          "stream" -> stream.streamId,
          "clusters" -> stream.entries.map { case (id, entry) =>
            Json.fields("cluster" -> id, "state" -> entry.state) ++ Topics.json(entry)
          }
        )
      )
    )

    override def text: String = Table(
      Seq("stream", "cluster", "state", "topics"),
      streams.flatMap { stream =>
        val lines = stream.entries.map { case (id, entry) =>
          Seq(stream.streamId, id, entry.state, Topics.text(entry))
        }
        if (lines.isEmpty) Seq(Seq(stream.streamId, "", "", "")) else lines
      }
    ).text
  }

  private final class Validated(context: Context, file: String) extends Result {
    private val (_, document) = FileMetadataService.check(file, context.hadoop)

    override def rows: Seq[Seq[Any]] =
      for ((severity, all) <- Seq("error" -> document.errors, "warning" -> document.warnings); p <- all)
        yield Seq(severity, p.line, p.place.stream, p.place.cluster, p.place.key, p.reason)

    override def json: Any = Json.fields(
      "file" -> file,
      "valid" -> document.errors.isEmpty,
      "errors" -> document.errors.map(fields),
      "warnings" -> document.warnings.map(fields)
    )

    private def fields(p: Problem) = Json.fields(
      "file" -> file,
      "line" -> p.line,
      "stream" -> p.place.stream,
      "cluster" -> p.place.cluster,
      "key" -> p.place.key,
      "message" -> p.reason
    )

    override def text: String =
      if (document.errors.nonEmpty) ""
      else {
        val clusters = document.streams.values.flatMap(_.entries.map(_._1)).toSet
        s"$file: ${Text.count(document.streams.size.toLong, "stream")} on ${Text.count(clusters.size.toLong, "cluster")}"
      }

    override def reasons: Seq[String] =
      document.errors.map(_.textIn(file)) ++ document.warnings.map(_.textIn(file) + " (warning)") ++
        Option.when(document.errors.nonEmpty)(Text.count(document.errors.size.toLong, "error"))

    override def reasonsWithJson: Seq[String] = Nil

    override def exitCode: Int = if (document.errors.isEmpty) 0 else 1
  }

  private final class Described(context: Context, id: String) extends Result {
    private val clusters = context.named(find(context.streams(), id)).entries

    private def offsets(entry: ClusterMetadata) = Seq(
      "starting_offsets" -> Option(entry.startingOffsets),
      "stopping_offsets" -> Option(entry.stoppingOffsets)
    )

    private def properties(entry: ClusterMetadata): Seq[(String, String)] =
      entry.properties.toSeq.sorted.map { case (name, value) =>
        name -> StreamChange.shown(name, value)
      }

    private def lines(entry: ClusterMetadata): Seq[(String, String)] =
      Seq("state" -> entry.state) ++ Option.unless(entry.write)("write" -> "false") ++
        Seq(entry.subscription) ++
        offsets(entry).collect { case (name, Some(value)) => name -> value } ++ properties(entry)

    override def rows: Seq[Seq[Any]] =
      for ((cluster, entry) <- clusters; (name, value) <- lines(entry)) yield Seq(cluster, name, value)

    override def json: Any = Json.fields(
      "file" -> context.file,
      "stream" -> id,
      "clusters" -> Json.Fields(clusters.map { case (cluster, entry) =>
        cluster -> (Json.fields("state" -> entry.state) ++
          Json.present("write" -> Option.unless(entry.write)(false)) ++ Topics.json(entry) ++
          Json.Fields(offsets(entry) :+ ("properties" -> Json.Fields(properties(entry)))))
      })
    )

    override def text: String = (s"stream $id" +: clusters.map { case (cluster, entry) =>
      val all = lines(entry)
      val width = all.map(_._1.length).max
      (s"\ncluster $cluster" +: all.map { case (name, value) => s"  ${name.padTo(width, ' ')}  $value" })
        .mkString("\n")
    }).mkString("\n")
  }

  private final class Changed(changes: Seq[StreamChange]) extends Result {
    override def rows: Seq[Seq[Any]] = changes.map(_.fields.map(_._2))
    override def json: Any =
      Json.fields("same" -> changes.isEmpty, "changes" -> changes.map(c => Json.Fields(c.fields)))
    override def text: String = changes.map(_.text).mkString("\n")
    override def exitCode: Int = if (changes.isEmpty) 0 else 1
  }
}

/** The topics of a stream on a cluster. */
private[admin] object Topics {

  /** `topics`, and the pattern or the partitions where they are given. */
  def json(entry: ClusterMetadata): Json.Fields = Json.fields("topics" -> entry.topics) ++
    Json.present(
      "topic_pattern" -> Option(entry.topicPattern),
      "partitions" -> Json.Fields(entry.partitions)
    )

  def text(entry: ClusterMetadata): String =
    Option(entry.topicPattern).fold(entry.subscription._2)(pattern => s"matching $pattern")
}

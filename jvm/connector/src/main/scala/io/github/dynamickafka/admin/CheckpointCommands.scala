package io.github.dynamickafka.admin

import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}

import org.apache.kafka.clients.admin.OffsetSpec

import io.github.dynamickafka.admin.checkpoint.{LoggedBatch, OffsetLog, Position, SourceId}

/** `offsets` and `lag`: the positions of a query, from its checkpoint. */
private[admin] object CheckpointCommands {
  import Parameter.{Checkpoint, Metadata, Timeout}

  private val Batch =
    Parameter.number("batch", "The number of a batch in Spark's offset log. NULL: the newest one").optional
  private val NoLag = Parameter.flag("no_lag", "Ask no Kafka cluster for end offsets").onlyOnLine

  val all: Seq[Command] = Seq(
    Command(
      "offsets",
      "The positions of a query after a batch. SQL asks no Kafka cluster. The command asks for end offsets too, with the " +
        "properties in the metadata file, and otherwise at the addresses in the checkpoint, which has no credentials",
      Seq(Checkpoint, Batch, NoLag, Metadata.optional, Timeout),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, state STRING",
      (context, arguments) => {
        val log = new OffsetLog(arguments(Checkpoint), context.hadoop)
        new Offsets(context, log, arguments.get(Batch).fold(log.newest)(log.batch), !arguments.has(NoLag))
      },
      canWatch = true
    ),
    Command(
      "lag",
      "How far a query is behind: the positions of what it reads, and Kafka's latest offsets. Exit code 1: the lag of a cluster " +
        "is not known",
      Seq(Checkpoint, Metadata.optional, Timeout),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, latest BIGINT, lag BIGINT, error STRING",
      (context, arguments) => {
        val log = new OffsetLog(arguments(Checkpoint), context.hadoop)
        new Lag(context, log, log.newest)
      },
      canWatch = true
    )
  )

  private final case class Source(id: SourceId, positions: Seq[Position], history: Seq[(String, Long)])

  /** End offsets of the partitions of one source. */
  private final case class Ends(answers: Map[String, KafkaOffsets.Answer]) {
    def of(p: Position): Either[String, Long] =
      answers.get(p.cluster).fold[Either[String, Long]](Left(""))(_(p.place))
    def end(p: Position): Option[Long] = of(p).toOption
    def lag(p: Position): Option[Long] = end(p).map(end => math.max(0L, end - p.at))

    /** Why some are not known, by cluster. */
    def unknown: Seq[(String, String)] = answers.toSeq.sortBy(_._1).flatMap { case (id, answer) =>
      answer.values.collectFirst { case Left(why) => id -> why }
    }
  }

  /** What both commands say of a batch. */
  private abstract class OfBatch(context: Context, log: OffsetLog, batch: LoggedBatch) extends Result {
    protected val sources: Seq[Source] = log.composite(batch).map { case (id, offset) =>
      Source(id, Position.of(offset), offset.history.toSeq)
    }

    protected def endsOf(source: Source, positions: Seq[Position]): Ends = {
      val clusters = new QueryClusters(context, log)
      Ends(KafkaOffsets.inParallel(positions.groupBy(_.cluster).toSeq) { case (id, here) =>
        val places = here.map(_.place)
        id -> clusters.config(source.id, id, clusters.reading(source.id)).fold(
          why => places.map(_ -> Left(why)).toMap,
          KafkaOffsets.of(context, _, places.map(_ -> OffsetSpec.latest()).toMap)
        )
      }.toMap)
    }

    protected def document(sources: Seq[Any]): Any = Json.fields(
      "batch" -> batch.number,
      "finished" -> isFinished,
      "timestamp_ms" -> batch.timestampMs,
      "sources" -> sources
    )

    protected def lines(ofSource: Source => Seq[String]): String = {
      val end = if (isFinished) "finished" else "logged, not finished: it will be read again"
      (s"batch ${batch.number} of ${time(batch.timestampMs)}, $end" +: sources.flatMap(source =>
        Seq("", s"source ${source.id.name}", "") ++ ofSource(source)
      )).mkString("\n")
    }

    private lazy val isFinished = log.finished.contains(batch.number)
  }

  private final class Offsets(context: Context, log: OffsetLog, batch: LoggedBatch, withLag: Boolean)
      extends OfBatch(context, log, batch) {

    private lazy val ends: Map[SourceId, Ends] = sources.map(source =>
      source.id -> (if (withLag) endsOf(source, source.positions) else Ends(Map.empty))
    ).toMap

    override def rows: Seq[Seq[Any]] = for {
      source <- sources
      p <- source.positions
    } yield Seq(source.id.number, p.cluster, p.topic, p.partition, p.at, stateInSql(p))

    override def json: Any = document(sources.map { source =>
      val of = ends(source.id)
      Json.Fields(
        Seq(
          "source" -> source.id.shown,
          "positions" -> source.positions.map(p =>
            Json.fields(
              "cluster" -> p.cluster,
              "topic" -> p.topic,
              "partition" -> p.partition,
              "position" -> p.at,
              "state" -> p.state,
              "entered" -> p.entered,
              "target" -> p.target,
              "stop" -> p.stop,
              "since_ms" -> p.sinceMs,
              "end" -> of.end(p),
              "lag" -> of.lag(p)
            )
          ),
          "lag_unknown" -> Json.Fields(of.unknown)
        ) ++ Option.when(source.history.nonEmpty)("history_files" -> Json.Fields(source.history))
      )
    })

    override def text: String = lines { source =>
      val of = ends(source.id)
      val history = source.history.map { case (stream, files) =>
        s"stream $stream: $files files of the history are read, and Kafka follows on the last one"
      }
      val table = Text.table(
        Seq("cluster", "topic", "partition", "position", "end", "lag", "state"),
        source.positions.map(p =>
          Seq(p.cluster, p.topic, p.partition, p.at, of.end(p), of.lag(p), stateInWords(p))
        )
      )
      val reading = source.positions.filter(_.isRead).map(of.lag)
      val total = Option.when(reading.exists(_.isDefined))(
        s"lag of the partitions being read: ${reading.flatten.sum}${partly(reading)}"
      )
      val after = total.toSeq ++ unknownLines(of)
      history ++ Seq(table) ++ (if (after.isEmpty) Nil else "" +: after)
    }
  }

  private final class Lag(context: Context, log: OffsetLog, batch: LoggedBatch)
      extends OfBatch(context, log, batch) {

    private val read: Seq[(Source, Seq[Position], Ends)] = sources.map { source =>
      val positions = source.positions.filter(_.isRead)
      (source, positions, endsOf(source, positions))
    }

    override def rows: Seq[Seq[Any]] = for {
      (source, positions, ends) <- read
      p <- positions
    } yield Seq(
      source.id.number,
      p.cluster,
      p.topic,
      p.partition,
      p.at,
      ends.end(p),
      ends.lag(p),
      ends.of(p).left.toOption
    )

    override def json: Any = document(read.map { case (source, positions, ends) =>
      Json.fields(
        "source" -> source.id.shown,
        "lag" -> total(positions.map(ends.lag)),
        "topics" -> byTopic(positions, ends).map { case (cluster, topic, lags) =>
          Json.fields("cluster" -> cluster, "topic" -> topic, "partitions" -> lags.size, "lag" -> total(lags))
        },
        "lag_unknown" -> Json.Fields(ends.unknown)
      )
    })

    override def text: String = lines { source =>
      val (_, positions, ends) = read.find(_._1 eq source).get
      val lags = positions.map(ends.lag)
      val known = if (lags.exists(_.isDefined)) s"lag: ${lags.flatten.sum}${partly(lags)}" else ""
      Seq(
        Text.table(
          Seq("cluster", "topic", "partitions", "lag"),
          byTopic(positions, ends).map { case (cluster, topic, of) =>
            Seq(cluster, topic, of.size, total(of))
          }
        ),
        "",
        known
      ) ++ unknownLines(ends)
    }

    override def exitCode: Int = if (read.exists(_._3.unknown.nonEmpty)) 1 else 0
  }

  private def byTopic(positions: Seq[Position], ends: Ends): Seq[(String, String, Seq[Option[Long]])] =
    positions.map(p => p.cluster -> p.topic).distinct.map { case (cluster, topic) =>
      (cluster, topic, positions.filter(p => p.cluster == cluster && p.topic == topic).map(ends.lag))
    }

  /** None if a part is not known. */
  private def total(lags: Seq[Option[Long]]): Option[Long] =
    Option.when(lags.forall(_.isDefined))(lags.flatten.sum)

  private def partly(lags: Seq[Option[Long]]) = if (lags.forall(_.isDefined)) "" else " (where known)"

  private def unknownLines(ends: Ends): Seq[String] =
    ends.unknown.map { case (id, why) => s"lag of cluster $id is not known: $why" }

  private def stateInSql(p: Position) = p.state match {
    case "reading" => "active"
    case "drained" => "retained"
    case other => other
  }

  private def stateInWords(p: Position): String =
    p.state + p.target.fold("")(at => s" to $at") + p.stop.fold("")(at => s", ends at $at") +
      p.sinceMs.fold("")(ms => s" since ${time(Some(ms))}") + p.entered.fold("")(at => s", entered at $at")

  private def time(ms: Option[Long]): String =
    ms.fold("an unknown time")(at => Time.format(Instant.ofEpochMilli(at)))

  private val Time = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'").withZone(ZoneOffset.UTC)
}

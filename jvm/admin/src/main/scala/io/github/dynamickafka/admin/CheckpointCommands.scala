package io.github.dynamickafka.admin

import java.time.format.DateTimeFormatter
import java.time.{Instant, ZoneOffset}

import scala.util.Failure

import org.apache.kafka.clients.admin.OffsetSpec

import io.github.dynamickafka.base.Json
import io.github.dynamickafka.offset.{CompositeOffset, LogKey, Positions}
import io.github.dynamickafka.source.checkpoint.{LoggedBatch, Refusal, SourceId, SparkCheckpoint}

/** `offsets` and `lag`: the positions of a query, from its checkpoint. */
private[admin] object CheckpointCommands {
  import Parameter.{Checkpoint, Metadata, Timeout, Watch}

  private val Batch =
    Parameter.number("batch", "The number of a batch in Spark's offset log. NULL: the newest one").optional
  private val NoLag = Parameter.flag("no_lag", "Ask no Kafka cluster for end offsets").onlyOnLine

  val all: Seq[Command] = Seq(
    Command(
      "offsets",
      "The positions of a query after a batch. SQL asks no Kafka cluster. The command asks for end offsets too, with the " +
        "properties in the metadata file, and otherwise at the addresses in the checkpoint, which has no credentials",
      Seq(Checkpoint, Batch, NoLag, Metadata.optional, Timeout, Watch),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, state STRING",
      (context, arguments) => {
        val log = SparkCheckpoint(arguments(Checkpoint), context.hadoop)
        new Offsets(context, log, arguments.get(Batch).fold(log.newest)(log.batch), !arguments.has(NoLag))
      }
    ),
    Command(
      "lag",
      "How far a query is behind: the positions of what it reads, and Kafka's latest offsets. Exit code 1: the lag of a cluster " +
        "is not known",
      Seq(Checkpoint, Metadata.optional, Timeout, Watch),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, latest BIGINT, lag BIGINT, error STRING",
      (context, arguments) => {
        val log = SparkCheckpoint(arguments(Checkpoint), context.hadoop)
        new Lag(context, log, log.newest)
      }
    )
  )

  /** @param ends why the end of a partition is not known, or the end; nothing where Kafka was not asked */
  private final case class Source(
      id: SourceId,
      positions: Seq[Position],
      history: Seq[(String, Long)],
      ends: Map[String, KafkaOffsets.Answer]
  ) {
    def end(p: Position): Option[Long] = ends.get(p.cluster).flatMap(_(KafkaOffsets.at(p.place)).toOption)
    def lag(p: Position): Option[Long] = end(p).map(end => math.max(0L, end - p.at))
    def lags: Seq[Option[Long]] = positions.filter(_.isRead).map(lag)

    /** Why some are not known, by cluster. */
    def unknown: Seq[(String, String)] = ends.toSeq.sortBy(_._1).flatMap { case (id, answer) =>
      answer.values.collectFirst { case Failure(why) => id -> why.getMessage }
    }

    /** The lag of what is read, and why it is not known, as lines. */
    def total(label: String): Seq[String] =
      Option.when(lags.exists(_.isDefined))(
        s"$label: ${lags.flatten.sum}" + (if (lags.forall(_.isDefined)) "" else " (where known)")
      ).toSeq ++ unknown.map { case (id, why) => s"lag of cluster $id is not known: $why" }
  }

  /** What both commands say of a batch. */
  private abstract class OfBatch(context: Context, log: SparkCheckpoint, batch: LoggedBatch) extends Result {
    private lazy val isFinished = log.finished.contains(batch.number)

    /** @param asked of which positions the ends are asked for */
    protected def read(positions: Position => Boolean, asked: Boolean): Seq[Source] =
      log.composite(batch).map { case (id, offset) =>
        val chosen = Position.of(offset).filter(positions)
        Source(id, chosen, offset.history.toSeq, if (asked) ends(id, chosen) else Map.empty)
      }

    private def ends(source: SourceId, positions: Seq[Position]): Map[String, KafkaOffsets.Answer] = {
      val clusters = new QueryClusters(context, log)
      KafkaOffsets.inParallel(positions.groupBy(_.cluster).toSeq) { case (id, here) =>
        val places = here.map(p => KafkaOffsets.at(p.place))
        id -> clusters.config(source, id, clusters.reading(source)).fold(
          why => places.map(_ -> Failure(new Refusal(why))).toMap,
          KafkaOffsets.of(context, _, places.map(_ -> OffsetSpec.latest()).toMap)
        )
      }.toMap
    }

    protected def places(sources: Seq[Source])(more: (Source, Position) => Seq[Any]): Seq[Seq[Any]] =
      for (source <- sources; p <- source.positions)
        yield Seq[Any](source.id, p.cluster, p.topic, p.partition, p.at) ++ more(source, p)

    protected def document(sources: Seq[Any]): Any = Json.fields(
      "batch" -> batch.number,
      "finished" -> isFinished,
      "timestamp_ms" -> batch.timestampMs,
      "sources" -> sources
    )

    protected def lines(sources: Seq[Source])(of: Source => Seq[String]): String = {
      val end = if (isFinished) "finished" else "logged, not finished: it will be read again"
      (s"batch ${batch.number} of ${time(batch.timestampMs)}, $end" +: sources.flatMap(source =>
        Seq("", s"source ${source.id.name}", "") ++ of(source)
      )).mkString("\n")
    }
  }

  private final class Offsets(context: Context, log: SparkCheckpoint, batch: LoggedBatch, withLag: Boolean)
      extends OfBatch(context, log, batch) {
    private lazy val sources = read(_ => true, asked = withLag)

    /** Asks no cluster. */
    override def rows: Seq[Seq[Any]] =
      places(read(_ => true, asked = false))((_, p) => Seq(p.state))

    override def json: Any = document(sources.map { source =>
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
              "entered" -> p.bounds.entered,
              "target" -> p.bounds.target,
              "stop" -> p.bounds.stop,
              "since_ms" -> p.sinceMs,
              "end" -> source.end(p),
              "lag" -> source.lag(p)
            )
          ),
          "lag_unknown" -> Json.Fields(source.unknown)
        ) ++ Option.when(source.history.nonEmpty)("history_files" -> Json.Fields(source.history))
      )
    })

    override def text: String = lines(sources) { source =>
      val total = source.total("lag of the partitions being read")
      source.history.map { case (stream, files) =>
        s"stream $stream: $files files of the history are read, and Kafka follows on the last one"
      } ++ Seq(Table(
        Seq("cluster", "topic", "partition", "position", "end", "lag", "state"),
        source.positions.map(p =>
          Seq(p.cluster, p.topic, p.partition, p.at, source.end(p), source.lag(p), stateInWords(p))
        )
      ).text) ++ (if (total.isEmpty) Nil else "" +: total)
    }
  }

  private final class Lag(context: Context, log: SparkCheckpoint, batch: LoggedBatch)
      extends OfBatch(context, log, batch) {
    private val sources = read(_.isRead, asked = true)

    override def rows: Seq[Seq[Any]] = places(sources) { (source, p) =>
      val why = source.ends(p.cluster)(KafkaOffsets.at(p.place)).failed.toOption.map(_.getMessage)
      Seq(source.end(p), source.lag(p), why)
    }

    override def json: Any = document(sources.map(source =>
      Json.fields(
        "source" -> source.id.shown,
        "lag" -> total(source.lags),
        "topics" -> byTopic(source).json,
        "lag_unknown" -> Json.Fields(source.unknown)
      )
    ))

    override def text: String = lines(sources)(source =>
      Seq(byTopic(source).text, "") ++ (if (source.lags.exists(_.isDefined)) Nil else Seq("")) ++
        source.total("lag")
    )

    override def exitCode: Int = if (sources.exists(_.unknown.nonEmpty)) 1 else 0

    private def byTopic(source: Source) = Table(
      Seq("cluster", "topic", "partitions", "lag"),
      source.positions.map(p => p.cluster -> p.topic).distinct.map { case at @ (cluster, topic) =>
        val lags = source.positions.filter(p => (p.cluster, p.topic) == at).map(source.lag)
        Seq(cluster, topic, lags.size, total(lags))
      }
    )

    /** None if a part is not known. */
    private def total(lags: Seq[Option[Long]]): Option[Long] =
      Option.when(lags.forall(_.isDefined))(lags.flatten.sum)
  }

  private def stateInWords(p: Position): String =
    p.state + p.bounds.target.fold("")(at => s" to $at") + p.bounds.stop.fold("")(at => s", ends at $at") +
      p.sinceMs.fold("")(ms => s" since ${time(Some(ms))}") +
      p.bounds.entered.fold("")(at => s", entered at $at")

  private def time(ms: Option[Long]): String =
    ms.fold("an unknown time")(at => Time.format(Instant.ofEpochMilli(at)))

  private val Time = DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss 'UTC'").withZone(ZoneOffset.UTC)

  /**
   * The position in one partition.
   *
   * @param state `active`; `draining`: read up to the target; `retained`: not read, and resumed here when it is active again
   * @param sinceMs since when it is not read
   */
  private final case class Position(
      place: LogKey,
      at: Long,
      state: String,
      bounds: Bounds = Bounds(),
      sinceMs: Option[Long] = None
  ) {
    def cluster: String = place.cluster
    def topic: String = place.topic
    def partition: Int = place.partition
    def isRead: Boolean = sinceMs.isEmpty
  }

  /**
   * @param entered where reading begins, if the newest batch adds the partition, or adds it again
   * @param target where a drain ends
   * @param stop where reading ends for good, by stopping offsets
   */
  private final case class Bounds(
      entered: Option[Long] = None,
      target: Option[Long] = None,
      stop: Option[Long] = None
  )

  private object Position {

    /** All positions of an offset, sorted by cluster, topic and partition. */
    def of(offset: CompositeOffset): Seq[Position] = {
      def in(of: Map[String, Positions], id: String) = of.getOrElse(id, Positions.empty)
      val read = for {
        (id, positions) <- offset.clusters.toSeq
        (topic, p, at) <- positions.iterator
        target = in(offset.draining, id).get(topic, p)
        state = if (target.isDefined) "draining" else "active"
        stop = offset.endsOf(id).get(topic).flatMap(_.offsets.get(p))
        bounds = Bounds(in(offset.entered, id).get(topic, p), target, stop)
      } yield Position(LogKey(id, topic, p), at, state, bounds)
      val left = for {
        (id, kept) <- offset.retained.toSeq
        (topic, of) <- kept.topics.toSeq
        (p, at) <- of.offsets
      } yield Position(LogKey(id, topic, p), at, "retained", sinceMs = Some(of.since))
      (read ++ left).sortBy(p => (p.cluster, p.topic, p.partition))
    }
  }
}

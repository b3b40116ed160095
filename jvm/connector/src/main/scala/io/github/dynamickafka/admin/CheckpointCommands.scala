package io.github.dynamickafka.admin

import org.apache.kafka.clients.admin.OffsetSpec

import io.github.dynamickafka.admin.checkpoint.{LoggedBatch, OffsetLog, Position, SourceId}
import io.github.dynamickafka.catalog.StreamCatalog

/** `offsets` and `lag`: the positions of a query, from its checkpoint. */
private[admin] object CheckpointCommands {
  import Parameter.Checkpoint

  private val Batch =
    Parameter.number("batch", "The number of a batch in Spark's offset log. NULL: the newest one").optional

  val all: Seq[Command] = Seq(
    Command.procedure(
      "offsets",
      "The positions of a query after a batch. No Kafka cluster is asked",
      Seq(Checkpoint, Batch),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, state STRING"
    ) { (context, arguments) =>
      val log = new OffsetLog(arguments(Checkpoint), context.hadoop)
      positions(log, arguments.get(Batch).fold(log.newest)(log.batch)).map { case (source, p) =>
        Seq(source.number, p.cluster, p.topic, p.partition, p.at, p.state)
      }
    },
    Command.procedure(
      "lag",
      "How far a query is behind: the positions of what it reads, and Kafka's latest offsets",
      Seq(Checkpoint),
      "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, latest BIGINT, lag BIGINT, error STRING"
    )((context, arguments) => lag(context.catalog, new OffsetLog(arguments(Checkpoint), context.hadoop)))
  )

  private def lag(catalog: StreamCatalog, log: OffsetLog): Seq[Seq[Any]] = {
    val reading = positions(log, log.newest).filter(_._2.isRead)
    val clusters = new QueryClusters(catalog, log, catalog.streams())
    val asked = reading.groupBy { case (source, p) => source -> p.cluster }.toSeq
    val latest = KafkaOffsets.inParallel(asked) { case ((source, id), all) =>
      val places = all.map(_._2.place)
      (source -> id) -> clusters.config(source, id, catalog.reading).fold(
        why => places.map(_ -> Left(why)).toMap,
        KafkaOffsets.of(_, places.map(_ -> OffsetSpec.latest()).toMap)
      )
    }.toMap
    reading.map { case (source, p) =>
      val found = latest(source -> p.cluster)(p.place)
      val end = found.toOption
      Seq(
        source.number,
        p.cluster,
        p.topic,
        p.partition,
        p.at,
        end.map(Long.box).orNull,
        end.map(e => Long.box(math.max(0L, e - p.at))).orNull,
        found.left.toOption.orNull
      )
    }
  }

  private def positions(log: OffsetLog, batch: LoggedBatch): Seq[(SourceId, Position)] =
    log.composite(batch).flatMap { case (source, offset) => Position.of(offset).map(source -> _) }
}

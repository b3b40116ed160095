package io.github.dynamickafka.procedure

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.procedure.checkpoint.{LoggedBatch, OffsetLog, Position, SourceId}

/** `offsets` and `lag`: the positions of a query, from its checkpoint. */
private[procedure] final class CheckpointProcedures(catalog: StreamCatalog) {
  import CheckpointProcedures._

  val all: Seq[CatalogProcedure] = Seq(
    CatalogProcedure(
      "offsets",
      "The positions of a query after a batch. No Kafka cluster is asked",
      Seq(Checkpoint, Batch),
      StructType.fromDDL(
        "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, state STRING"
      ),
      arguments => {
        val log = new OffsetLog(arguments(Checkpoint), catalog.hadoop)
        positions(log, arguments.get(Batch).fold(log.newest)(log.batch)).map { case (source, p) =>
          Seq(source.number, p.cluster, p.topic, p.partition, p.at, p.state)
        }
      }
    ),
    CatalogProcedure(
      "lag",
      "How far a query is behind: the positions of what it reads, and Kafka's latest offsets",
      Seq(Checkpoint),
      StructType.fromDDL(
        "source INT, cluster STRING, topic STRING, partition INT, position BIGINT, latest BIGINT, lag BIGINT, " +
          "error STRING"
      ),
      arguments => lag(new OffsetLog(arguments(Checkpoint), catalog.hadoop))
    )
  )

  private def lag(log: OffsetLog): Seq[Seq[Any]] = {
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

private[procedure] object CheckpointProcedures {
  val Checkpoint: Parameter[String] =
    Parameter.text("checkpoint", "The checkpoint of the query, any URI that Spark reads")
  private val Batch =
    Parameter.optionalNumber("batch", "The number of a batch in Spark's offset log. NULL: the newest one")
}

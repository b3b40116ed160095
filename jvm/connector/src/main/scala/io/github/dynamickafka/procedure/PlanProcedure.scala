package io.github.dynamickafka.procedure

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.service.FileMetadataService
import io.github.dynamickafka.procedure.checkpoint.OffsetLog

/** `plan`: what the next batch of a query would do with the metadata of the catalog, or of a file. Nothing is changed. */
private[procedure] final class PlanProcedure(catalog: StreamCatalog) {
  import PlanProcedure._

  val all: Seq[CatalogProcedure] = Seq(
    CatalogProcedure(
      "plan",
      "What the next batch of a query would do with other metadata: what enters, drains and leaves",
      Seq(CheckpointProcedures.Checkpoint, Metadata),
      StructType.fromDDL(
        "change STRING, cluster STRING, topic STRING, partition INT, position BIGINT, target BIGINT, records BIGINT, " +
          "bytes BIGINT, lost BOOLEAN"
      ),
      arguments => {
        val log = new OffsetLog(arguments(CheckpointProcedures.Checkpoint), catalog.hadoop)
        val (streams, isActive) = arguments.get(Metadata).fold(ofCatalog)(ofFile)
        log.composite(log.newest).flatMap { case (source, start) =>
          new QueryPlan(catalog, log, source, start, streams, isActive).changes.map { case (c, bytes) =>
            Seq(
              c.change,
              c.cluster,
              c.topic,
              c.partition,
              c.position,
              c.target.map(Long.box).orNull,
              c.records.map(Long.box).orNull,
              bytes.map(Long.box).orNull,
              c.lost
            )
          }
        }
      }
    )
  )

  private def ofCatalog: Metadata = (catalog.streams(), catalog.service.isClusterActive)

  private def ofFile(path: String): Metadata =
    (new FileMetadataService(path, 0L, catalog.hadoop).getAllStreams().asScala.toSeq, _ => true)
}

private[procedure] object PlanProcedure {

  /** The streams, and whether a cluster is active. */
  private type Metadata = (Seq[KafkaStream], String => Boolean)

  private val Metadata = Parameter.optionalText(
    "metadata",
    "A metadata file, any URI that Spark reads. NULL: the metadata service of the catalog, as it is now"
  )
}

package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.admin.checkpoint.OffsetLog
import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.service.FileMetadataService

/** `plan`: what the next batch of a query would do with the metadata of the catalog, or of a file. Nothing is changed. */
private[admin] object PlanCommand {

  /** The streams, and whether a cluster is active. */
  private type Metadata = (Seq[KafkaStream], String => Boolean)

  private val Metadata = Parameter.text(
    "metadata",
    "A metadata file, any URI that Spark reads. NULL: the metadata service of the catalog, as it is now"
  ).optional

  val all: Seq[Command] = Seq(
    Command.procedure(
      "plan",
      "What the next batch of a query would do with other metadata: what enters, drains and leaves",
      Seq(Parameter.Checkpoint, Metadata),
      "change STRING, cluster STRING, topic STRING, partition INT, position BIGINT, target BIGINT, records BIGINT, " +
        "bytes BIGINT, lost BOOLEAN"
    ) { (context, arguments) =>
      val catalog = context.catalog
      val log = new OffsetLog(arguments(Parameter.Checkpoint), catalog.hadoop)
      val (streams, isActive) = arguments.get(Metadata).fold(ofCatalog(catalog))(ofFile(catalog, _))
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

  private def ofCatalog(catalog: StreamCatalog): Metadata =
    (catalog.streams(), catalog.service.isClusterActive)

  private def ofFile(catalog: StreamCatalog, path: String): Metadata =
    (new FileMetadataService(path, 0L, catalog.hadoop).getAllStreams().asScala.toSeq, _ => true)
}

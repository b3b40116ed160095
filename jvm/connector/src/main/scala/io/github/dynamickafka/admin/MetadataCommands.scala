package io.github.dynamickafka.admin

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.admin.checkpoint.Refusal
import io.github.dynamickafka.catalog.StreamCatalog
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.metadata.document.{DocumentEdits, EditRefused}
import io.github.dynamickafka.metadata.service.EditableService
import io.github.dynamickafka.metadata.{ClusterMetadata, KafkaStream}

/** `drain`, `activate` and `move`: changes of the streams where the metadata service has them. */
private[admin] object MetadataCommands {
  private val Columns = "stream STRING, cluster STRING, old_state STRING, new_state STRING"
  private val Cluster = Parameter.text("cluster", "The id of the cluster")
  private val Stream =
    Parameter.text("stream", "The id of a stream. NULL: every stream of the cluster").optional
  private val MovedStream = Parameter.text("stream", "The stream that moves")
  private val Old = Parameter.text("old", "The cluster that drains")
  private val New = Parameter.text("new", "The cluster that is added, with the same topics")

  val all: Seq[Command] = Seq(
    state("drain", ClusterMetadata.Draining, "Drains a cluster: it is read up to its end, and then leaves"),
    state("activate", ClusterMetadata.Active, "Reads a cluster again that was draining or removed"),
    Command.procedure(
      "move",
      "Drains a cluster of a stream, and adds another one with the same topics",
      Seq(MovedStream, Old, New),
      Columns
    )((context, arguments) =>
      edit(
        context.catalog,
        "move",
        DocumentEdits.moved(_, arguments(MovedStream), arguments(Old), arguments(New))
      )
    )
  )

  private def state(name: String, state: String, description: String) = Command.procedure(
    name,
    description,
    Seq(Cluster, Stream),
    Columns
  )((context, arguments) =>
    edit(context.catalog, name, DocumentEdits.withState(_, arguments(Cluster), state, arguments.get(Stream)))
  )

  private def edit(catalog: StreamCatalog, procedure: String, change: String => String): Seq[Seq[Any]] =
    catalog.service match {
      case service: EditableService =>
        val (before, after) =
          try service.edit(change)
          catch { case e: EditRefused => throw new Refusal(e.getMessage, e) }
        rows(before, after)
      case _ =>
        throw Errors.metadataReadOnly(
          procedure,
          catalog.reading.service.name,
          Seq(MetadataServiceSpecs.File.name)
        )
    }

  /** The clusters of streams whose state has changed; null: the stream did not have the cluster. Pure. */
  def rows(before: Map[String, KafkaStream], after: Map[String, KafkaStream]): Seq[Seq[Any]] = for {
    (id, stream) <- after.toSeq.sortBy(_._1)
    (cluster, entry) <- stream.getClusterMetadataMap.asScala.toSeq.sortBy(_._1)
    old = before.get(id).flatMap(s => Option(s.getClusterMetadataMap.get(cluster))).map(_.state)
    if !old.contains(entry.state)
  } yield Seq(id, cluster, old.orNull, entry.state)
}

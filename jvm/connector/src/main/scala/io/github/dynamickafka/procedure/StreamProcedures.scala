package io.github.dynamickafka.procedure

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.types.StructType

import io.github.dynamickafka.catalog.{StreamCatalog, StreamProperties}
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.option.Suggestions
import io.github.dynamickafka.procedure.checkpoint.Refusal

/** `streams` and `clusters`: what the metadata service says, without a property of Kafka's clients. Asks no cluster. */
private[procedure] final class StreamProcedures(catalog: StreamCatalog) {
  import StreamProcedures._

  val all: Seq[CatalogProcedure] = Seq(
    CatalogProcedure(
      "streams",
      "The streams of the metadata service, with their clusters and their format",
      Nil,
      StructType.fromDDL("stream STRING, clusters ARRAY<STRING>, format STRING"),
      _ =>
        catalog.streams().map(stream =>
          Seq(stream.streamId, stream.getClusterMetadataMap.asScala.keys.toSeq, catalog.format(stream))
        )
    ),
    CatalogProcedure(
      "clusters",
      "The clusters of each stream, or of one stream, with their state and their topics",
      Seq(Stream),
      StructType.fromDDL(
        "stream STRING, cluster STRING, state STRING, write BOOLEAN, topics ARRAY<STRING>"
      ),
      arguments => chosen(arguments.get(Stream)).flatMap(clusters)
    )
  )

  private def chosen(id: Option[String]): Seq[KafkaStream] = {
    val streams = catalog.streams()
    id.foreach(wanted => Unknown.refuseStream(wanted, streams.map(_.streamId)))
    streams.filter(stream => id.forall(_ == stream.streamId))
  }

  private def clusters(stream: KafkaStream): Seq[Seq[Any]] =
    stream.getClusterMetadataMap.asScala.toSeq.map { case (id, cluster) =>
      Seq(stream.streamId, id, cluster.state, cluster.write, StreamProperties.topics(cluster))
    }
}

private[procedure] object StreamProcedures {
  private val Stream = Parameter.optionalText("stream", "The id of a stream. NULL: all streams")
}

/** Names that are not known, in the words of the commands. */
private[procedure] object Unknown {

  /** @throws Refusal if there is no such stream */
  def refuseStream(id: String, known: Seq[String]): Unit =
    if (!known.contains(id)) throw new Refusal(s"there is no stream '$id'.${suggestion(id, known)}")

  /** Empty if no known name is similar. */
  def suggestion(name: String, known: Iterable[String]): String =
    Suggestions.closest(name, known).fold("")(s => s" Did you mean '$s'?")
}

package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap

import io.github.dynamickafka.metadata.KafkaStream

/**
 * The streams of a document: a file, an option, or the answer of a service in another language.
 *
 * @param streams by id, in the order of the document
 */
private[dynamickafka] final case class MetadataDocument(streams: Map[String, KafkaStream])

private[dynamickafka] object MetadataDocument {

  /**
   * Parses version 1 of the format or Flink's list of streams, in YAML or JSON.
   *
   * Parsing is strict, because a mistake in the document affects data: anything unknown fails with METADATA_INVALID,
   * which names the origin, the line, the stream, the cluster and the key, but no value of a property.
   */
  def parse(text: String, origin: String): MetadataDocument = {
    val root = DocumentText.read(text, origin)
    val streams = if (root.isList) FlinkDocument.streams(root) else DocumentV1.streams(root)
    MetadataDocument(streams.map(s => s.streamId -> s).to(VectorMap))
  }
}

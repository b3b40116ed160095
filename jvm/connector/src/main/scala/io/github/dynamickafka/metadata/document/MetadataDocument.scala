package io.github.dynamickafka.metadata.document

import scala.collection.immutable.VectorMap

import io.github.dynamickafka.metadata.KafkaStream

/**
 * Streams as a document tells them: a file, an option, an answer of a service written in another language.
 *
 * @param streams by id, in the document's order
 */
private[dynamickafka] final case class MetadataDocument(streams: Map[String, KafkaStream])

private[dynamickafka] object MetadataDocument {

  /**
   * Reads version 1 of the format, or Flink's list of streams; YAML or JSON either.
   *
   * Strict, because a slip in this document moves data: what is not understood fails with METADATA_INVALID, which
   * names the origin, the line, the stream, the cluster and the key, but no property's value.
   */
  def parse(text: String, origin: String): MetadataDocument = {
    val root = DocumentText.read(text, origin)
    val streams = if (root.isList) FlinkDocument.streams(root) else DocumentV1.streams(root)
    MetadataDocument(streams.map(s => s.streamId -> s).to(VectorMap))
  }
}

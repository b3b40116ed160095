package io.github.dynamickafka.metadata.service

import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * Streams that never change.
 *
 * @param document YAML or JSON in the format of the metadata file
 */
final class StaticMetadataService(document: String) extends DocumentMetadataService {
  private val parsed = MetadataDocument.parse(document, "the document of the service 'static'")

  override protected def document(): MetadataDocument = parsed
}

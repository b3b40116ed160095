package io.github.dynamickafka.metadata.service

import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * A service with streams that never change.
 *
 * @param document YAML or JSON text in the format of the metadata file
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException METADATA_INVALID if the document is invalid
 */
private[metadata] final class StaticMetadataService(document: String) extends DocumentMetadataService {
  private val parsed = MetadataDocument.parse(document, "the document of the service 'static'")

  override protected def read(): MetadataDocument = parsed
}

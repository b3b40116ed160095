package io.github.dynamickafka.metadata.service

import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * A service that gets all metadata from one document. A cluster is active if the document that was read last contains
 * it, so that the calls of one poll use the same state of the document.
 */
private[metadata] trait DocumentMetadataService extends KafkaMetadataService {

  /** Reads the current document. Throws an exception if it cannot be read. */
  protected def document(): MetadataDocument

  @volatile private var last: Option[MetadataDocument] = None

  private def read(): MetadataDocument = {
    val now = document()
    last = Some(now)
    now
  }

  override def getAllStreams(): ju.Set[KafkaStream] =
    new ju.LinkedHashSet(read().streams.values.toSeq.asJava)

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val now = read()
    val found = new ju.LinkedHashMap[String, KafkaStream]
    streamIds.asScala.foreach(id => now.streams.get(id).foreach(found.put(id, _)))
    found
  }

  override def isClusterActive(clusterId: String): Boolean =
    last.getOrElse(read()).streams.values.exists(_.getClusterMetadataMap.containsKey(clusterId))

  override def close(): Unit = ()
}

/** A metadata service whose streams this project can change, by an edit of its document. */
private[dynamickafka] trait EditableService {

  /**
   * @param change returns the new text of the document; may throw `EditRefused`
   * @return the streams before and after, by id
   */
  private[dynamickafka] def edit(change: String => String)
      : (Map[String, KafkaStream], Map[String, KafkaStream])
}

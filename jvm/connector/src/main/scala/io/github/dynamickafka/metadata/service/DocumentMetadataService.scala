package io.github.dynamickafka.metadata.service

import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/**
 * A service whose whole knowledge is a document. A cluster is active while the document that was looked at
 * last names it: one answer is then judged by one state of the document.
 */
private[metadata] trait DocumentMetadataService extends KafkaMetadataService {

  /** The document as it is now. Fails where it cannot be had. */
  protected def document(): MetadataDocument

  @volatile private var last: Option[MetadataDocument] = None

  private def look(): MetadataDocument = {
    val now = document()
    last = Some(now)
    now
  }

  override def getAllStreams(): ju.Set[KafkaStream] =
    new ju.LinkedHashSet(look().streams.values.toSeq.asJava)

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val now = look()
    val found = new ju.LinkedHashMap[String, KafkaStream]
    streamIds.asScala.foreach(id => now.streams.get(id).foreach(found.put(id, _)))
    found
  }

  override def isClusterActive(clusterId: String): Boolean =
    last.getOrElse(look()).streams.values.exists(_.getClusterMetadataMap.containsKey(clusterId))

  override def close(): Unit = ()
}

package io.github.dynamickafka.metadata.service

import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}
import io.github.dynamickafka.time.Clock

/**
 * A source of documents as a metadata service. A cluster is active if the document that was read last contains it, so that the calls of one
 * poll use the same state of the document.
 *
 * @param ttlMs how long a document is used before the next one is read, in milliseconds; 0: each call reads
 */
private[metadata] abstract class DocumentMetadataService(ttlMs: Long = 0L) extends KafkaMetadataService {

  /** Reads the current document. Throws an exception if it cannot be read. Never called concurrently. */
  protected def read(): MetadataDocument

  private val lock = new Object
  private var cached: Option[(Long, MetadataDocument)] = None
  @volatile private var last: Option[MetadataDocument] = None

  private def document(): MetadataDocument = lock.synchronized {
    val now = Clock.System.nanoTime()
    val (at, found) =
      cached.filter { case (at, _) => now - at < ttlMs * 1000000L }.getOrElse(now -> read())
    cached = Some(at -> found)
    last = Some(found)
    found
  }

  /** The next call reads. */
  protected final def forget(): Unit = lock.synchronized { cached = None }

  override def getAllStreams(): ju.Set[KafkaStream] = {
    val now = document()
    new ju.LinkedHashSet(
      (now.streams.values ++ now.invalid.map { case (id, reason) =>
        KafkaStream.invalid(id, reason)
      }).toSeq.asJava
    )
  }

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val now = document()
    val found = new ju.LinkedHashMap[String, KafkaStream]
    streamIds.asScala.foreach { id =>
      now.invalid.get(id).foreach(throw _)
      now.streams.get(id).foreach(found.put(id, _))
    }
    found
  }

  override def isClusterActive(clusterId: String): Boolean =
    last.getOrElse(document()).streams.values.exists(_.getClusterMetadataMap.containsKey(clusterId))

  override def close(): Unit = ()
}

/** A source that is watched by a thread of its own. */
private[metadata] trait Watched extends DocumentMetadataService {

  /** What is watched, for the log. */
  protected def shown: String

  /**
   * Waits for changes, see [[ChangeWatch]].
   *
   * @param working runs when the wait works
   * @param changed runs after each change, and after changes that may have been missed
   */
  protected def await(working: () => Unit, changed: () => Unit): Unit

  override def onChange(changed: Runnable): AutoCloseable = new ChangeWatch(shown)({ working =>
    def noticed(): Unit = {
      forget()
      changed.run()
    }
    await(working, () => noticed())
  })
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

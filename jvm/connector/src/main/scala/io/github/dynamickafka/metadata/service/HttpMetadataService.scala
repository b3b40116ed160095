package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.http.HttpClient
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * Streams from a document that an HTTP server has, asked with GET on each call. The document is the metadata file's,
 * JSON or YAML. An answer with an `ETag` is asked for again under a condition (`If-None-Match`), and `304` is the
 * last document.
 *
 * A call makes one attempt: the connector, which calls it, spaces attempts and keeps the last good answer. Redirects
 * are not followed, because they would take the headers to another address. Failures are `IOException`s and
 * METADATA_INVALID; they tell status and address, the address without its query, and never a header's value.
 *
 * @param url of scheme http or https, without user and password
 * @param headers sent with each request; values may hold Kafka's references `\${file:/path:key}`, `\${env:NAME}` and
 *                `\${dir:/path:file}`, which are resolved for each request anew
 * @param timeoutMs for a whole exchange, from the connection to the last byte
 * @param ttlMs for how long an answer is used again without asking; 0: not at all
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for a bad url or header
 */
final class HttpMetadataService(url: String, headers: ju.Map[String, String], timeoutMs: Long, ttlMs: Long)
    extends DocumentMetadataService {
  import HttpMetadataService._

  def this(url: String, headers: ju.Map[String, String]) =
    this(url, headers, MetadataServiceSpecs.DefaultTimeoutMs, 0L)
  def this(url: String) = this(url, ju.Map.of())

  private val requests = new HttpRequests(url, headers.asScala.toMap)
  private val cache = new TtlCache[MetadataDocument](ttlMs)
  private var client: Option[HttpClient] = None
  private var last: Option[Tagged] = None

  override protected def document(): MetadataDocument = cache.get(ask())

  /** The client's threads end some time after nobody refers to it. */
  override def close(): Unit = synchronized { client = None }

  private def ask(): MetadataDocument = {
    val request = requests.next(last.map(_.tag))
    val answer = HttpExchange.send(opened(), request, requests.shown, timeoutMs)
    (answer.statusCode, last) match {
      case (Ok, _) =>
        val document = MetadataDocument.parse(answer.body, requests.shown)
        last = Option(answer.headers.firstValue("ETag").orElse(null)).map(Tagged(_, document))
        document
      case (NotModified, Some(Tagged(_, document))) => document
      case (status, _) if status / 100 == 3 && status != NotModified =>
        throw new IOException(
          s"${requests.shown} answered with status $status, a redirect; those are not followed: give the address itself"
        )
      case (status, _) => throw new IOException(s"${requests.shown} answered with status $status")
    }
  }

  private def opened(): HttpClient = synchronized {
    client.getOrElse {
      val created = HttpExchange.client(timeoutMs)
      client = Some(created)
      created
    }
  }
}

private object HttpMetadataService {
  private val Ok = 200
  private val NotModified = 304

  /** @param tag as the server wrote it, quotes and all */
  private final case class Tagged(tag: String, document: MetadataDocument)
}

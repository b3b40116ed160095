package io.github.dynamickafka.metadata.http

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}

import io.github.dynamickafka.http.HttpExchange
import io.github.dynamickafka.metadata.document.MetadataDocument
import io.github.dynamickafka.metadata.service.DocumentMetadataService

/**
 * Reads the streams from a document of an HTTP server, with a GET request on each call. The document has the format of
 * the metadata file, in JSON or YAML. After a response with an `ETag`, the next request is conditional
 * (`If-None-Match`), and the status `304` returns the previous document.
 *
 * Each call makes one attempt: the connector retries at the next poll and keeps the last valid metadata. The service
 * does not follow redirects, because they would send the headers to another address. Failures of a call are
 * `IOException`s and METADATA_INVALID. Their messages contain the status and the address without its query, but no
 * values of headers.
 *
 * @param url a URL with the scheme http or https, without user and password
 * @param headers the headers of each request. Values may contain Kafka's references `\${file:/path:key}`,
 *                `\${env:NAME}` and `\${dir:/path:file}`, which are resolved again for each request
 * @param timeoutMs the time limit of a whole exchange, from connecting to the last byte, in milliseconds
 * @param ttlMs how long an answer is used before the next request, in milliseconds; 0: each call sends a
 *              request
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid URL or
 *         header
 */
private[metadata] final class HttpMetadataService(
    url: String,
    headers: Map[String, String],
    timeoutMs: Long,
    ttlMs: Long,
    login: Option[OAuthLogin]
) extends DocumentMetadataService(ttlMs) {
  import HttpMetadataService._

  private val requests = new HttpRequests(url, headers, login)
  private var client: Option[HttpClient] = None
  private var last: Option[Tagged] = None

  /** Drops the client. Its threads terminate after it has been garbage-collected. */
  override def close(): Unit = synchronized { client = None }

  override protected def read(): MetadataDocument = {
    val response = answer(() => requests.next(last.map(_.tag)))
    (response.statusCode, last) match {
      case (Ok, _) =>
        val document = MetadataDocument.parse(response.body, requests.shown)
        last = Option(response.headers.firstValue("ETag").orElse(null)).map(Tagged(_, document))
        document
      case (NotModified, Some(Tagged(_, document))) => document
      case (status, _) => throw new IOException(s"${requests.shown} responded with status $status")
    }
  }

  /** With a token that is refused, one further request with another one. */
  private def answer(request: () => HttpRequest): HttpResponse[String] = {
    val first = sent(request())
    val response = if (first.statusCode == Unauthorized && login.exists(_.renew())) sent(request()) else first
    val status = response.statusCode
    if (status / 100 == 3 && status != NotModified)
      throw new IOException(
        s"${requests.shown} responded with status $status, a redirect, which is not followed: use the target address"
      )
    response
  }

  private def sent(request: HttpRequest): HttpResponse[String] =
    try HttpExchange.send(opened(), request, timeoutMs)
    catch { case e: IOException => throw new IOException(s"the request to ${requests.shown} failed", e) }

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
  private val Unauthorized = 401

  /** @param tag the ETag as the server sent it, including quotes */
  private final case class Tagged(tag: String, document: MetadataDocument)
}

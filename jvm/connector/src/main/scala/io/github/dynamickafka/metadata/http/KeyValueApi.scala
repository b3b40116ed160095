package io.github.dynamickafka.metadata.http

import java.io.IOException
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64

import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.http.HttpExchange

/** How the HTTP API of a key-value store returns the text under a key, and tells when it has changed. */
private[http] trait KeyValueApi {

  /** Resolves references to secrets. */
  def request(): HttpRequest

  /**
   * @return None: there is no such key
   * @throws IOException if the response is not that of such a store
   */
  def text(response: HttpResponse[String]): Option[String]

  /**
   * Waits for changes of the key, with one request.
   *
   * @param working runs when the store has accepted the request
   * @param changed runs when the key may have changed, also before this request
   */
  def await(client: HttpClient, timeoutMs: Long, working: () => Unit, changed: () => Unit): Unit

  /** For messages: the store and the key. */
  def shown: String
}

private[http] object KeyValueApi {
  private val mapper = new ObjectMapper

  def json(text: String): Option[JsonNode] = Try(mapper.readTree(text)).toOption.filter(_ != null)

  def encoded(text: String): String = Base64.getEncoder.encodeToString(text.getBytes(UTF_8))

  def decoded(base64: String, shown: String): String =
    try new String(Base64.getDecoder.decode(base64), UTF_8)
    catch { case _: IllegalArgumentException => throw foreign(shown) }

  def foreign(shown: String): IOException =
    new IOException(s"the response of $shown is not that of such a store")
}

/** The KV store of Consul: `GET /v1/kv/<key>`, and blocking queries of it. */
private[http] final class ConsulApi(requests: HttpRequests, key: String) extends KeyValueApi {
  import ConsulApi._
  import KeyValueApi._

  override val shown: String = s"Consul at ${requests.shown}, key '$key'"
  private val path = "v1" +: "kv" +: key.split('/').toSeq

  /** Where the store was when the last wait returned, and the change of the key that was the newest one. */
  @volatile private var index = 0L
  @volatile private var seen: Option[Option[Long]] = None

  override def request(): HttpRequest = requests.to(path, Nil).GET().build()

  override def text(response: HttpResponse[String]): Option[String] =
    entry(response).map(_.get("Value")).map(value =>
      if (value == null || value.isNull) "" else decoded(value.asText, shown)
    )

  override def await(client: HttpClient, timeoutMs: Long, working: () => Unit, changed: () => Unit): Unit = {
    val position = if (index > 0) Seq("index" -> index.toString, "wait" -> s"${WaitMs}ms") else Nil
    // Consul adds up to a sixteenth to the wait.
    val limitMs = WaitMs + WaitMs / 16 + timeoutMs
    val response = HttpExchange.send(client, requests.to(path, position).GET().build(), limitMs)
    val newest = entry(response).map(_.path("ModifyIndex").asLong)
    working()
    val now = response.headers.firstValueAsLong("X-Consul-Index").orElse(0L)
    if (now <= 0) throw new IOException(s"the response of $shown has no header X-Consul-Index")
    // After a backup has been restored it is smaller.
    index = if (now < index) 0L else now
    if (!seen.contains(newest)) {
      seen = Some(newest)
      changed()
    }
  }

  private def entry(response: HttpResponse[String]): Option[JsonNode] = response.statusCode match {
    case NotFound => None
    case Ok => json(response.body).filter(_.isArray).map(_.path(0)).filter(_.path("Key").asText == key)
        .orElse(throw foreign(shown))
    case status => throw new IOException(s"$shown responded with status $status")
  }
}

private object ConsulApi {
  private val Ok = 200
  private val NotFound = 404
  private val WaitMs = 60000L
}

/** The KV store of etcd, by the JSON gateway of its version 3: `POST /v3/kv/range` and `POST /v3/watch`. */
private[http] final class EtcdApi(requests: HttpRequests, key: String) extends KeyValueApi {
  import EtcdApi._
  import KeyValueApi._

  override val shown: String = s"etcd at ${requests.shown}, key '$key'"

  override def request(): HttpRequest = post(Seq("v3", "kv", "range"), s"""{"key": "${encoded(key)}"}""")

  override def text(response: HttpResponse[String]): Option[String] = {
    if (response.statusCode != Ok) throw refused(response.statusCode)
    val answer = json(response.body).filter(_.has("header")).getOrElse(throw foreign(shown))
    Option(answer.path("kvs").get(0)).map(entry => decoded(entry.path("value").asText, shown))
  }

  override def await(client: HttpClient, timeoutMs: Long, working: () => Unit, changed: () => Unit): Unit = {
    val request = post(Seq("v3", "watch"), s"""{"create_request": {"key": "${encoded(key)}"}}""")
    val status =
      try HttpExchange.lines(client, request, WatchMs) { line =>
          json(line).map(_.path("result")).foreach { result =>
            // Also for the first line, since the key may have changed before.
            if (result.path("created").asBoolean) working()
            if (result.has("created") || result.has("events")) changed()
          }
        }
      catch { case e: IOException => throw new IOException(s"$shown", e) }
    if (status != Ok) throw refused(status)
  }

  private def post(path: Seq[String], body: String) =
    requests.to(
      path,
      Nil
    ).header("Content-Type", "application/json").POST(BodyPublishers.ofString(body)).build()

  private def refused(status: Int) = new IOException(s"$shown responded with status $status")
}

private object EtcdApi {
  private val Ok = 200

  /** Another watch begins then, in case that something between has dropped the connection. */
  private val WatchMs = 600000L
}

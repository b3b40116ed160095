package io.github.dynamickafka.metadata.http

import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.net.httpserver.HttpExchange

import io.github.dynamickafka.testkit.LocalHttpServer

/** A key-value store that a test reads documents from. */
trait KeyValueServer extends AutoCloseable {
  def url: String
  def put(key: String, value: String): Unit
  def delete(key: String): Unit

  /** The next requests have no response, until `start`, and those that wait end. */
  def stop(): Unit
  def start(): Unit
}

/** A store in this process, whose responses are those of the real one. */
abstract class KeyValueDouble extends LocalHttpServer with KeyValueServer {

  /** By key: the value and the revision of its last change. */
  protected val entries = mutable.Map.empty[String, (String, Long)]
  protected var revision = 7L
  private val requests = new ConcurrentLinkedQueue[(String, Map[String, String])]

  override val url: String = address

  /** If not empty: status, body and a header `Location`, instead of the response. */
  @volatile var instead: Option[(Int, String)] = None

  /** Addresses and headers of all requests. */
  def asked: Seq[(String, Map[String, String])] = requests.asScala.toSeq

  override def put(key: String, value: String): Unit = synchronized {
    revision += 1
    entries(key) = value -> revision
    notifyAll()
  }

  override def delete(key: String): Unit = synchronized {
    revision += 1
    entries.remove(key)
    notifyAll()
  }

  protected def respond(exchange: HttpExchange): Unit

  override protected def reply(exchange: HttpExchange): Unit =
    try {
      requests.add(exchange.getRequestURI.toString -> headersOf(exchange))
      instead.fold(respond(exchange)) { case (status, body) =>
        exchange.getResponseHeaders.set("Location", "http://elsewhere/hunter2")
        send(exchange, status, body)
      }
    } finally exchange.close()

  protected def send(exchange: HttpExchange, status: Int, body: String): Unit = {
    val bytes = body.getBytes(UTF_8)
    exchange.getResponseHeaders.set("Content-Type", "application/json")
    exchange.sendResponseHeaders(status, if (bytes.isEmpty) -1 else bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
  }

  protected def base64(text: String): String = Base64.getEncoder.encodeToString(text.getBytes(UTF_8))
}

/** Consul's `/v1/kv/`, with blocking queries. */
final class ConsulDouble extends KeyValueDouble {
  override protected def respond(exchange: HttpExchange): Unit = {
    val uri = exchange.getRequestURI
    val query =
      Option(uri.getQuery).toSeq.flatMap(_.split("&")).map(_.split("=", 2)).map(p => p(0) -> p(1)).toMap
    val key = uri.getPath.stripPrefix("/v1/kv/")
    val (found, index) = synchronized {
      val until = System.currentTimeMillis() + query.get("wait").fold(0L)(_.stripSuffix("ms").toLong)
      def rest = until - System.currentTimeMillis()
      val before = revision
      // Until anything in the store changes, as after a change of a neighbour.
      while (query.get("index").exists(_.toLong >= before) && revision == before && rest > 0) wait(rest)
      (entries.get(key), revision)
    }
    exchange.getResponseHeaders.set("X-Consul-Index", s"$index")
    found match {
      case None => send(exchange, 404, "")
      case Some((value, changed)) =>
        val text = if (value.isEmpty) "null" else s""""${base64(value)}""""
        send(
          exchange,
          200,
          s"""[{"LockIndex": 0, "Key": "$key", "Flags": 0, "Value": $text, "CreateIndex": 8, "ModifyIndex": $changed}]"""
        )
    }
  }

  /** A backup of an earlier time: the index is smaller. */
  def restore(): Unit = synchronized {
    revision = 3
    entries.mapValuesInPlace { case (_, (value, _)) => value -> 3L }
    notifyAll()
  }
}

/** The JSON gateway of etcd's version 3: numbers of 64 bits are texts. */
final class EtcdDouble extends KeyValueDouble {
  private val mapper = new ObjectMapper

  private def header =
    s""""header": {"cluster_id": "14841639068965178418", "member_id": "10276657743932975437", "revision": "$revision", "raft_term": "2"}"""

  private def entry(key: String, found: (String, Long)) =
    s"""{"key": "${base64(
        key
      )}", "create_revision": "8", "mod_revision": "${found._2}", "version": "1", "value": "${base64(
        found._1
      )}"}"""

  override protected def respond(exchange: HttpExchange): Unit = {
    val body = mapper.readTree(exchange.getRequestBody.readAllBytes())
    def text(base64: String) = new String(Base64.getDecoder.decode(base64), UTF_8)
    (exchange.getRequestMethod, exchange.getRequestURI.getPath) match {
      case ("POST", "/v3/kv/range") =>
        val key = text(body.path("key").asText)
        val answer = synchronized(entries.get(key).fold(s"{$header}")(found =>
          s"""{$header, "kvs": [${entry(key, found)}], "count": "1"}"""
        ))
        send(exchange, 200, answer)
      case ("POST", "/v3/watch") => watch(exchange, text(body.path("create_request").path("key").asText))
      case _ => send(exchange, 404, """{"error": "Not Found", "code": 5, "message": "Not Found"}""")
    }
  }

  private def watch(exchange: HttpExchange, key: String): Unit = {
    exchange.sendResponseHeaders(200, 0)
    def line(result: String): Unit = {
      exchange.getResponseBody.write(s"""{"result": {$header$result}}\n""".getBytes(UTF_8))
      exchange.getResponseBody.flush()
    }
    line(""", "created": true""")
    var before = synchronized(entries.get(key))
    while (true) {
      val now = synchronized {
        while (entries.get(key) == before) wait()
        entries.get(key)
      }
      before = now
      line(now.fold(s""", "events": [{"type": "DELETE", "kv": {"key": "${base64(key)}"}}]""")(found =>
        s""", "events": [{"kv": ${entry(key, found)}}]"""
      ))
    }
  }
}

package io.github.dynamickafka.schemaregistry

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.ConcurrentLinkedQueue

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.net.httpserver.HttpExchange
import javax.net.ssl.SSLContext

import io.github.dynamickafka.testkit.LocalHttpServer

/**
 * A schema registry in this process, which fails in the way that a test wants.
 *
 * @param firstId the id of the first schema, so that two registries have different ids or the same ones
 */
private[dynamickafka] final class RegistryServer(
    firstId: Int = 1,
    tls: Option[SSLContext] = None,
    asksClients: Boolean = false
) extends LocalHttpServer(tls, asksClients) {
  import RegistryServer._

  /** Before the answer to each request: None answers as a registry does. */
  @volatile var behave: Request => Option[Answer] = _ => None

  private val mapper = new ObjectMapper
  private val schemas = mutable.LinkedHashMap.empty[(String, String), Int]
  private val subjects = mutable.LinkedHashMap.empty[String, Vector[Int]]
  private val kinds = mutable.Map.empty[Int, String]
  private val references = mutable.Map.empty[Int, String]
  private val asked = new ConcurrentLinkedQueue[Request]

  val url: String = address

  def requests: Seq[Request] = asked.asScala.toSeq
  def paths: Seq[String] = requests.map(_.path)

  /** @param references JSON */
  def register(subject: String, text: String, kind: String = "AVRO", references: String = "[]"): Int =
    synchronized {
      val id = schemas.getOrElseUpdate((kind, text), firstId + schemas.size)
      kinds(id) = kind
      this.references(id) = references
      val versions = subjects.getOrElse(subject, Vector.empty)
      if (!versions.contains(id)) subjects(subject) = versions :+ id
      id
    }

  /** As a registry without schemas, which has answered nothing. */
  def clear(): Unit = synchronized {
    Seq(schemas, subjects, kinds, references).foreach(_.clear())
    asked.clear()
  }

  def settings(more: (String, String)*): RegistrySettings = settingsOf(url, more: _*)

  override protected def reply(exchange: HttpExchange): Unit = {
    val headers = headersOf(exchange)
    val request = Request(
      exchange.getRequestMethod,
      exchange.getRequestURI.getRawPath,
      headers,
      new String(exchange.getRequestBody.readAllBytes, UTF_8)
    )
    asked.add(request)
    val answer = behave(request).getOrElse(synchronized(asRegistry(request)))
    val body = answer.body.getBytes(UTF_8)
    answer.headers.foreach { case (k, v) => exchange.getResponseHeaders.set(k, v) }
    exchange.sendResponseHeaders(answer.status, if (body.isEmpty) -1 else body.length.toLong)
    exchange.getResponseBody.write(body)
    exchange.close()
  }

  private def asRegistry(request: Request): Answer = {
    def posted = {
      val json = mapper.readTree(request.body)
      (json.path("schemaType").asText("AVRO"), json.path("schema").asText)
    }
    request.path.stripPrefix("/").split('/').toSeq.map(java.net.URLDecoder.decode(_, UTF_8)) match {
      case Seq("schemas", "ids", id) =>
        schemas.collectFirst { case ((_, text), i) if i == id.toInt => found(i, text, "") }
          .getOrElse(unknown(40403))
      case Seq("subjects", subject, "versions") if request.method == "POST" =>
        val (kind, text) = posted
        Answer(200, s"""{"id": ${register(subject, text, kind)}}""")
      case Seq("subjects", subject, "versions", version) =>
        subjects.get(subject).fold(unknown(40401)) { ids =>
          val n = if (version == "latest") ids.size else version.toInt
          ids.lift(n - 1).fold(unknown(40402)) { id =>
            val text = schemas.collectFirst { case ((_, t), i) if i == id => t }.get
            found(id, text, s""""subject": ${quoted(subject)}, "version": $n, """)
          }
        }
      case Seq("subjects", subject) =>
        val known = schemas.get(posted).filter(id => subjects.get(subject).exists(_.contains(id)))
        known.fold(unknown(if (subjects.contains(subject)) 40403 else 40401))(id =>
          Answer(200, s"""{"id": $id}""")
        )
      case _ => Answer(404, """{"error_code": 404, "message": "HTTP 404 Not Found"}""")
    }
  }

  private def found(id: Int, text: String, more: String) = {
    val kind = kinds(id)
    // As Confluent's registry does, which names no type for Avro.
    val named = if (kind == "AVRO") "" else s""""schemaType": "$kind", """
    Answer(
      200,
      s"""{$more"id": $id, $named"references": ${references(id)}, "schema": ${quoted(text)}}"""
    )
  }

  private def quoted(text: String) = mapper.writeValueAsString(text)
  private def unknown(code: Int) = Answer(404, s"""{"error_code": $code, "message": "not found"}""")
}

private[dynamickafka] object RegistryServer {
  final case class Request(method: String, path: String, headers: Map[String, String], body: String)
  final case class Answer(status: Int, body: String = "", headers: Map[String, String] = Map.empty)

  /** @param more by the names of the options without `registry.` */
  def settingsOf(url: String, more: (String, String)*): RegistrySettings =
    RegistrySettings(
      "blue",
      (("url" -> url) +: more).map { case (name, value) =>
        RegistryOptionSpecs.withoutPrefix(name).get.key -> value
      }.toMap
    )

  def serving[A](body: RegistryServer => A): A = servingFrom(1)(body)

  /** @param firstId see [[RegistryServer]] */
  def servingFrom[A](firstId: Int)(body: RegistryServer => A): A = {
    val server = new RegistryServer(firstId)
    try body(server)
    finally server.close()
  }
}

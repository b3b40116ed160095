package io.github.dynamickafka.metadata.service

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.HttpExchange

import io.github.dynamickafka.testkit.LocalHttpServer

/** An HTTP server with one document. It can be stopped and started again at the same address. */
private[dynamickafka] final class DocumentServer extends LocalHttpServer {
  import DocumentServer._

  /** The answer from the next request on. */
  @volatile var answer: Answer = Answer(200, "")

  private val requests = new ConcurrentLinkedQueue[Map[String, String]]

  val url: String = s"$address/streams"

  /** The headers of all requests, with lower-case names. */
  def asked: Seq[Map[String, String]] = requests.asScala.toSeq

  override protected def reply(exchange: HttpExchange): Unit = {
    val headers = headersOf(exchange)
    requests.add(headers)
    val now = answer
    val known = now.tag.isDefined && headers.get("if-none-match") == now.tag
    val body = now.body.getBytes(UTF_8)
    (now.tag.map("ETag" -> _) ++ now.headers).foreach { case (k, v) => exchange.getResponseHeaders.set(k, v) }
    if (known) exchange.sendResponseHeaders(304, -1)
    else {
      exchange.sendResponseHeaders(now.status, if (body.isEmpty) -1 else body.length.toLong)
      val half = body.length / 2
      exchange.getResponseBody.write(body, 0, half)
      exchange.getResponseBody.flush()
      now.halfway.foreach(_.await())
      exchange.getResponseBody.write(body, half, body.length - half)
    }
    exchange.close()
  }
}

private[dynamickafka] object DocumentServer {

  /** @param halfway awaited before the second half of the body is sent */
  final case class Answer(
      status: Int,
      body: String,
      tag: Option[String] = None,
      headers: Map[String, String] = Map.empty,
      halfway: Option[CountDownLatch] = None
  )

  def serving[A](body: DocumentServer => A): A = {
    val server = new DocumentServer
    try body(server)
    finally server.close()
  }
}

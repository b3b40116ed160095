package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.nio.charset.StandardCharsets.UTF_8
import java.nio.file.Files
import java.time.Instant
import java.util.Base64
import java.util.concurrent.ConcurrentLinkedQueue

import scala.jdk.CollectionConverters._

import com.fasterxml.jackson.databind.ObjectMapper
import com.sun.net.httpserver.HttpExchange
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.Options.reference
import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.metadata.KafkaMetadataService
import io.github.dynamickafka.sink.login.TokenServer
import io.github.dynamickafka.testkit.{LocalHttpServer, TimeLimit}

/** Requests of the service `http` with tokens of an authorization server. */
class HttpLogInSuite extends AnyFunSuite with TimeLimit {
  private val Secret = "hunter2+/&"

  /** A document for clients with a token that is valid now, and not revoked. */
  private final class Guarded extends LocalHttpServer {
    val tokens = new ConcurrentLinkedQueue[String]
    @volatile var revoked: String => Boolean = _ => false
    val url: String = s"$address/streams"

    override protected def reply(exchange: HttpExchange): Unit = {
      val token = headersOf(exchange).getOrElse("authorization", "").stripPrefix("Bearer ")
      tokens.add(token)
      val body =
        """{"version": 1, "clusters": {"blue": {"properties": {"bootstrap.servers": "b:1"}}},
          | "streams": {"orders": {"clusters": {"blue": {"topics": ["a"]}}}}}""".stripMargin.getBytes(UTF_8)
      if (token.isEmpty || revoked(token) || Instant.now.getEpochSecond >= end(token))
        exchange.sendResponseHeaders(401, -1)
      else {
        exchange.sendResponseHeaders(200, body.length.toLong)
        exchange.getResponseBody.write(body)
      }
      exchange.close()
    }

    private def end(token: String) =
      new ObjectMapper().readTree(Base64.getUrlDecoder.decode(token.split('.')(1))).path("exp").asLong
  }

  private def serving(lifetimeS: Long)(body: (Guarded, TokenServer) => Unit): Unit = {
    val (server, tokens) = (new Guarded, new TokenServer("reader", Secret, lifetimeS))
    try body(server, tokens)
    finally {
      server.close()
      tokens.close()
    }
  }

  private def service(server: Guarded, tokens: TokenServer, secret: String): KafkaMetadataService =
    ServiceByName.create(
      "http",
      s"url=${server.url}",
      s"oauth.tokenUrl=${tokens.tokens}",
      "oauth.clientId=reader",
      s"oauth.clientSecret=$secret"
    )

  private def read(service: KafkaMetadataService): Unit =
    assert(service.getAllStreams().asScala.map(_.streamId) == Set("orders"))

  private def failure(service: KafkaMetadataService): String = {
    val text = FailureText.of(intercept[IOException](service.getAllStreams()))
    assert(!text.contains("hunter"), text)
    text
  }

  test("tokens of a few seconds are renewed before they expire") {
    serving(lifetimeS = 5) { (server, tokens) =>
      val http = service(server, tokens, Secret)
      while (tokens.count < 2) {
        read(http)
        Thread.sleep(20)
      }
      assert(server.tokens.asScala.toSeq.distinct.size == tokens.count)
    }
  }

  test("a token that is refused is replaced once, and the request repeated") {
    serving(lifetimeS = 3600) { (server, tokens) =>
      val http = service(server, tokens, Secret)
      read(http)
      read(http)
      assert(tokens.count == 1 && server.tokens.size == 2)
      val first = server.tokens.peek()
      server.revoked = _ == first
      read(http)
      assert(tokens.count == 2 && server.tokens.size == 4)
      server.revoked = _ => true
      assert(failure(http).contains("responded with status 401"))
      // The token of the last call was not from before.
      assert(tokens.count == 3 && server.tokens.size == 6)
      assert(failure(http).contains("responded with status 401"))
      assert(tokens.count <= 4 && server.tokens.size <= 8)
    }
  }

  test("the secret by reference, resolved for each request; a client that is refused") {
    serving(lifetimeS = 3600) { (server, tokens) =>
      val file = Files.createTempFile("oauth", ".properties")
      Files.writeString(file, "secret=hunter3\n")
      val http = service(server, tokens, reference(s"file:$file:secret"))
      val refused = failure(http)
      assert(refused.contains(tokens.tokens) && refused.contains("status 401, invalid_client"), refused)
      assert(server.tokens.isEmpty)
      Files.writeString(file, s"secret=$Secret\n")
      read(http)
    }
  }

  test("what is missing or contradictory among the options") {
    def text(arguments: String*) =
      ServiceByName.answer("http", (s"url=http://r" +: arguments).toArray)
    val login = Seq("oauth.tokenUrl=http://l/token", "oauth.clientId=reader", "oauth.clientSecret=hunter2")
    for (one <- login)
      assert(text(login.filterNot(_ == one): _*).contains(s"'metadataService.${one.split('=')(0)}'"))
    assert(text("oauth.scope=a").contains("'metadataService.oauth.tokenUrl'"))
    val twice = text(login :+ "headers.authorization=hunter3": _*)
    assert(twice.contains("'metadataService.headers.authorization'") && !twice.contains("hunter"), twice)
    val invalid =
      text("oauth.tokenUrl=http://me:hunter4@l", "oauth.clientId=reader", "oauth.clientSecret=hunter2")
    assert(invalid.contains("'metadataService.oauth.tokenUrl'") && !invalid.contains("hunter"), invalid)
  }
}

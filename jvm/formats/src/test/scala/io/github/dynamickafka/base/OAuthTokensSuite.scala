package io.github.dynamickafka.base

import java.io.IOException
import java.net.URI
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CountDownLatch, Executors, TimeUnit}

import com.sun.net.httpserver.HttpExchange
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.FailureText
import io.github.dynamickafka.testkit.{LocalHttpServer, TimeLimit}

class OAuthTokensSuite extends AnyFunSuite with TimeLimit {

  private class Authority extends LocalHttpServer {
    val count = new AtomicInteger
    @volatile var last = ""
    @volatile var login = ""
    @volatile var answer: Int => (Int, String) = n =>
      (200, s"""{"access_token": "token-$n", "token_type": "Bearer", "expires_in": 100}""")

    def credentials(secret: String = "hunter2", scope: String = ""): ClientCredentials =
      ClientCredentials(URI.create(s"$address/token?tenant=hunter3"), "me & you", secret, scope)

    override protected def reply(exchange: HttpExchange): Unit = {
      last = new String(exchange.getRequestBody.readAllBytes(), UTF_8)
      login = headersOf(exchange)("authorization")
      val (status, body) = answer(count.incrementAndGet())
      exchange.sendResponseHeaders(status, body.length.toLong)
      exchange.getResponseBody.write(body.getBytes(UTF_8))
      exchange.close()
    }
  }

  private def serving(body: (Authority, OAuthTokens, ManualClock) => Unit): Unit = {
    val (server, clock) = (new Authority, new ManualClock)
    try body(server, new OAuthTokens(clock), clock)
    finally server.close()
  }

  private def failure(body: => Any): String = {
    val e = intercept[IOException] { val _ = body }
    val text = FailureText.of(e)
    assert(!text.contains("hunter"), text)
    text
  }

  test("a token is used until a fifth of its lifetime remains") {
    serving { (server, tokens, clock) =>
      val credentials = server.credentials(scope = "streams read")
      assert(tokens.get(credentials, 60000) == IssuedToken("Bearer token-1", isNew = true))
      assert(server.last == "grant_type=client_credentials&scope=streams+read")
      val expected = java.util.Base64.getEncoder.encodeToString("me+%26+you:hunter2".getBytes(UTF_8))
      assert(server.login == s"Basic $expected")
      clock.advanceMs(79000)
      assert(tokens.get(credentials, 60000) == IssuedToken("Bearer token-1", isNew = false))
      clock.advanceMs(2000)
      assert(tokens.get(credentials, 60000) == IssuedToken("Bearer token-2", isNew = true))
      assert(tokens.get(server.credentials(secret = "hunter4"), 60000).authorization == "Bearer token-3")
      assert(server.last == "grant_type=client_credentials")
    }
  }

  test("a lifetime of any number") {
    for (
      (lifetime, isKept) <- Seq(
        "9999999999" -> true,
        "9223372036854775807" -> true,
        "99999999999999999999999" -> true,
        "1e300" -> true,
        "\"100\"" -> true,
        "\"soon\"" -> true,
        "0" -> false,
        "-9223372036854775808" -> false,
        "-1e300" -> false
      )
    ) serving { (server, tokens, _) =>
      server.answer = n => (200, s"""{"access_token": "token-$n", "expires_in": $lifetime}""")
      val credentials = server.credentials()
      tokens.get(credentials, 60000)
      assert(tokens.get(credentials, 60000).isNew != isKept, lifetime)
    }
  }

  test("a token that was refused is not used again, a later one is") {
    serving { (server, tokens, _) =>
      val first = tokens.get(server.credentials(), 60000)
      tokens.refused(server.credentials(), first)
      assert(tokens.get(server.credentials(), 60000).authorization == "Bearer token-2")
      tokens.refused(server.credentials(), first)
      assert(tokens.get(server.credentials(), 60000) == IssuedToken("Bearer token-2", isNew = false))
    }
  }

  test("while the server fails, a token is used until it expires") {
    serving { (server, tokens, clock) =>
      tokens.get(server.credentials(), 60000)
      server.answer = _ => (503, "hunter5")
      clock.advanceMs(90000)
      assert(tokens.get(server.credentials(), 60000) == IssuedToken("Bearer token-1", isNew = false))
      clock.advanceMs(11000)
      val text = failure(tokens.get(server.credentials(), 60000))
      assert(text.contains("the authorization server http://127.0.0.1:") && text.contains("status 503"), text)
      server.stop()
      assert(failure(tokens.get(server.credentials(), 60000)).contains("failed"))
    }
  }

  test("a client that is refused, and responses without a token") {
    serving { (server, tokens, _) =>
      server.answer = _ => (401, """{"error": "invalid_client", "error_description": "hunter5"}""")
      assert(failure(tokens.get(server.credentials(), 60000)).contains("status 401, invalid_client"))
      val _ = intercept[TokenRefused](tokens.get(server.credentials(), 60000))
      for (body <- Seq("", "<html>hunter5</html>", "{}", """{"access_token": "a\nb"}""")) {
        server.answer = _ => (200, body)
        assert(failure(tokens.get(server.credentials(), 60000)).contains("has no access_token"))
      }
      assert(!server.credentials().toString.contains("hunter"))
    }
  }

  test("tasks that need a token at the same time make one request") {
    serving { (server, tokens, _) =>
      val (all, pool) = (new CountDownLatch(1), Executors.newFixedThreadPool(8))
      (1 to 8).foreach(_ =>
        pool.execute { () =>
          all.await()
          val _ = tokens.get(server.credentials(), 60000)
        }
      )
      all.countDown()
      pool.shutdown()
      assert(pool.awaitTermination(100, TimeUnit.SECONDS) && server.count.get == 1)
    }
  }
}

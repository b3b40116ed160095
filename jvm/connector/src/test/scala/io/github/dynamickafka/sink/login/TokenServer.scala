package io.github.dynamickafka.sink.login

import java.math.BigInteger
import java.net.{InetSocketAddress, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.interfaces.RSAPublicKey
import java.security.{KeyPairGenerator, Signature}
import java.time.Instant
import java.util.Base64
import java.util.concurrent.atomic.AtomicInteger

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/**
 * An authorization server: it gives tokens to one client by its credentials (RFC 6749, 4.4), signed JWTs (RFC 7519), and has
 * the key that they are verified with (RFC 7517).
 *
 * @param lifetimeS how long a token is valid, in seconds
 */
final class TokenServer(clientId: String, secret: String, lifetimeS: Long) extends AutoCloseable {
  private val keys = {
    val generator = KeyPairGenerator.getInstance("RSA")
    generator.initialize(2048)
    generator.generateKeyPair()
  }
  private val issued = new AtomicInteger
  private val server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0)
  server.createContext("/token", exchange => token(exchange))
  server.createContext("/keys", exchange => answer(exchange, 200, published))
  server.start()

  private def url(path: String) = s"http://127.0.0.1:${server.getAddress.getPort}/$path"

  val tokens: String = url("token")
  val publicKeys: String = url("keys")

  /** How many tokens it has issued. */
  def count: Int = issued.get

  /** Whether the client gets tokens. */
  @volatile var isClientKnown: Boolean = true

  override def close(): Unit = server.stop(0)

  private def token(exchange: HttpExchange): Unit = {
    val login = exchange.getRequestHeaders.getFirst("Authorization").stripPrefix("Basic ")
    // Both are form-encoded (RFC 6749, 2.3.1).
    val client =
      new String(Base64.getDecoder.decode(login), UTF_8).split(':').map(URLDecoder.decode(_, UTF_8))
    if (isClientKnown && client.toSeq == Seq(clientId, secret)) {
      answer(
        exchange,
        200,
        s"""{"access_token": "${signed(
            issued.incrementAndGet()
          )}", "token_type": "Bearer", "expires_in": $lifetimeS}"""
      )
    } else answer(exchange, 401, """{"error": "invalid_client"}""")
  }

  /** @param number makes it another token than others of the same second */
  private def signed(number: Int): String = {
    val now = Instant.now.getEpochSecond
    val claims =
      s"""{"iss": "tests", "sub": "$clientId", "aud": "kafka", "iat": $now, "exp": ${now + lifetimeS}, "jti": "$number"}"""
    val content = s"${encoded("""{"alg": "RS256", "kid": "first"}""")}.${encoded(claims)}"
    val signature = Signature.getInstance("SHA256withRSA")
    signature.initSign(keys.getPrivate)
    signature.update(content.getBytes(UTF_8))
    s"$content.${encoded(signature.sign())}"
  }

  private def published: String = {
    val key = keys.getPublic.asInstanceOf[RSAPublicKey]
    def number(n: BigInteger) = encoded(n.toByteArray.dropWhile(_ == 0))
    s"""{"keys": [{"kty": "RSA", "kid": "first", "use": "sig", "alg": "RS256", "n": "${number(
        key.getModulus
      )}",
       |  "e": "${number(key.getPublicExponent)}"}]}""".stripMargin
  }

  private def encoded(text: String): String = encoded(text.getBytes(UTF_8))
  private def encoded(bytes: Array[Byte]): String = Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)

  private def answer(exchange: HttpExchange, status: Int, body: String): Unit = {
    val bytes = body.getBytes(UTF_8)
    exchange.getResponseHeaders.add("Content-Type", "application/json")
    exchange.sendResponseHeaders(status, bytes.length.toLong)
    exchange.getResponseBody.write(bytes)
    exchange.close()
  }
}

package io.github.dynamickafka.base

import java.io.IOException
import java.net.http.HttpRequest
import java.net.http.HttpRequest.BodyPublishers
import java.net.{URI, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Base64
import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.ReentrantLock

import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

/**
 * What an authorization server gives tokens for (RFC 6749, 4.4). Contains a secret, which `toString` omits.
 *
 * @param scope empty: that of the server
 */
private[dynamickafka] final case class ClientCredentials(
    tokenUrl: URI,
    clientId: String,
    clientSecret: String,
    scope: String
) {
  override def toString: String = s"ClientCredentials(${AddressText.http(tokenUrl)})"
}

/** The authorization server does not accept the client: another attempt would have the same result. */
private[dynamickafka] final class TokenRefused(message: String) extends IOException(message)

/**
 * @param authorization the value of the header `Authorization`
 * @param isNew whether it was requested for this use
 */
private[dynamickafka] final case class IssuedToken(authorization: String, isNew: Boolean) {
  override def toString: String = "IssuedToken"
}

/**
 * Tokens by client credentials, kept until a fifth of their lifetime remains. One request at a time for the same credentials.
 * Thread-safe.
 */
private[dynamickafka] final class OAuthTokens(clock: Clock) {
  import OAuthTokens._

  private val states = new ConcurrentHashMap[ClientCredentials, State]

  /**
   * @throws TokenRefused if the server does not accept the client
   * @throws IOException if the server does not respond with a token, and the token before has expired
   * @throws InterruptedException immediately when the calling thread is interrupted
   */
  def get(credentials: ClientCredentials, timeoutMs: Long): IssuedToken = {
    val state = states.computeIfAbsent(credentials, _ => new State)
    state.lock.lockInterruptibly()
    try
      state.token match {
        case Some(token) if clock.nanoTime() < token.renewAt => IssuedToken(token.text, isNew = false)
        case before =>
          val now = clock.nanoTime()
          val requested =
            try request(credentials, timeoutMs)
            catch {
              // Still valid: the next use asks again.
              case _: IOException if before.exists(now < _.expiresAt) => before.get
            }
          state.token = Some(requested)
          IssuedToken(requested.text, isNew = !before.contains(requested))
      }
    finally state.lock.unlock()
  }

  /**
   * The answer to a request with a token. A token from before may have been revoked: if it is not accepted, another one is requested, once.
   *
   * @param isRefused whether the token was not accepted
   */
  def answer[A](credentials: ClientCredentials, timeoutMs: Long)(request: IssuedToken => A)(
      isRefused: A => Boolean
  ): A = {
    val token = get(credentials, timeoutMs)
    val first = request(token)
    if (!isRefused(first)) first
    else {
      refused(credentials, token)
      if (token.isNew) first else request(get(credentials, timeoutMs))
    }
  }

  private[base] def refused(credentials: ClientCredentials, token: IssuedToken): Unit = {
    val state = states.get(credentials)
    state.lock.lock()
    try state.token = state.token.filter(_.text != token.authorization)
    finally state.lock.unlock()
  }

  private def request(credentials: ClientCredentials, timeoutMs: Long): Token = {
    val shown = s"the authorization server ${AddressText.http(credentials.tokenUrl)}"
    val form = "grant_type=client_credentials" +
      (if (credentials.scope.isEmpty) "" else s"&scope=${encoded(credentials.scope)}")
    val login = s"${encoded(credentials.clientId)}:${encoded(credentials.clientSecret)}"
    val message = HttpRequest.newBuilder(credentials.tokenUrl)
      .header("Authorization", s"Basic ${Base64.getEncoder.encodeToString(login.getBytes(UTF_8))}")
      .header("Content-Type", "application/x-www-form-urlencoded")
      .header("Accept", "application/json")
      .POST(BodyPublishers.ofString(form)).build()
    val began = clock.nanoTime()
    val response =
      try HttpExchange.send(HttpExchange.plain, message, timeoutMs)
      catch { case e: IOException => throw new IOException(s"the request to $shown failed", e) }
    val json = Try(mapper.readTree(response.body)).toOption.filter(_ != null)
    (response.statusCode, json.map(_.path("access_token").asText("")).filter(_.nonEmpty)) match {
      case (Ok, Some(text)) if text.forall(c => c > ' ' && c < 127) =>
        // A server may state any number, also one for "never" whose nanoseconds do not fit into a Long.
        val lifetimeS =
          math.max(0.0, math.min(json.get.path("expires_in").asDouble(UnknownLifetimeS), LongestS))
        val lifetime = (lifetimeS * NanosPerS).toLong
        Token(s"Bearer $text", began + lifetime / 5 * 4, began + lifetime)
      case (Ok, _) => throw new IOException(s"the response of $shown has no access_token")
      case (status, _) =>
        val text = s"$shown responded with status $status${reason(json)}"
        throw (if (status / 100 == 4 && !MayPass(status)) new TokenRefused(text) else new IOException(text))
    }
  }

  /** The code of RFC 6749, 5.2; the description is free text. */
  private def reason(json: Option[JsonNode]) =
    json.map(_.path("error").asText("")).filter(_.matches("[a-z_]{1,40}")).fold("")(code => s", $code")
}

private[dynamickafka] object OAuthTokens {

  /** The tokens of this process, so that queries, and tasks of an executor, share them. */
  lazy val ofProcess: OAuthTokens = new OAuthTokens(Clock.System)

  private val Ok = 200

  /** A time-out of the request, and too many of them. */
  private val MayPass = Set(408, 429)
  private val NanosPerS = 1000000000L

  /** The lifetime of a token whose server does not say it: until then, or until the token is refused. */
  private val UnknownLifetimeS = 3600.0
  private val LongestS = 86400.0 * 365
  private val mapper = new ObjectMapper

  private def encoded(text: String) = URLEncoder.encode(text, UTF_8)

  private final class State {
    val lock = new ReentrantLock
    var token: Option[Token] = None
  }

  /** @param renewAt when another one is requested, and `expiresAt`: in nanoseconds of the clock */
  private final case class Token(text: String, renewAt: Long, expiresAt: Long)
}

package io.github.dynamickafka.schemaregistry

import java.io.IOException
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.security.cert.CertificateException

import scala.annotation.tailrec
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}

import io.github.dynamickafka.base.{
  AttemptLimit,
  Backoff,
  Clock,
  HttpExchange,
  IssuedToken,
  OAuthTokens,
  ResponseTooLong,
  TokenRefused
}
import io.github.dynamickafka.error.{Errors, FailureText}

/**
 * A request to a registry.
 *
 * @param path the parts of the path, not encoded
 * @param body JSON of a POST request; None: GET
 * @param what what is asked for, in error messages
 * @param isAnswer whether JSON with status 200 is a registry's answer to it
 */
private[schemaregistry] final case class RegistryRequest(
    path: Seq[String],
    body: Option[String],
    what: String,
    isAnswer: JsonNode => Boolean
)

private[schemaregistry] sealed trait RegistryAnswer

private[schemaregistry] object RegistryAnswer {
  final case class Found(json: JsonNode) extends RegistryAnswer

  /** The registry has no such schema, subject or version. */
  case object Unknown extends RegistryAnswer

  /** The registry does not accept the schema. */
  final case class Rejected(reason: String) extends RegistryAnswer
}

/**
 * Sends requests to registries. No response, a server error and a response that is not a registry's are repeated until the time
 * limit of the schema; refused credentials are not. Thread-safe.
 */
private[schemaregistry] final class RegistryHttp(
    clock: Clock,
    backoff: Backoff = RegistryHttp.Pauses,
    tokens: OAuthTokens = OAuthTokens.ofProcess
) {
  import RegistryHttp._

  /** When the time for a schema ends that is requested from now on, in monotonic milliseconds. */
  def deadline(settings: RegistrySettings): Long = clock.monotonicMs() + settings.timeoutMs

  /**
   * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException REGISTRY_UNAVAILABLE,
   *         REGISTRY_AUTHENTICATION_FAILED
   * @throws InterruptedException immediately when the calling thread is interrupted
   */
  def ask(settings: RegistrySettings, request: RegistryRequest, deadline: Long): RegistryAnswer = {
    @tailrec def attempt(failures: Int): RegistryAnswer = {
      val limit = math.min(deadline - clock.monotonicMs(), AttemptLimit.ms(settings.timeoutMs))
      once(settings, request, failures, math.max(1L, limit)) match {
        case Right(answer) => answer
        case Left(reason) =>
          val pause = backoff.pauseMs(failures + 1)
          if (clock.monotonicMs() + pause >= deadline)
            throw unavailable(settings, request, s"$reason, after ${failures + 1} attempts")
          clock.pauseMs(pause)
          attempt(failures + 1)
      }
    }
    if (clock.monotonicMs() >= deadline)
      throw unavailable(
        settings,
        request,
        s"the requests before it, for the same schema, took ${settings.timeoutMs} ms"
      )
    attempt(0)
  }

  /** The answer, or why another attempt may have one. */
  private def once(
      settings: RegistrySettings,
      request: RegistryRequest,
      failures: Int,
      limitMs: Long
  ): Either[String, RegistryAnswer] = {
    // Secrets are resolved again for each request.
    val resolved =
      try settings.resolved()
      catch { case e: RegistrySecurityException => throw unavailable(settings, request, e.getMessage) }
    def sent(token: Option[IssuedToken]) = exchanged(settings, resolved, token, request, failures, limitMs)
    resolved.login.fold(sent(None)) { login =>
      try {
        val token = tokens.get(login.credentials, limitMs)
        sent(Some(token)).left.flatMap { reason =>
          // A token from before may have been revoked.
          if (reason == Refused) {
            tokens.refused(login.credentials, token)
            sent(Some(tokens.get(login.credentials, limitMs)))
          } else Left(reason)
        }
      } catch {
        case e: TokenRefused => throw unavailable(settings, request, e.getMessage)
        case e: IOException => Left(FailureText.of(e))
      }
    }
  }

  /** @return [[Refused]] if a token from before was not accepted */
  private def exchanged(
      settings: RegistrySettings,
      resolved: ResolvedRegistry,
      token: Option[IssuedToken],
      request: RegistryRequest,
      failures: Int,
      limitMs: Long
  ): Either[String, RegistryAnswer] = {
    val url = resolved.urls(failures % resolved.urls.size)
    val base = RegistryUrl.parse(url).fold(
      reason => throw unavailable(settings, request, s"the address is invalid: $reason"),
      identity
    )
    val message = HttpRequest.newBuilder(RegistryUrl.of(base, request.path)).header("Accept", Accepted)
    request.body.fold(message.GET()) { json =>
      message.header("Content-Type", ContentType).POST(BodyPublishers.ofString(json))
    }
    val headers = token.map(_.authorization).orElse(resolved.authorization).map("Authorization" -> _) ++
      resolved.login.toSeq.flatMap(_.headers)
    headers.foreach { case (name, value) =>
      try message.header(name, value)
      catch {
        // Its message quotes the value.
        case _: IllegalArgumentException =>
          throw unavailable(
            settings,
            request,
            "the credentials contain characters that are invalid in a header"
          )
      }
    }
    val client =
      try if (resolved.tls.isEmpty) plain
        else HttpExchange.client(limitMs, Some(RegistrySecurity.found.tls(resolved.tls)))
      catch { case e: RegistrySecurityException => throw unavailable(settings, request, e.getMessage) }
    try {
      val response = HttpExchange.send(client, message.build(), limitMs)
      if (response.statusCode == Unauthorized && token.exists(!_.isNew)) Left(Refused)
      else judge(settings, request, response)
    } catch {
      case e: ResponseTooLong => throw unavailable(settings, request, e.getMessage)
      // No further attempt changes the certificate.
      case e: IOException if isUntrusted(e) =>
        throw unavailable(
          settings,
          request,
          s"TLS: its certificate is not trusted, or is not one for this address (${FailureText.of(e)}). Set " +
            s"'${RegistryOptionSpecs.Prefix}ssl.truststore.*' to the certificate of its authority"
        )
      case e: IOException => Left(FailureText.of(e))
    }
  }

  private def isUntrusted(e: Throwable): Boolean =
    Iterator.iterate(e)(
      _.getCause
    ).takeWhile(_ != null).take(MostCauses).exists(_.isInstanceOf[CertificateException])

  private def judge(
      settings: RegistrySettings,
      request: RegistryRequest,
      response: HttpResponse[String]
  ): Either[String, RegistryAnswer] = {
    val json = Try(mapper.readTree(response.body)).toOption.filter(n => n != null && n.isObject)
    val code = json.fold(0)(_.path("error_code").asInt)
    response.statusCode match {
      case Ok => json.filter(
          request.isAnswer
        ).map(RegistryAnswer.Found(_)).toRight("the response is not that of a schema registry")
      case status @ (Unauthorized | Forbidden) =>
        throw Errors.registryAuthenticationFailed(settings.shown, settings.cluster, request.what, status)
      // A proxy, or a wrong path, also answers 404: only the registry says what it does not know.
      case NotFound if code / 100 == NotFound => Right(RegistryAnswer.Unknown)
      case Conflict | Unprocessable => Right(RegistryAnswer.Rejected(s"error code $code"))
      case status @ (RequestTimeout | TooManyRequests) => Left(s"status $status")
      case status if status >= ServerError => Left(s"status $status")
      case status => throw unavailable(settings, request, s"status $status")
    }
  }

  private def unavailable(settings: RegistrySettings, request: RegistryRequest, reason: String) =
    Errors.registryUnavailable(settings.shown, settings.cluster, request.what, reason)
}

private[schemaregistry] object RegistryHttp {
  private val Accepted = "application/vnd.schemaregistry.v1+json, application/json"
  private val ContentType = "application/vnd.schemaregistry.v1+json"
  private val Refused = "its token was refused"
  private val Ok = 200
  private val Unauthorized = 401
  private val Forbidden = 403
  private val NotFound = 404
  private val RequestTimeout = 408
  private val Conflict = 409
  private val Unprocessable = 422
  private val TooManyRequests = 429
  private val ServerError = 500

  private val Pauses = Backoff(firstMs = 100L, longestMs = 5000L)
  private val ConnectMs = 10000L
  private val MostCauses = 20
  private val mapper = new ObjectMapper

  /** For all registries without own TLS settings. Its threads are daemons. */
  private lazy val plain: HttpClient = HttpExchange.client(ConnectMs)
}

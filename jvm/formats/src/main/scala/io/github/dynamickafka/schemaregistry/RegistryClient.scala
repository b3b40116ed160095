package io.github.dynamickafka.schemaregistry

import java.io.IOException
import java.net.HttpURLConnection._
import java.net.http.HttpRequest.BodyPublishers
import java.net.http.{HttpRequest, HttpResponse}
import java.net.{URI, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.cert.CertificateException

import scala.annotation.tailrec
import scala.util.Try

import com.fasterxml.jackson.databind.{JsonNode, ObjectMapper}
import javax.net.ssl.SSLContext

import io.github.dynamickafka.base._
import io.github.dynamickafka.error.{Errors, FailureText}
import io.github.dynamickafka.option.NamedClass

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

/**
 * Sends requests to registries. No response, a server error and a response that is not a registry's are repeated until the time
 * limit of the schema; refused credentials are not. Thread-safe.
 */
private[schemaregistry] final class RegistryClient(
    clock: Clock,
    backoff: Backoff = RegistryClient.Pauses,
    tokens: OAuthTokens = OAuthTokens.ofProcess
) {
  import RegistryClient._

  /** The requests about one schema, with one time limit for all of them, which starts now. */
  def about(settings: RegistrySettings): SchemaRequests = {
    val deadline = clock.monotonicMs() + settings.timeoutMs
    new SchemaRequests(settings, new Exchange(settings, _, deadline).answer())
  }

  /** One request, with its attempts up to a time in monotonic milliseconds. */
  private final class Exchange(settings: RegistrySettings, request: RegistryRequest, deadline: Long) {

    /**
     * @throws io.github.dynamickafka.error.DynamicKafkaRuntimeException REGISTRY_UNAVAILABLE,
     *         REGISTRY_AUTHENTICATION_FAILED
     * @throws InterruptedException immediately when the calling thread is interrupted
     */
    def answer(): Answer = {
      @tailrec def attempt(failures: Int): Answer = {
        val limit = math.min(deadline - clock.monotonicMs(), AttemptLimit.ms(settings.timeoutMs))
        once(failures, math.max(1L, limit)) match {
          case Right(answer) => answer
          case Left(reason) =>
            val pause = backoff.pauseMs(failures + 1)
            if (clock.monotonicMs() + pause >= deadline)
              throw unavailable(s"$reason, after ${failures + 1} attempts")
            clock.pauseMs(pause)
            attempt(failures + 1)
        }
      }
      if (clock.monotonicMs() >= deadline)
        throw unavailable(s"the requests before it, for the same schema, took ${settings.timeoutMs} ms")
      attempt(0)
    }

    /** The answer, or why another attempt may have one. */
    private def once(failures: Int, limitMs: Long): Either[String, Answer] = {
      // Secrets are resolved again for each request.
      val resolved = secured(settings.resolved())
      def sent(token: Option[IssuedToken]) = exchanged(resolved, token, failures, limitMs)
      resolved.login.fold(sent(None)) { login =>
        try tokens.answer(login, limitMs)(token => sent(Some(token)))(_ == Left(Refused))
        catch {
          case e: TokenRefused => throw unavailable(e.getMessage)
          case e: IOException => Left(FailureText.of(e))
        }
      }
    }

    /** @return [[Refused]] if a token from before was not accepted */
    private def exchanged(
        resolved: ResolvedRegistry,
        token: Option[IssuedToken],
        failures: Int,
        limitMs: Long
    ): Either[String, Answer] = {
      val base = RegistryUrl.parse(resolved.urls(failures % resolved.urls.size)).fold(
        reason => throw unavailable(s"the address is invalid: $reason"),
        identity
      )
      val message = HttpRequest.newBuilder(RegistryUrl.of(base, request.path)).header("Accept", Accepted)
      request.body.fold(message.GET()) { json =>
        message.header("Content-Type", ContentType).POST(BodyPublishers.ofString(json))
      }
      val headers = token.map(_.authorization).orElse(resolved.authorization).map("Authorization" -> _) ++
        resolved.headers
      headers.foreach { case (name, value) =>
        try message.header(name, value)
        catch {
          // The message quotes the value.
          case _: IllegalArgumentException =>
            throw unavailable("the credentials contain characters that are invalid in a header")
        }
      }
      val client =
        if (resolved.tls.isEmpty) HttpExchange.plain
        else secured(HttpExchange.client(limitMs, Some(RegistrySecurity.found.tls(resolved.tls))))
      try {
        val response = HttpExchange.send(client, message.build(), limitMs)
        if (response.statusCode == HTTP_UNAUTHORIZED && token.exists(!_.isNew)) Left(Refused)
        else judge(response)
      } catch {
        case e: ResponseTooLong => throw unavailable(e.getMessage)
        // No further attempt changes the certificate.
        case e: IOException if FailureText.causes(e).exists(_.isInstanceOf[CertificateException]) =>
          throw unavailable(
            s"TLS: its certificate is not trusted, or is not one for this address (${FailureText.of(e)}). Set " +
              s"'${RegistryOptionSpecs.Prefix}ssl.truststore.*' to the certificate of its authority"
          )
        case e: IOException => Left(FailureText.of(e))
      }
    }

    private def judge(response: HttpResponse[String]): Either[String, Answer] = {
      val json = Try(mapper.readTree(response.body)).toOption.filter(n => n != null && n.isObject)
      val code = json.fold(0)(_.path("error_code").asInt)
      response.statusCode match {
        case HTTP_OK =>
          val found = json.filter(request.isAnswer)
          found.map(_ => Right(found)).toRight("the response is not that of a schema registry")
        case status @ (HTTP_UNAUTHORIZED | HTTP_FORBIDDEN) =>
          throw Errors.registryAuthenticationFailed(settings.shown, settings.cluster, request.what, status)
        // A proxy, or a wrong path, also answers 404: only the registry says what it does not know.
        case HTTP_NOT_FOUND if code / 100 == HTTP_NOT_FOUND => Right(Right(None))
        case HTTP_CONFLICT | Unprocessable => Right(Left(s"error code $code"))
        case status @ (HTTP_CLIENT_TIMEOUT | TooManyRequests) => Left(s"status $status")
        case status if status >= HTTP_INTERNAL_ERROR => Left(s"status $status")
        case status => throw unavailable(s"status $status")
      }
    }

    private def secured[A](make: => A): A =
      try make
      catch { case e: RegistrySecurityException => throw unavailable(e.getMessage) }

    private def unavailable(reason: String) =
      Errors.registryUnavailable(settings.shown, settings.cluster, request.what, reason)
  }
}

private[schemaregistry] object RegistryClient {

  /** None: the registry has no such schema, subject or version; on the left, why it does not accept the schema. */
  type Answer = Either[String, Option[JsonNode]]

  private val Accepted = "application/vnd.schemaregistry.v1+json, application/json"
  private val ContentType = "application/vnd.schemaregistry.v1+json"
  private val Refused = "its token was refused"
  private val Unprocessable = 422
  private val TooManyRequests = 429

  private val Pauses = Backoff(firstMs = 100L, longestMs = 5000L)
  private val mapper = new ObjectMapper
}

/** Addresses of registries. Pure. */
private[schemaregistry] object RegistryUrl {

  def split(urls: String): Seq[String] = urls.split(',').map(_.trim).filter(_.nonEmpty).toSeq

  /** @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION */
  def check(urls: String, option: String): Unit = {
    def refuse(reason: String) = throw Errors.invalidOption(option, Redaction.Redacted, reason)
    if (split(urls).isEmpty) refuse("it contains no address.")
    // What a reference stands for is not known before the first request.
    split(urls).filterNot(_.contains("${")).foreach(parse(_).left.foreach(refuse))
  }

  /** @return the reason, which contains nothing of the text */
  def parse(url: String): Either[String, URI] =
    HttpExchange.address(
      url,
      "http://host:port or https://host:port",
      s": use '${RegistryOptionSpecs.UserInfo.name}'"
    ).filterOrElse(
      uri => uri.getRawQuery == null && uri.getRawFragment == null,
      "it must not contain a query"
    )
      .left.map(reason => s"$reason.")

  /** The addresses for messages. */
  def shown(urls: String): String =
    split(urls).map(url =>
      if (url.contains("${")) Redaction.Redacted
      else parse(url).fold(_ => Redaction.Redacted, AddressText.http)
    ).mkString(",")

  /** @param path the parts of the path, not encoded */
  def of(base: URI, path: Seq[String]): URI = {
    val encoded = path.map(part => URLEncoder.encode(part, UTF_8).replace("+", "%20"))
    URI.create(s"${base.toString.stripSuffix("/")}/${encoded.mkString("/")}")
  }
}

/**
 * What requests to registries need of the Kafka clients: secrets by reference, and TLS with the clients' properties, so that the same
 * files serve for clusters and registries. Formats do not depend on the clients: the connector has the implementation, which is found
 * as a service. Thread-safe.
 */
private[dynamickafka] trait RegistrySecurity {

  /**
   * The values with references such as `${file:...}` replaced.
   *
   * @throws RegistrySecurityException if a reference cannot be resolved
   */
  def resolve(values: Map[String, String]): Map[String, String]

  /**
   * @param properties `ssl.*`, with references resolved
   * @throws RegistrySecurityException if the properties or the files that they name are invalid
   */
  def tls(properties: Map[String, String]): SSLContext
}

/** The message contains no secret. */
private[dynamickafka] final class RegistrySecurityException(message: String) extends RuntimeException(message)

private[schemaregistry] object RegistrySecurity {

  lazy val found: RegistrySecurity =
    NamedClass.registered(classOf[RegistrySecurity]).headOption.getOrElse(WithoutKafka)

  /** Without the connector there is neither: values are literal, and TLS is that of the JVM. */
  private object WithoutKafka extends RegistrySecurity {
    override def resolve(values: Map[String, String]): Map[String, String] =
      if (values.values.exists(_.contains("${"))) refuse("references to secrets") else values

    override def tls(properties: Map[String, String]): SSLContext =
      refuse(properties.keys.toSeq.sorted.mkString(", "))

    private def refuse(what: String) = throw new RegistrySecurityException(s"$what: there is no Kafka client")
  }
}

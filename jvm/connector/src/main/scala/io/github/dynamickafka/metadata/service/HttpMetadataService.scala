package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.http.{HttpClient, HttpRequest, HttpResponse}
import java.net.{URI, URISyntaxException}
import java.util.Locale

import io.github.dynamickafka.base.{
  AddressText,
  ClientCredentials,
  HttpExchange,
  IssuedToken,
  OAuthTokens,
  Redaction
}
import io.github.dynamickafka.config.MetadataServiceSpecs
import io.github.dynamickafka.config.MetadataServiceSpecs.{ClientId, ClientSecret, HttpUrl, Scope, TokenUrl}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.metadata.document.MetadataDocument

/**
 * Reads the streams from a document of an HTTP server, with a GET request on each call. The document has the format of
 * the metadata file, in JSON or YAML. After a response with an `ETag`, the next request is conditional
 * (`If-None-Match`), and the status `304` returns the previous document.
 *
 * Each call makes one attempt: the connector retries at the next poll and keeps the last valid metadata. The service
 * does not follow redirects, because they would send the headers to another address. Failures of a call are
 * `IOException`s and METADATA_INVALID. Their messages contain the status and the address without its query, but no
 * values of headers.
 *
 * The time limit is that of a whole exchange, from connecting to the last byte.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid URL or
 *         header
 */
private[metadata] final class HttpMetadataService(arguments: ServiceArguments)
    extends DocumentMetadataService(arguments(MetadataServiceSpecs.TtlMs)) {
  import HttpMetadataService._

  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs)
  private val address = parse(arguments(HttpUrl), HttpUrl.name)
  private val headers = arguments.underPrefix
  private val login = OAuthLogin.of(arguments)

  /** The address for messages, without the query, which may contain tokens. */
  private val shown = AddressText.http(address)

  if (login.isDefined)
    headers.keys.find(_.equalsIgnoreCase("Authorization"))
      .foreach(refuse(_, s"'${ServiceArguments.option(TokenUrl.name)}' sets this header"))
  headers.keys.toSeq.sorted.foreach { name =>
    try HttpRequest.newBuilder().header(name, "value")
    catch { case e: IllegalArgumentException => refuse(name, e.getMessage) }
  }
  private var client: Option[HttpClient] = None
  private var last: Option[Tagged] = None

  /** Drops the client. Its threads terminate after it has been garbage-collected. */
  override def close(): Unit = synchronized { client = None }

  override protected def read(): MetadataDocument = {
    val response = answer()
    (response.statusCode, last) match {
      case (Ok, _) =>
        val document = MetadataDocument.parse(response.body, shown)
        last = Option(response.headers.firstValue("ETag").orElse(null)).map(Tagged(_, document))
        document
      case (NotModified, Some(Tagged(_, document))) => document
      case (status, _) => throw new IOException(s"${shown} responded with status $status")
    }
  }

  /** With a token that is refused, one further request with another one. */
  private def answer(): HttpResponse[String] = {
    val first = sent(request())
    val response = if (first.statusCode == Unauthorized && login.exists(_.renew())) sent(request()) else first
    val status = response.statusCode
    if (status / 100 == 3 && status != NotModified)
      throw new IOException(
        s"${shown} responded with status $status, a redirect, which is not followed: use the target address"
      )
    response
  }

  private def sent(request: HttpRequest): HttpResponse[String] =
    try HttpExchange.send(opened(), request, timeoutMs)
    catch { case e: IOException => throw new IOException(s"the request to ${shown} failed", e) }

  /** Conditional, if the previous document has an ETag. References in the values of headers are resolved for each request. */
  private def request(): HttpRequest = {
    val builder = HttpRequest.newBuilder(address)
    last.foreach(document => builder.header("If-None-Match", document.tag))
    if (!headers.keys.exists(_.equalsIgnoreCase("Accept"))) builder.header("Accept", Accepted)
    SecretReferences.resolve(headers).foreach { case (name, value) =>
      // A file that contains only the secret usually ends with a newline.
      try builder.header(name, value.strip)
      catch {
        // The exception must not become the cause: its message quotes the value.
        case _: IllegalArgumentException =>
          throw new IOException(
            s"the value of header '$name' contains characters that are invalid in a header"
          )
      }
    }
    login.foreach(_.add(builder))
    builder.GET().build()
  }

  private def opened(): HttpClient = synchronized {
    client.getOrElse {
      val created = HttpExchange.client(timeoutMs)
      client = Some(created)
      created
    }
  }
}

private object HttpMetadataService {
  private val Ok = 200
  private val NotModified = 304
  private val Unauthorized = 401
  private val Accepted = "application/json, application/yaml;q=0.9, */*;q=0.5"
  private val Authorization = ServiceArguments.option("headers.Authorization")

  private def refuse(header: String, reason: String): Nothing =
    throw Errors.invalidOption(ServiceArguments.option(s"headers.$header"), Redaction.Redacted, reason)

  /** @param argument of the service, for errors: INVALID_OPTION */
  def parse(url: String, argument: String): URI = {
    def invalid(reason: String) =
      Errors.invalidOption(ServiceArguments.option(argument), Redaction.Redacted, reason)
    val uri =
      try new URI(url.trim)
      catch { case e: URISyntaxException => throw invalid(s"it is not a valid URL: ${e.getReason}") }
    if (uri.getRawUserInfo != null || Option(uri.getRawAuthority).exists(_.contains('@')))
      throw invalid(s"it must not contain user and password, use '$Authorization'")
    val scheme = Option(uri.getScheme).map(_.toLowerCase(Locale.ROOT))
    if (!scheme.exists(Set("http", "https")) || uri.getHost == null)
      throw invalid("it does not have the form http://host/path or https://host/path")
    uri
  }

  /** @param tag the ETag as the server sent it, including quotes */
  private final case class Tagged(tag: String, document: MetadataDocument)
}

/**
 * Adds a token by client credentials to requests. The values may contain references, which are resolved for each request.
 *
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid URL
 */
private final class OAuthLogin(arguments: ServiceArguments) {
  private val tokens = OAuthTokens.ofProcess
  private val address = HttpMetadataService.parse(arguments(TokenUrl), TokenUrl.name)
  @volatile private var last: Option[(ClientCredentials, IssuedToken)] = None

  /** @throws java.io.IOException if there is no token */
  def add(request: HttpRequest.Builder): Unit = {
    val resolved =
      SecretReferences.resolve(Map("id" -> arguments(ClientId), "secret" -> arguments(ClientSecret)))
    val credentials =
      ClientCredentials(address, resolved("id").strip, resolved("secret").strip, arguments(Scope))
    val token = tokens.get(credentials, arguments(MetadataServiceSpecs.TimeoutMs))
    last = Some(credentials -> token)
    val _ = request.header("Authorization", token.authorization)
  }

  /** The last token was refused. Returns whether the request may be sent again, with another one. */
  def renew(): Boolean = last.exists { case (credentials, token) =>
    tokens.refused(credentials, token)
    !token.isNew
  }
}

private object OAuthLogin {

  /** None: no argument of a log-in is given. */
  def of(arguments: ServiceArguments): Option[OAuthLogin] = {
    val all = Seq(TokenUrl, ClientId, ClientSecret)
    val (named, missing) = all.partition(arguments(_).nonEmpty)
    if (named.isEmpty && arguments(Scope).isEmpty) None
    else {
      missing.headOption.foreach(spec =>
        throw Errors.missingOption(
          ServiceArguments.option(spec.name),
          s"a log-in needs ${all.map(one => s"'${ServiceArguments.option(one.name)}'").mkString(", ")}"
        )
      )
      Some(new OAuthLogin(arguments))
    }
  }
}

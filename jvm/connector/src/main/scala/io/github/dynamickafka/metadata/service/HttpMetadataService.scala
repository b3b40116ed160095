package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.HttpURLConnection.{HTTP_NOT_MODIFIED, HTTP_OK, HTTP_UNAUTHORIZED}
import java.net.URI
import java.net.http.{HttpRequest, HttpResponse}

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
import io.github.dynamickafka.metadata.KafkaStream
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
  private val timeoutMs = arguments(MetadataServiceSpecs.TimeoutMs)
  private val address = parse(arguments(HttpUrl), HttpUrl.name)
  private val headers = arguments.underPrefix
  private val login = credentials

  /** The address for messages, without the query, which may contain tokens. */
  private val shown = AddressText.http(address)

  if (login.isDefined)
    headers.keys.find(_.equalsIgnoreCase("Authorization"))
      .foreach(name =>
        refuse(s"headers.$name", s"'${ServiceArguments.option(TokenUrl.name)}' sets this header")
      )
  headers.keys.toSeq.sorted.foreach { name =>
    try HttpRequest.newBuilder().header(name, "value")
    catch { case e: IllegalArgumentException => refuse(s"headers.$name", e.getMessage) }
  }

  /** The threads of a client terminate after it has been garbage-collected. */
  private lazy val client = HttpExchange.client(timeoutMs)

  /** The ETag of the newest document as the server sent it, including quotes, and its streams. */
  private var last: Option[(String, Map[String, KafkaStream])] = None

  override protected def read(): Map[String, KafkaStream] = {
    val response = answer()
    (response.statusCode, last) match {
      case (HTTP_OK, _) =>
        val streams = MetadataDocument.parse(response.body, shown)
        last = Option(response.headers.firstValue("ETag").orElse(null)).map(_ -> streams)
        streams
      case (HTTP_NOT_MODIFIED, Some((_, streams))) => streams
      case (status, _) =>
        val redirect =
          if (status / 100 != 3 || status == HTTP_NOT_MODIFIED) ""
          else ", a redirect, which is not followed: use the target address"
        throw new IOException(s"$shown responded with status $status$redirect")
    }
  }

  private def answer(): HttpResponse[String] = login.fold(sent(None))(credentials =>
    OAuthTokens.ofProcess.answer(credentials(), timeoutMs)(token => sent(Some(token)))(
      _.statusCode == HTTP_UNAUTHORIZED
    )
  )

  private def sent(token: Option[IssuedToken]): HttpResponse[String] = {
    val message = request(token)
    try HttpExchange.send(client, message, timeoutMs)
    catch { case e: IOException => throw new IOException(s"the request to $shown failed", e) }
  }

  /** Conditional, if the previous document has an ETag. References in the values of headers are resolved for each request. */
  private def request(token: Option[IssuedToken]): HttpRequest = {
    val builder = HttpRequest.newBuilder(address)
    last.foreach { case (tag, _) => builder.header("If-None-Match", tag) }
    if (!headers.keys.exists(_.equalsIgnoreCase("Accept")))
      builder.header("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
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
    token.foreach(of => builder.header("Authorization", of.authorization))
    builder.GET().build()
  }

  private def refuse(argument: String, reason: String): Nothing =
    ServiceArguments.refuse(argument, Redaction.Redacted, reason)

  /** @param argument of the service, for errors: INVALID_OPTION */
  private def parse(url: String, argument: String): URI = HttpExchange.address(
    url.trim,
    "http://host/path or https://host/path",
    s", use '${ServiceArguments.option("headers.Authorization")}'"
  ).fold(refuse(argument, _), identity)

  /**
   * The credentials of a log-in. The values may contain references, which are resolved for each answer. None: no
   * argument of a log-in is given.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid URL
   */
  private def credentials: Option[() => ClientCredentials] = {
    val all = Seq(TokenUrl, ClientId, ClientSecret)
    val (named, missing) = all.partition(arguments(_).nonEmpty)
    Option.when(named.nonEmpty || arguments(Scope).nonEmpty) {
      missing.headOption.foreach(spec =>
        throw Errors.missingOption(
          ServiceArguments.option(spec.name),
          s"a log-in needs ${all.map(one => s"'${ServiceArguments.option(one.name)}'").mkString(", ")}"
        )
      )
      val address = parse(arguments(TokenUrl), TokenUrl.name)
      () =>
        val resolved =
          SecretReferences.resolve(Map("id" -> arguments(ClientId), "secret" -> arguments(ClientSecret)))
        ClientCredentials(address, resolved("id").strip, resolved("secret").strip, arguments(Scope))
    }
  }
}

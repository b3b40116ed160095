package io.github.dynamickafka.metadata.http

import java.io.IOException
import java.net.http.HttpRequest
import java.net.{URI, URISyntaxException}
import java.util.Locale

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.SecretReferences
import io.github.dynamickafka.metadata.service.ServiceArguments
import io.github.dynamickafka.redaction.{AddressText, Redaction}

/**
 * Creates the requests of a metadata service. The constructor checks the address and the names of headers
 * (INVALID_OPTION). The values of headers are checked with each request, because references in them are resolved only
 * then.
 */
private[metadata] final class HttpRequests(
    url: String,
    headers: Map[String, String],
    login: Option[OAuthLogin] = None
) {
  import HttpRequests._

  private val address = parse(url, "url")

  /** The address for messages, without the query, which may contain tokens. */
  val shown: String = AddressText.http(address)

  if (login.isDefined)
    headers.keys.find(_.equalsIgnoreCase("Authorization")).foreach(name =>
      throw Errors.invalidOption(
        ServiceArguments.option(s"headers.$name"),
        Redaction.Redacted,
        s"'${ServiceArguments.option("oauth.tokenUrl")}' sets this header"
      )
    )
  headers.keys.toSeq.sorted.foreach { name =>
    try HttpRequest.newBuilder().header(name, "value")
    catch {
      case e: IllegalArgumentException =>
        throw Errors.invalidOption(
          ServiceArguments.option(s"headers.$name"),
          Redaction.Redacted,
          e.getMessage
        )
    }
  }

  /** @param tag the ETag of the previous document */
  def next(tag: Option[String]): HttpRequest = {
    val builder = HttpRequest.newBuilder(address)
    tag.foreach(builder.header("If-None-Match", _))
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
}

private[metadata] object HttpRequests {
  private val Accepted = "application/json, application/yaml;q=0.9, */*;q=0.5"

  /** @param argument of the service, for errors: INVALID_OPTION */
  def parse(url: String, argument: String): URI = {
    def invalid(reason: String) =
      Errors.invalidOption(ServiceArguments.option(argument), Redaction.Redacted, reason)
    val uri =
      try new URI(url.trim)
      catch {
        case e: URISyntaxException =>
          throw invalid(s"it is not a valid URL: ${e.getReason}")
      }
    if (uri.getRawUserInfo != null || Option(uri.getRawAuthority).exists(_.contains('@')))
      throw invalid(s"it must not contain user and password, use '$Authorization'")
    val scheme = Option(uri.getScheme).map(_.toLowerCase(Locale.ROOT))
    if (!scheme.exists(Set("http", "https")) || uri.getHost == null)
      throw invalid("it does not have the form http://host/path or https://host/path")
    uri
  }

  private val Authorization = ServiceArguments.option("headers.Authorization")
}

package io.github.dynamickafka.metadata.service

import java.io.IOException
import java.net.http.HttpRequest
import java.net.{URI, URISyntaxException}
import java.util.Locale

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.{AddressText, Redaction, SecretReferences}

/**
 * Makes the requests of a metadata service. Address and names of headers are checked when this is made, with
 * INVALID_OPTION; the values of headers when a request is made, because only then are they known.
 */
private[metadata] final class HttpRequests(url: String, headers: Map[String, String]) {
  import HttpRequests._

  private val address = parse(url)

  /** The address for texts: without the query, where tokens may be. */
  val shown: String = AddressText.http(address)

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

  /** @param tag of the document that is known already */
  def next(tag: Option[String]): HttpRequest = {
    val builder = HttpRequest.newBuilder(address).GET()
    if (!headers.keys.exists(_.equalsIgnoreCase("Accept"))) builder.header("Accept", Accepted)
    SecretReferences.resolve(headers).foreach { case (name, value) =>
      // A file that holds nothing but the secret mostly ends with its line.
      try builder.header(name, value.strip)
      catch {
        // Neither the exception nor as a cause: it quotes the value.
        case _: IllegalArgumentException =>
          throw new IOException(s"header '$name' has a value with characters that no header can have")
      }
    }
    tag.foreach(builder.header("If-None-Match", _))
    builder.build()
  }
}

private[metadata] object HttpRequests {
  private val Accepted = "application/json, application/yaml;q=0.9, */*;q=0.5"

  private def parse(url: String): URI = {
    val uri =
      try new URI(url.trim)
      catch {
        case e: URISyntaxException => throw invalid(Redaction.Redacted, s"it is no URL: ${e.getReason}")
      }
    if (uri.getRawUserInfo != null || Option(uri.getRawAuthority).exists(_.contains('@')))
      throw invalid(Redaction.Redacted, s"user and password have no place in it, use '$Authorization'")
    val scheme = Option(uri.getScheme).map(_.toLowerCase(Locale.ROOT))
    if (!scheme.exists(Set("http", "https")) || uri.getHost == null)
      throw invalid(Redaction.Redacted, "it is not of the form http://host/path or https://host/path")
    uri
  }

  private val Authorization = ServiceArguments.option("headers.Authorization")

  private def invalid(value: String, reason: String) =
    Errors.invalidOption(ServiceArguments.option("url"), value, reason)
}

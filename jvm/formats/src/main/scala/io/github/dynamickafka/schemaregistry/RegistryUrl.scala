package io.github.dynamickafka.schemaregistry

import java.net.{URI, URISyntaxException, URLEncoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Locale

import io.github.dynamickafka.base.{AddressText, Redaction}
import io.github.dynamickafka.error.Errors

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
    try {
      val uri = new URI(url)
      val scheme = Option(uri.getScheme).map(_.toLowerCase(Locale.ROOT))
      if (uri.getRawUserInfo != null || Option(uri.getRawAuthority).exists(_.contains('@')))
        Left(s"it must not contain user and password: use '${RegistryOptionSpecs.UserInfo.name}'.")
      else if (!scheme.exists(Set("http", "https")) || uri.getHost == null)
        Left("it does not have the form http://host:port or https://host:port.")
      else if (uri.getRawQuery != null || uri.getRawFragment != null)
        Left("it must not contain a query.")
      else Right(uri)
    } catch { case e: URISyntaxException => Left(s"it is not a valid URL: ${e.getReason}.") }

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

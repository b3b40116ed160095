package io.github.dynamickafka.base

import java.net.URI

/** Addresses of services for logs and error messages, without credentials. */
private[dynamickafka] object AddressText {

  /** Scheme, host, port and path; a query is replaced by a placeholder. */
  def http(uri: URI): String = {
    val port = if (uri.getPort < 0) "" else s":${uri.getPort}"
    val query = if (uri.getRawQuery == null) "" else s"?${Redaction.Redacted}"
    s"${uri.getScheme}://${uri.getHost}$port${Option(uri.getRawPath).getOrElse("")}$query"
  }

  /** Driver, hosts and path of a JDBC URL; only the driver if the URL may contain credentials elsewhere. */
  def jdbc(url: String): String = url match {
    case Plain(address) if !url.contains('@') => address
    case Driver(driver) => s"$driver${Redaction.Redacted}"
    case _ => Redaction.Redacted
  }

  /** The credentials in a JDBC URL, to redact them in messages of drivers. */
  def credentials(url: String): Map[String, String] = {
    val parameters = Parameter.findAllMatchIn(url).map(m => s"url.${m.group(1)}" -> m.group(2))
    val user = UserInfo.findAllMatchIn(url).flatMap(_.group(1).split("[:/]", 2)).zipWithIndex
      .map { case (part, i) => s"url.user.$i" -> part }
    (parameters ++ user).toMap
  }

  private val Driver = """(jdbc:[A-Za-z0-9_.+-]+:).*""".r
  private val Plain =
    """(jdbc:[A-Za-z0-9_.+-]+://[A-Za-z0-9_.,:\[\]-]*(?:/[A-Za-z0-9_.-]*+)*+)(?:[?;#].*)?""".r
  private val Parameter = """(?i)[?&;]([^=&;?]*(?:pass|pwd|secret|token|key)[^=&;?]*)=([^&;]*)""".r
  private val UserInfo = """^jdbc:[^:]+:(?:\w+:)?/{0,2}([^@?;]*)@""".r
}

package io.github.dynamickafka.config

import java.net.URI

/** Addresses of services as texts may show them: what could be a credential is left out. */
private[dynamickafka] object AddressText {

  /** Scheme, host, port and path; of a query nothing but that there is one. */
  def http(uri: URI): String = {
    val port = if (uri.getPort < 0) "" else s":${uri.getPort}"
    val query = if (uri.getRawQuery == null) "" else s"?${Redaction.Redacted}"
    s"${uri.getScheme}://${uri.getHost}$port${Option(uri.getRawPath).getOrElse("")}$query"
  }
}

package io.github.dynamickafka.page

/**
 * Where the page of a driver listens, and who may see it.
 *
 * @param port 0: any free one; another one and the next ones are tried otherwise
 * @param token what a visitor has to know; None: only requests that are addressed to this machine are answered
 */
private[dynamickafka] final case class PageSettings(
    host: String = PageSettings.Loopback,
    port: Int = PageSettings.Port,
    token: Option[String] = None
) {
  override def toString: String = s"PageSettings($host, $port)"
}

private[dynamickafka] object PageSettings {
  val Loopback = "127.0.0.1"
  val Port = 4090

  /** Decided by the text alone: a name may resolve to another address later. */
  def isLoopback(host: String): Boolean =
    host.equalsIgnoreCase("localhost") || host.matches("""127(\.\d{1,3}){3}""") ||
      host.stripPrefix("[").stripSuffix("]") == "::1"
}

package io.github.dynamickafka.page

import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.util.Base64

/**
 * Who may see the page. Pure, except for the random value of the session cookie.
 *
 * With a token, a visitor has to know it: in the header `Authorization: Bearer`, or in a form, which sets a cookie. Without one, only
 * requests are answered that are addressed to this machine: a page of another site, whose name resolves to 127.0.0.1, cannot read it.
 */
private[page] final class PageAccess(settings: PageSettings) {
  import PageAccess._

  /** The token is not in the cookie. Another driver on another port of the same host has a cookie of another name. */
  private val session = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)
  }
  private val name = s"dynamic-kafka-${session.take(8)}"

  val cookie: String = s"$name=$session; HttpOnly; SameSite=Strict; Path=/"

  def decide(host: Option[String], authorization: Option[String], cookies: Option[String]): Decision =
    if (settings.token.isEmpty)
      if (host.exists(addressed => PageSettings.isLoopback(withoutPort(addressed)))) Allowed else Refused
    else {
      val bearer =
        authorization.collect { case text if text.startsWith("Bearer ") => text.stripPrefix("Bearer ") }
      val sent = cookies.toSeq.flatMap(_.split(";")).map(_.trim).collect {
        case pair if pair.startsWith(s"$name=") => pair.stripPrefix(s"$name=")
      }
      if (bearer.exists(isToken) || sent.exists(same(_, session))) Allowed else Asked
    }

  def isToken(text: String): Boolean = settings.token.exists(same(_, text))

  /** The time does not depend on where they differ. */
  private def same(a: String, b: String) = MessageDigest.isEqual(a.getBytes(UTF_8), b.getBytes(UTF_8))

  private def withoutPort(host: String) = host.replaceFirst(":\\d+$", "")
}

private[page] object PageAccess {
  sealed trait Decision extends Product with Serializable
  case object Allowed extends Decision

  /** The visitor has to enter the token. */
  case object Asked extends Decision
  case object Refused extends Decision
}

package io.github.dynamickafka.metadata.http

import java.net.http.HttpRequest

import io.github.dynamickafka.http.{ClientCredentials, IssuedToken, OAuthTokens}
import io.github.dynamickafka.kafka.SecretReferences

/**
 * Adds a token by client credentials to requests. The values may contain references, which are resolved for each request.
 *
 * @param scope empty: that of the authorization server
 * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException INVALID_OPTION, for an invalid URL
 */
private[metadata] final class OAuthLogin(
    tokenUrl: String,
    clientId: String,
    clientSecret: String,
    scope: String,
    timeoutMs: Long,
    tokens: OAuthTokens = OAuthTokens.ofProcess
) {
  private val address = HttpRequests.parse(tokenUrl, "oauth.tokenUrl")
  @volatile private var last: Option[(ClientCredentials, IssuedToken)] = None

  /** @throws java.io.IOException if there is no token */
  def add(request: HttpRequest.Builder): Unit = {
    val resolved = SecretReferences.resolve(Map("id" -> clientId, "secret" -> clientSecret))
    val credentials = ClientCredentials(address, resolved("id").strip, resolved("secret").strip, scope)
    val token = tokens.get(credentials, timeoutMs)
    last = Some(credentials -> token)
    val _ = request.header("Authorization", token.authorization)
  }

  /** The last token was refused. Returns whether the request may be sent again, with another one. */
  def renew(): Boolean = last.exists { case (credentials, token) =>
    tokens.refused(credentials, token)
    !token.isNew
  }
}

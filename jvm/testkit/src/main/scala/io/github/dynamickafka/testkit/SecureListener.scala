package io.github.dynamickafka.testkit

/**
 * The secured listener of one broker: its configuration, and the properties of its clients.
 *
 * The testkit uses a plaintext listener on the loopback address, where its user is ANONYMOUS. On a cluster with ACLs,
 * this is a super user.
 */
private[testkit] final class SecureListener(security: Security, certificates: Certificates) {
  import SecureListener._

  /** The lines of server.properties. */
  def broker: Map[String, String] = certificates.server ++ login ++ rights

  /** The properties of a client with a password. */
  def scramClient(user: String, password: String): Map[String, String] = certificates.trusting ++ Map(
    "security.protocol" -> security.protocol,
    "sasl.mechanism" -> Mechanism,
    "sasl.jaas.config" -> s"""$LoginModule required username="$user" password="$password";"""
  )

  /** The properties of a client with a certificate. */
  def tlsClient(expired: Boolean): Map[String, String] =
    (if (expired) certificates.expiredClient else certificates.client) +
      ("security.protocol" -> security.protocol)

  private def login: Map[String, String] = security match {
    case Security.Open => Map.empty
    case _: Security.MutualTls => Map("ssl.client.auth" -> "required")
    case _: Security.Scram => Map(
        "sasl.enabled.mechanisms" -> Mechanism,
        s"listener.name.client.${Mechanism.toLowerCase}.sasl.jaas.config" -> s"$LoginModule required;",
        "delegation.token.secret.key" -> "secret-of-tokens"
      )
  }

  private def rights: Map[String, String] =
    if (!security.acls) Map.empty
    else Map(
      "authorizer.class.name" -> "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
      "super.users" -> "User:ANONYMOUS"
    )
}

private[testkit] object SecureListener {
  private val Mechanism = "SCRAM-SHA-256"
  private val LoginModule = "org.apache.kafka.common.security.scram.ScramLoginModule"
}

package io.github.dynamickafka.testkit

/** The security of the client listener of a cluster. */
sealed trait Security {

  /** Whether clients require the ACLs of [[KafkaCluster.addAcl]]. */
  def acls: Boolean

  /** The `security.protocol` of the client listener. */
  private[testkit] def protocol: String
}

object Security {

  /** No security: the default. */
  case object Open extends Security {
    override val acls: Boolean = false
    private[testkit] override val protocol = "PLAINTEXT"
  }

  /** User and password, with SCRAM-SHA-256 over TLS. */
  final case class Scram(users: Map[String, String], acls: Boolean = false) extends Security {
    private[testkit] override val protocol = "SASL_SSL"
  }

  /** A client certificate of the authority of the cluster. */
  final case class MutualTls(acls: Boolean = false) extends Security {
    private[testkit] override val protocol = "SSL"
  }
}

/** A secured cluster for [[KafkaClusters.start]]. */
final case class SecureCluster(name: String, security: Security)

object SecureCluster {

  /** @param users the passwords by user */
  def scram(name: String, users: Map[String, String], acls: Boolean = false): SecureCluster =
    SecureCluster(name, Security.Scram(users, acls))

  def mutualTls(name: String, acls: Boolean = false): SecureCluster =
    SecureCluster(name, Security.MutualTls(acls))
}

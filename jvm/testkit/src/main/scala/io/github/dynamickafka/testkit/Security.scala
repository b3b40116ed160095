package io.github.dynamickafka.testkit

/** What a cluster asks of its clients before it serves them. */
sealed trait Security {

  /** Whether clients may do only what [[KafkaCluster.addAcl]] allows them. */
  def acls: Boolean

  /** In Kafka's words, of the listener for clients. */
  private[testkit] def protocol: String
}

object Security {

  /** Nothing: the default. */
  case object Open extends Security {
    override val acls: Boolean = false
    private[testkit] override val protocol = "PLAINTEXT"
  }

  /** Name and password, by SCRAM-SHA-256 over TLS. */
  final case class Scram(users: Map[String, String], acls: Boolean = false) extends Security {
    private[testkit] override val protocol = "SASL_SSL"
  }

  /** A certificate of the cluster's own authority. */
  final case class MutualTls(acls: Boolean = false) extends Security {
    private[testkit] override val protocol = "SSL"
  }
}

/** A cluster that is not open to all, to be started by [[KafkaClusters.start]]. */
final case class SecureCluster(name: String, security: Security)

object SecureCluster {

  /** @param users name and password of each */
  def scram(name: String, users: Map[String, String], acls: Boolean = false): SecureCluster =
    SecureCluster(name, Security.Scram(users, acls))

  def mutualTls(name: String, acls: Boolean = false): SecureCluster =
    SecureCluster(name, Security.MutualTls(acls))
}

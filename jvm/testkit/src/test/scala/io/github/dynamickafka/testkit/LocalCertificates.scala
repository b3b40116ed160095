package io.github.dynamickafka.testkit

import java.nio.file.{Files, Path}
import java.security.KeyStore
import java.util.Base64

import scala.util.Using

import javax.net.ssl.{KeyManagerFactory, SSLContext, TrustManagerFactory}

/**
 * An authority of its own, and its certificate for 127.0.0.1, for the servers of a test.
 *
 * @param clients whether there are certificates for clients too
 */
final class LocalCertificates(folder: Path, clients: Boolean = false) {
  private val made = Certificates.make(folder, clients)

  /** `ssl.truststore.*` for clients. */
  def trusting: Map[String, String] = made.trusting

  /** `ssl.*` for clients with a certificate. */
  def client: Map[String, String] = made.client

  /** `ssl.*` for clients whose certificate has expired. */
  def expiredClient: Map[String, String] = made.expiredClient

  /** `ssl.*` for clients with a certificate, as texts instead of files. */
  def clientInPem: Map[String, String] = {
    val store = load(made.client, "keystore")
    val alias = store.aliases.nextElement
    val trusted = load(made.trusting, "truststore")
    Map(
      "ssl.keystore.type" -> "PEM",
      "ssl.keystore.key" -> pem("PRIVATE KEY", store.getKey(alias, made.password.toCharArray).getEncoded),
      "ssl.keystore.certificate.chain" ->
        store.getCertificateChain(alias).map(c => pem("CERTIFICATE", c.getEncoded)).mkString,
      "ssl.truststore.type" -> "PEM",
      "ssl.truststore.certificates" -> pem(
        "CERTIFICATE",
        trusted.getCertificate(trusted.aliases.nextElement).getEncoded
      )
    )
  }

  def context: SSLContext = {
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(load(made.server, "keystore"), made.password.toCharArray)
    val trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm)
    trusted.init(load(made.trusting, "truststore"))
    val context = SSLContext.getInstance("TLS")
    context.init(keys.getKeyManagers, trusted.getTrustManagers, null)
    context
  }

  private def load(properties: Map[String, String], kind: String): KeyStore = {
    val store = KeyStore.getInstance(properties(s"ssl.$kind.type"))
    Using.resource(Files.newInputStream(Path.of(properties(s"ssl.$kind.location")))) { file =>
      store.load(file, made.password.toCharArray)
    }
    store
  }

  private def pem(kind: String, encoded: Array[Byte]): String =
    s"-----BEGIN $kind-----\n${Base64.getMimeEncoder.encodeToString(encoded)}\n-----END $kind-----\n"
}

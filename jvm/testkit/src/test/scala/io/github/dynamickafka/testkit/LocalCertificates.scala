package io.github.dynamickafka.testkit

import java.nio.file.{Files, Path}
import java.security.KeyStore

import scala.util.Using

import javax.net.ssl.{KeyManagerFactory, SSLContext}

/** An authority of its own, and its certificate for 127.0.0.1, for the servers of a test. */
final class LocalCertificates(folder: Path) {
  private val made = Certificates.make(folder, clients = false)

  /** `ssl.truststore.*` for clients. */
  def trusting: Map[String, String] = made.trusting

  def context: SSLContext = {
    val store = KeyStore.getInstance(made.server("ssl.keystore.type"))
    val password = made.password.toCharArray
    Using.resource(Files.newInputStream(Path.of(made.server("ssl.keystore.location"))))(store.load(
      _,
      password
    ))
    val keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm)
    keys.init(store, password)
    val context = SSLContext.getInstance("TLS")
    context.init(keys.getKeyManagers, null, null)
    context
  }
}

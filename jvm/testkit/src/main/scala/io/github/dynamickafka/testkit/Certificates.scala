package io.github.dynamickafka.testkit

import java.lang.ProcessBuilder.Redirect
import java.nio.file.{Files, Path, Paths}
import java.security.KeyStore
import java.security.KeyStore.{PasswordProtection, TrustedCertificateEntry}
import java.util.UUID

import scala.jdk.CollectionConverters._
import scala.util.Using

/**
 * The key stores of one cluster, created by the JDK's `keytool`: its own certificate authority, the certificate of the
 * broker for 127.0.0.1 and localhost, one for a client, and an expired one for a client.
 *
 * @param folder the directory for the stores, which is created; the caller deletes it
 */
private[testkit] final class Certificates private (folder: Path) {

  /** The password of all stores, unique to the cluster. */
  val password: String = s"store-${UUID.randomUUID()}"

  /** The trust store with the certificate of the authority. */
  val trusting: Map[String, String] = store("truststore", "trust")

  val server: Map[String, String] = store("keystore", Certificates.Server) ++ trusting
  val client: Map[String, String] = store("keystore", Certificates.Client) ++ trusting
  val expiredClient: Map[String, String] = store("keystore", Certificates.Expired) ++ trusting

  private def store(kind: String, name: String): Map[String, String] = Map(
    s"ssl.$kind.location" -> file(name).toString,
    s"ssl.$kind.password" -> password,
    s"ssl.$kind.type" -> Certificates.StoreType
  )

  private def file(name: String): Path = folder.resolve(s"$name.p12")

  private def make(clients: Boolean): Unit = {
    import Certificates._
    Files.createDirectories(folder)
    generate(Authority, "-ext", "bc:c")
    generate(Server, "-signer", Authority, "-ext", "san=ip:127.0.0.1,dns:localhost")
    if (clients) {
      generate(Client, "-signer", Authority)
      generate(Expired, "-signer", Authority, "-startdate", "-10d", "-validity", "1")
    }
    val all = open(file(All))
    split(all, Server +: (if (clients) Seq(Client, Expired) else Nil))
    save("trust")(_.setEntry(Authority, new TrustedCertificateEntry(all.getCertificate(Authority)), null))
  }

  private def generate(name: String, more: String*): Unit = {
    val keytool = Paths.get(System.getProperty("java.home"), "bin", "keytool").toString
    val command =
      Seq(keytool, "-J-XX:TieredStopAtLevel=1", "-genkeypair", "-alias", name, "-dname", s"CN=$name") ++
        Seq("-keyalg", "EC", "-groupname", "secp256r1", "-keystore", file(Certificates.All).toString) ++
        Seq("-storetype", Certificates.StoreType, "-storepass", password) ++ more
    val log = folder.resolve("keytool.log")
    val running = new ProcessBuilder(command.asJava)
      .redirectErrorStream(true)
      .redirectOutput(Redirect.appendTo(log.toFile))
      .start()
    if (running.waitFor() != 0)
      throw new IllegalStateException(s"keytool failed to create '$name': ${Files.readString(log)}")
  }

  /** Each store has one key, because a broker or client with several keys may use any of them. */
  private def split(all: KeyStore, names: Seq[String]): Unit = names.foreach { name =>
    val protection = new PasswordProtection(password.toCharArray)
    save(name)(_.setEntry(name, all.getEntry(name, protection), protection))
  }

  private def open(path: Path): KeyStore = {
    val store = KeyStore.getInstance(Certificates.StoreType)
    Using.resource(Files.newInputStream(path))(store.load(_, password.toCharArray))
    store
  }

  private def save(name: String)(fill: KeyStore => Unit): Unit = {
    val store = KeyStore.getInstance(Certificates.StoreType)
    store.load(null, null)
    fill(store)
    Using.resource(Files.newOutputStream(file(name)))(store.store(_, password.toCharArray))
  }
}

private[testkit] object Certificates {
  private val StoreType = "PKCS12"
  private val All = "all"
  private val Authority = "authority"
  private val Server = "server"
  private val Client = "client"
  private val Expired = "expired"

  /** The principal of [[Certificates.client]]. */
  val ClientName: String = s"CN=$Client"

  /** @param clients whether to create certificates for clients too; each takes a second */
  def make(folder: Path, clients: Boolean): Certificates = {
    val made = new Certificates(folder)
    made.make(clients)
    made
  }
}

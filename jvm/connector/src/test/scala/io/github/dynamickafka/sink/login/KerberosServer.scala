package io.github.dynamickafka.sink.login

import java.nio.file.{Files, Path}

import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer

/** A key distribution center with a realm of its own. This JVM uses it as long as it runs. */
final class KerberosServer(folder: Path) extends AutoCloseable {
  private val server = new SimpleKdcServer
  Files.createDirectories(folder)
  server.setKdcHost("localhost")
  server.setKdcRealm("TESTS.LOCAL")
  server.setAllowUdp(false)
  server.setWorkDir(folder.toFile)
  server.init()
  server.start()

  /** For `-Djava.security.krb5.conf`. */
  val configuration: Path = folder.resolve("krb5.conf")

  /** @return the key table of a new principal, which is named without the realm */
  def principal(name: String): Path = {
    val keys = folder.resolve(s"${name.replace('/', '-')}.keytab")
    server.createPrincipals(name)
    server.exportPrincipal(name, keys.toFile)
    keys
  }

  override def close(): Unit = server.stop()
}

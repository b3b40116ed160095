package io.github.dynamickafka.testkit

import java.net.InetSocketAddress
import java.util.concurrent.Executors

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer, HttpsConfigurator, HttpsParameters, HttpsServer}
import javax.net.ssl.SSLContext

/**
 * An HTTP server of a test. It can be stopped and started again at the same address.
 *
 * @param tls None: without TLS
 * @param asksClients whether clients need a certificate
 */
abstract class LocalHttpServer(tls: Option[SSLContext] = None, asksClients: Boolean = false)
    extends AutoCloseable {
  LocalHttpServer.sendAtOnce()
  private val threads = Executors.newCachedThreadPool()
  private var server = bind(0)
  private val port = server.getAddress.getPort

  protected val address: String = s"http${if (tls.isDefined) "s" else ""}://127.0.0.1:$port"

  protected def reply(exchange: HttpExchange): Unit

  /** The headers of a request, with lower-case names. */
  protected def headersOf(exchange: HttpExchange): Map[String, String] =
    exchange.getRequestHeaders.asScala.map { case (k, v) => k.toLowerCase -> v.get(0) }.toMap

  def stop(): Unit = server.stop(0)
  def start(): Unit = server = bind(port)

  override def close(): Unit = {
    stop()
    threads.shutdownNow()
    ()
  }

  private def bind(at: Int): HttpServer = {
    val address = new InetSocketAddress("127.0.0.1", at)
    val bound = tls.fold(HttpServer.create(address, 0)) { context =>
      val secure = HttpsServer.create(address, 0)
      secure.setHttpsConfigurator(new HttpsConfigurator(context) {
        override def configure(connection: HttpsParameters): Unit = {
          val parameters = getSSLContext.getDefaultSSLParameters
          parameters.setNeedClientAuth(asksClients)
          connection.setSSLParameters(parameters)
        }
      })
      secure
    }
    bound.createContext("/", (exchange: HttpExchange) => reply(exchange))
    bound.setExecutor(threads)
    bound.start()
    bound
  }
}

private object LocalHttpServer {

  /** Without it, headers and body wait for each other's acknowledgement, 40 ms. Read once, by the first server. */
  def sendAtOnce(): Unit = {
    val _ = System.setProperty("sun.net.httpserver.nodelay", "true")
  }
}

package io.github.dynamickafka.testkit

import java.net.InetSocketAddress
import java.util.concurrent.Executors

import scala.jdk.CollectionConverters._

import com.sun.net.httpserver.{HttpExchange, HttpServer}

/** An HTTP server of a test. It can be stopped and started again at the same address. */
abstract class LocalHttpServer extends AutoCloseable {
  private val threads = Executors.newCachedThreadPool()
  private var server = bind(0)
  private val port = server.getAddress.getPort

  protected val address: String = s"http://127.0.0.1:$port"

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
    val bound = HttpServer.create(new InetSocketAddress("127.0.0.1", at), 0)
    bound.createContext("/", (exchange: HttpExchange) => reply(exchange))
    bound.setExecutor(threads)
    bound.start()
    bound
  }
}

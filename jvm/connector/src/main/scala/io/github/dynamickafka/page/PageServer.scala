package io.github.dynamickafka.page

import java.io.IOException
import java.net.{BindException, InetSocketAddress, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8

import scala.util.{Try, Using}

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.slf4j.LoggerFactory

/**
 * Serves the files of the page and its data over HTTP, on daemon threads.
 *
 * @param data the JSON for a request, from the time of the last point that the script has
 * @param threads closed with the server
 */
private[page] final class PageServer(
    settings: PageSettings,
    data: Long => Array[Byte],
    threads: PageThreads = new PageThreads
) extends AutoCloseable {
  import PageServer._

  private val access = new PageAccess(settings)
  private val server = bind()

  val address: String = {
    val host = settings.host
    s"http://${if (host.contains(":") && !host.startsWith("[")) s"[$host]" else host}:${server.getAddress.getPort}/"
  }

  private def bind(): HttpServer = {
    val ports = if (settings.port == 0) Seq(0) else settings.port until math.min(settings.port + Ports, 65536)
    val bound = ports.iterator
      .map(port => Try(HttpServer.create(new InetSocketAddress(settings.host, port), 0)))
      .dropWhile(_.failed.toOption.exists(_.isInstanceOf[BindException])).nextOption()
      .getOrElse(throw new BindException(s"the ports ${ports.head} to ${ports.last} are in use"))
      .get
    bound.createContext("/", (exchange: HttpExchange) => answer(exchange))
    bound.setExecutor(threads)
    // The server's own thread is a daemon if the one that starts it is.
    val start = PageThreads.daemon(() => bound.start())
    start.start()
    start.join()
    bound
  }

  private def answer(exchange: HttpExchange): Unit =
    try {
      headers.foreach { case (name, value) => exchange.getResponseHeaders.set(name, value) }
      def header(name: String) = Option(exchange.getRequestHeaders.getFirst(name))
      access.decide(header("Host"), header("Authorization"), header("Cookie")) match {
        case PageAccess.Allowed => page(exchange)
        case PageAccess.Asked => ask(exchange)
        case PageAccess.Refused =>
          send(exchange, 403, "text/plain", "The page answers to localhost only.".getBytes(UTF_8))
      }
    } catch {
      // The visitor has left.
      case _: IOException => ()
      case e: RuntimeException => log.warn("The page of the driver failed to answer a request", e)
    } finally exchange.close()

  private def page(exchange: HttpExchange): Unit = {
    val path = exchange.getRequestURI.getPath
    if (path == "/login") redirect(exchange)
    else if (exchange.getRequestMethod != "GET") send(exchange, 405, "text/plain", Array.empty)
    else if (path == "/data.json") send(exchange, 200, "application/json", data(since(exchange)))
    else file(exchange, if (path == "/") "/index.html" else path, 200)
  }

  private def since(exchange: HttpExchange): Long =
    Option(exchange.getRequestURI.getQuery).map(_.stripPrefix("since=")).flatMap(_.toLongOption).getOrElse(0L)

  /** The form and the style sheet, which have nothing of the queries, are for every visitor. */
  private def ask(exchange: HttpExchange): Unit = exchange.getRequestURI.getPath match {
    case "/login" if exchange.getRequestMethod == "POST" =>
      val form = new String(exchange.getRequestBody.readNBytes(LargestForm), UTF_8)
      val token = Try(URLDecoder.decode(form.stripPrefix("token="), UTF_8)).getOrElse("")
      if (access.isToken(token)) {
        exchange.getResponseHeaders.set("Set-Cookie", access.cookie)
        redirect(exchange)
      } else login(exchange, """<p class="problem" role="alert">This is not the token of this page.</p>""")
    case "/page.css" => file(exchange, "/page.css", 200)
    case "/" | "/login" => login(exchange, "")
    case _ => send(exchange, 401, "text/plain", Array.empty)
  }

  private def redirect(exchange: HttpExchange): Unit = {
    exchange.getResponseHeaders.set("Location", "/")
    send(exchange, 303, "text/plain", Array.empty)
  }

  private def login(exchange: HttpExchange, problem: String): Unit = {
    val form = new String(resource("/login.html"), UTF_8).replace("<!-- problem -->", problem)
    send(exchange, 401, "text/html", form.getBytes(UTF_8))
  }

  private def file(exchange: HttpExchange, path: String, status: Int): Unit =
    types.get(path).fold(send(exchange, 404, "text/plain", Array.empty))(send(
      exchange,
      status,
      _,
      resource(path)
    ))

  private def send(exchange: HttpExchange, status: Int, mime: String, body: Array[Byte]): Unit = {
    exchange.getResponseHeaders.set("Content-Type", s"$mime; charset=utf-8")
    exchange.sendResponseHeaders(status, if (body.isEmpty) -1L else body.length.toLong)
    if (body.nonEmpty) exchange.getResponseBody.write(body)
  }

  override def close(): Unit = {
    server.stop(0)
    threads.close()
  }
}

private[page] object PageServer {
  private val log = LoggerFactory.getLogger(classOf[PageServer])

  /** How many ports are tried. */
  private val Ports = 16
  private val LargestForm = 4096

  /** The files that are served, and no other. */
  private val types = Map(
    "/index.html" -> "text/html",
    "/page.css" -> "text/css",
    "/page.js" -> "text/javascript",
    "/draw.js" -> "text/javascript",
    "/uPlot.min.css" -> "text/css",
    "/uPlot.iife.min.js" -> "text/javascript"
  )

  /** Nothing is loaded from elsewhere, no site may embed the page, and nothing of it stays in a cache. */
  private val headers = Map(
    "Content-Security-Policy" ->
      ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; " +
        "base-uri 'none'; frame-ancestors 'none'"),
    "X-Content-Type-Options" -> "nosniff",
    "Referrer-Policy" -> "no-referrer",
    "Cache-Control" -> "no-store"
  )

  private def resource(path: String): Array[Byte] =
    Using.resource(classOf[PageServer].getResourceAsStream(path.stripPrefix("/")))(_.readAllBytes())
}

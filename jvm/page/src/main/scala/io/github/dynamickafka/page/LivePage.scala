package io.github.dynamickafka.page

import java.io.IOException
import java.net.{BindException, InetSocketAddress, URLDecoder}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import java.util.Base64
import java.util.concurrent.TimeUnit.MILLISECONDS
import java.util.concurrent.{CompletableFuture, Executor, Executors, ScheduledExecutorService, TimeUnit}
import java.{util => ju}

import scala.util.control.NonFatal
import scala.util.{Try, Using}

import com.sun.net.httpserver.{HttpExchange, HttpServer}
import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads, Json}

/**
 * The page of a driver, with all of its queries that are shown. It is opened with the first one, and closed with the application.
 * Thread-safe. Whatever happens to the page, no query fails because of it.
 */
private[page] final class LivePage(clock: Clock) extends DriverPage with AutoCloseable {
  import LivePage._

  private var closes = Option.empty[SparkContext]
  private var queries = Vector.empty[LiveQuery]
  private var open = Option.empty[Open]

  /** The service of the JVM. */
  def this() = this(Clock.System)

  override def address: Option[String] = synchronized(open.map(_.server.address))

  override def show(
      settings: PageSettings,
      spark: SparkContext,
      name: String,
      part: String,
      title: String
  ): Option[PageQuery] = {
    closeWith(spark)
    show(settings, spark.appName, name, part, title)
  }

  private def closeWith(spark: SparkContext): Unit = synchronized {
    if (!closes.contains(spark)) {
      closes = Some(spark)
      spark.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = LivePage.this.close()
      })
    }
  }

  def show(
      settings: PageSettings,
      application: String,
      name: String,
      part: String,
      title: String
  ): Option[LiveQuery] =
    synchronized {
      try {
        // A notebook starts its queries again, perhaps with other options.
        if (open.exists(_.settings != settings) && !queries.exists(_.isRunning)) close()
        if (open.exists(_.settings != settings)) {
          log.warn(
            s"The query '$name' is not shown on the page of this driver, ${address.getOrElse("")}, because it has other values " +
              "of 'uiHost', 'uiPort' or 'uiToken' than the queries that are shown"
          )
          None
        } else {
          val of = open.getOrElse(start(settings, application))
          open = Some(of)
          val query = new LiveQuery(name, part, title, clock)
          queries = newest(queries :+ query)
          log.info(s"The page ${of.server.address} shows the query '$name'")
          Some(query)
        }
      } catch {
        // The runtime may lack the module jdk.httpserver.
        case e @ (NonFatal(_) | _: LinkageError) =>
          log.warn(s"The page of this driver cannot be shown: $e")
          None
      }
    }

  private def start(settings: PageSettings, application: String): Open = {
    val server = new PageServer(
      settings,
      since => PageJson.write(application, clock.currentTimeMillis(), shown.map(_.view), since)
    )
    val timer = Executors.newSingleThreadScheduledExecutor(new DaemonThreads("dynamic-kafka-page-points"))
    timer.scheduleWithFixedDelay(() => points(), PointMs, PointMs, TimeUnit.MILLISECONDS)
    Open(settings, server, timer)
  }

  private def shown: Seq[LiveQuery] = synchronized(queries)

  private def points(): Unit =
    try shown.foreach(_.point())
    catch { case NonFatal(e) => log.warn("The page of this driver cannot read the gauges of a query", e) }

  override def close(): Unit = synchronized {
    open.foreach { of =>
      of.timer.shutdownNow()
      of.server.close()
    }
    open = None
    queries = Vector.empty
  }
}

private[page] object LivePage {
  private val log = LoggerFactory.getLogger(classOf[LivePage])
  private val PointMs = 2000L

  /** How many queries that have ended are still shown. */
  val MostEnded = 20

  private final case class Open(
      settings: PageSettings,
      server: PageServer,
      timer: ScheduledExecutorService
  )

  /** All that run, and the newest ones of the others. */
  private def newest(queries: Vector[LiveQuery]): Vector[LiveQuery] = {
    val ended = queries.filterNot(_.isRunning)
    val gone = ended.dropRight(MostEnded).toSet
    queries.filterNot(gone)
  }
}

/** What the page's script gets. Pure. */
private[page] object PageJson {

  /** @param sinceMs only points of the charts after this moment are included */
  def write(application: String, nowMs: Long, queries: Seq[LiveQuery.View], sinceMs: Long): Array[Byte] =
    Json.write(Json.fields(
      "application" -> application,
      "now" -> nowMs,
      "queries" -> queries.map(json(_, sinceMs))
    )).getBytes(UTF_8)

  private def json(query: LiveQuery.View, sinceMs: Long): Json.Fields = Json.fields(
    "name" -> query.name,
    "part" -> query.part,
    "title" -> query.title,
    "started" -> query.startedMs,
    "ended" -> query.endedMs,
    "total" -> query.last.total,
    "clusters" -> query.last.clusters.toSeq.sortBy(_._1).map { case (id, values) =>
      Json.fields(
        "id" -> id,
        "state" -> ShownState(values).name,
        "unreachable" -> ShownState(values).isUnreachable,
        "values" -> values
      )
    },
    "points" -> json(query.history.points.filter(_.atMs > sinceMs)),
    "spans" -> query.history.allSpans.map(s =>
      Json.fields(
        "cluster" -> s.cluster,
        "state" -> s.state.name,
        "unreachable" -> s.state.isUnreachable,
        "from" -> s.fromMs,
        "until" -> s.untilMs
      )
    ),
    "events" -> query.history.events.map(e =>
      Json.fields("at" -> e.atMs, "what" -> e.what, "cluster" -> e.cluster, "detail" -> e.detail)
    )
  )

  /** Columns, with null where a cluster was not in the query. */
  private def json(points: Seq[Point]): Json.Fields = {
    def column(id: String)(value: Counts => Long) = points.map(_.clusters.get(id).map(value))
    Json.fields(
      "at" -> points.map(_.atMs),
      "clusters" -> points.flatMap(_.clusters.keys).distinct.map(id =>
        id -> Json.fields("lag" -> column(id)(_.lag), "records" -> column(id)(_.records))
      ).toMap
    )
  }
}

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
    val port = bound.getAddress.getPort
    if (settings.port != 0 && port != settings.port)
      log.warn(s"Port ${settings.port} is in use: the page of this driver is on port $port")
    bound.createContext("/", (exchange: HttpExchange) => answer(exchange))
    bound.setExecutor(threads)
    // The server's own thread is a daemon if the one that starts it is.
    val start = PageThreads.daemons.newThread(() => bound.start())
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

/**
 * Who may see the page. Pure, except for the random value of the session cookie.
 *
 * With a token, a visitor has to know it: in the header `Authorization: Bearer`, or in a form, which sets a cookie. Without one, only
 * requests are answered that are addressed to this machine: a page of another site, whose name resolves to 127.0.0.1, cannot read it.
 */
private[page] final class PageAccess(settings: PageSettings) {
  import PageAccess._

  /** The token is not in the cookie. Another driver on another port of the same host has a cookie of another name. */
  private val session = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)
  }
  private val name = s"dynamic-kafka-${session.take(8)}"

  val cookie: String = s"$name=$session; HttpOnly; SameSite=Strict; Path=/"

  def decide(host: Option[String], authorization: Option[String], cookies: Option[String]): Decision =
    if (settings.token.isEmpty)
      if (host.exists(addressed => PageSettings.isLoopback(withoutPort(addressed)))) Allowed else Refused
    else {
      val bearer =
        authorization.collect { case text if text.startsWith("Bearer ") => text.stripPrefix("Bearer ") }
      val sent = cookies.toSeq.flatMap(_.split(";")).map(_.trim).collect {
        case pair if pair.startsWith(s"$name=") => pair.stripPrefix(s"$name=")
      }
      if (bearer.exists(isToken) || sent.exists(same(_, session))) Allowed else Asked
    }

  def isToken(text: String): Boolean = settings.token.exists(same(_, text))

  /** The time does not depend on where they differ. */
  private def same(a: String, b: String) = MessageDigest.isEqual(a.getBytes(UTF_8), b.getBytes(UTF_8))

  private def withoutPort(host: String) = host.replaceFirst(":\\d+$", "")
}

private[page] object PageAccess {
  sealed trait Decision extends Product with Serializable
  case object Allowed extends Decision

  /** The visitor has to enter the token. */
  case object Asked extends Decision
  case object Refused extends Decision
}

/**
 * A daemon thread for each request. A request that takes too long is interrupted, which closes its connection, and so is the oldest one
 * when there are too many: a visitor who sends or reads slowly, with the token or without, blocks no other visitor.
 */
private[page] final class PageThreads(limitMs: Long = PageThreads.LimitMs) extends Executor
    with AutoCloseable {
  private val running = new ju.LinkedHashSet[Thread]

  override def execute(request: Runnable): Unit = synchronized {
    val thread = PageThreads.daemons.newThread { () =>
      try request.run()
      finally ended(Thread.currentThread)
    }
    running.add(thread)
    if (running.size > PageThreads.Most) interruptOldest()
    thread.start()
    CompletableFuture.delayedExecutor(limitMs, MILLISECONDS).execute(() => thread.interrupt())
  }

  private def interruptOldest(): Unit = {
    val oldest = running.iterator
    oldest.next().interrupt()
    oldest.remove()
  }

  private def ended(thread: Thread): Unit = synchronized { val _ = running.remove(thread) }

  override def close(): Unit = synchronized(running.forEach(_.interrupt()))
}

private[page] object PageThreads {

  /** Far more than a browser opens. */
  val Most = 32

  /** Far longer than a request of a browser. */
  val LimitMs = 30000L

  val daemons = new DaemonThreads("dynamic-kafka-page")
}

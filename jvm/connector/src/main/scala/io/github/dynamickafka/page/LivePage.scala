package io.github.dynamickafka.page

import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{Executors, ScheduledExecutorService, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.{Clock, DaemonThreads, Json}

/**
 * The page of a driver, with all of its queries that are shown. It is opened with the first one, and closed with the application.
 * Thread-safe. Whatever happens to the page, no query fails because of it.
 */
private[page] final class LivePage(clock: Clock) extends AutoCloseable {
  import LivePage._

  private var queries = Vector.empty[PageQuery]
  private var open = Option.empty[Open]

  def address: Option[String] = synchronized(open.map(_.server.address))

  /** None: the query is not shown. The reason is logged. */
  def show(
      settings: PageSettings,
      application: String,
      name: String,
      part: String,
      title: String
  ): Option[PageQuery] =
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
          val query = new PageQuery(name, part, title, clock)
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

  private def shown: Seq[PageQuery] = synchronized(queries)

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

private[dynamickafka] object LivePage {
  private val log = LoggerFactory.getLogger(classOf[LivePage])
  private val PointMs = 2000L

  /** How many queries that have ended are still shown. */
  private[page] val MostEnded = 20

  private final case class Open(
      settings: PageSettings,
      server: PageServer,
      timer: ScheduledExecutorService
  )

  private lazy val ofDriver = new LivePage(Clock.System)
  private var closes = Option.empty[SparkContext]

  /** Where the page of this driver is, if it is open. */
  def address: Option[String] = ofDriver.address

  /** Shows a source or the sink of a query on the page of this driver. None: it is not shown. */
  def show(
      settings: PageSettings,
      spark: SparkContext,
      name: String,
      part: String,
      title: String
  ): Option[PageQuery] = {
    closeWith(spark)
    ofDriver.show(settings, spark.appName, name, part, title)
  }

  private def closeWith(spark: SparkContext): Unit = synchronized {
    if (!closes.contains(spark)) {
      closes = Some(spark)
      spark.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = ofDriver.close()
      })
    }
  }

  /** All that run, and the newest ones of the others. */
  private def newest(queries: Vector[PageQuery]): Vector[PageQuery] = {
    val ended = queries.filterNot(_.isRunning)
    val gone = ended.dropRight(MostEnded).toSet
    queries.filterNot(gone)
  }
}

/** What the page's script gets. Pure. */
private[page] object PageJson {

  /** @param sinceMs only points of the charts after this moment are included */
  def write(application: String, nowMs: Long, queries: Seq[PageQuery.View], sinceMs: Long): Array[Byte] =
    Json.write(Json.fields(
      "application" -> application,
      "now" -> nowMs,
      "queries" -> queries.map(json(_, sinceMs))
    )).getBytes(UTF_8)

  private def json(query: PageQuery.View, sinceMs: Long): Json.Fields = Json.fields(
    "name" -> query.name,
    "part" -> query.part,
    "title" -> query.title,
    "started" -> query.startedMs,
    "ended" -> query.endedMs,
    "total" -> query.last.total,
    "clusters" -> query.last.clusters.toSeq.sortBy(_._1).map { case (id, values) =>
      Json.fields("id" -> id, "state" -> QueryHistory.stateOf(values), "values" -> values)
    },
    "points" -> json(query.history.points.filter(_.atMs > sinceMs)),
    "spans" -> query.history.allSpans.map(s =>
      Json.fields("cluster" -> s.cluster, "state" -> s.state, "from" -> s.fromMs, "until" -> s.untilMs)
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

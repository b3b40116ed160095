package io.github.dynamickafka.page

import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.metrics.source.DynamicKafkaGauges
import org.slf4j.LoggerFactory

/**
 * The gauges of one source or sink in Spark's metrics system, which reports them to the configured sinks, and on the page of the
 * driver. Thread-safe.
 *
 * @param registry the registry of the application; None if it is not available
 * @param page None: the query is not shown
 */
private[dynamickafka] final class GaugeSet(
    prefix: String,
    registry: Option[MetricRegistry],
    page: Option[PageQuery] = None
) {
  private var shown = Map.empty[String, Gauge[java.lang.Long]]
  @volatile private var clusters = Option.empty[Map[String, Set[String]]]

  /** Exactly these gauges exist from now on, of a query and of each of its clusters. Values have changed. */
  def show(ofQuery: Map[String, () => Long], ofClusters: Map[String, Map[String, () => Long]]): Unit = {
    val now = ofClusters.map { case (id, gauges) => id -> gauges.keySet }
    if (!clusters.contains(now)) {
      val names = GaugeNames.clusters(ofClusters.keySet)
      show(
        ofQuery.map { case (gauge, value) => s"total.$gauge" -> value } ++
          ofClusters.flatMap { case (id, gauges) =>
            gauges.map { case (gauge, value) => s"cluster.${names(id)}.$gauge" -> value }
          }
      )
      clusters = Some(now)
    }
    page.foreach(_.show(ofQuery, ofClusters))
  }

  /** Registers and removes gauges so that exactly these exist. Existing gauges are not replaced. */
  def show(wanted: Map[String, () => Long]): Unit = synchronized(registry.foreach(show(_, wanted)))

  private def show(to: MetricRegistry, wanted: Map[String, () => Long]): Unit = {
    val (stay, go) = shown.partition { case (name, _) => wanted.contains(name) }
    go.foreach { case (name, gauge) =>
      // A newer run of the query may have registered its own gauge.
      if (to.getMetrics.get(s"$prefix.$name") eq gauge) to.remove(s"$prefix.$name")
    }
    val fresh = (wanted -- stay.keySet).map { case (name, value) =>
      val gauge: Gauge[java.lang.Long] = () => value()
      to.remove(s"$prefix.$name")
      to.register(s"$prefix.$name", gauge)
      name -> gauge
    }
    shown = stay ++ fresh
  }

  def close(): Unit = {
    page.foreach(_.close())
    show(Map.empty)
  }
}

/** The states of a cluster that a query reads, as values of the gauge `state`. */
private[dynamickafka] object ClusterState {
  val Active = 0L
  val Draining = 1L

  /** The cluster has drained, and its positions are kept. */
  val Retained = 2L

  /** The words for the states, as the metadata, commands and procedures have them. */
  val names: Map[Long, String] = Map(Active -> "active", Draining -> "draining", Retained -> "retained")
}

private[dynamickafka] object GaugeSet {
  private val log = LoggerFactory.getLogger(classOf[GaugeSet])

  /** A failure must not fail the query: it is only logged. */
  def registry(): Option[MetricRegistry] =
    try DynamicKafkaGauges.running()
    catch {
      case e @ (NonFatal(_) | _: LinkageError) =>
        log.warn("The gauges of the query cannot be registered in Spark's metrics system", e)
        None
    }
}

/**
 * A source or the sink of a query, as gauges, logs and the page of the driver name it.
 *
 * @param query the name of the query; without one, what is read or written
 * @param part the number of the source in the query, or `sink`
 * @param gauges the prefix of the gauges. Several queries without a name may read the same, so it has a part of the id too
 */
private[dynamickafka] final case class QueryName(query: String, part: String, gauges: String)

private[dynamickafka] object QueryName {

  /** The name that Spark gives to the thread of a query: with the name of the query, if any, and its id. */
  private val QueryThread = """stream execution thread for (?:(.*) )?\[id = ([0-9a-f-]{36}), runId = .*\]""".r

  /**
   * @param thread the name of the query's thread, because Spark does not pass the name of the query to a source
   * @param streams what is read or written
   */
  def of(thread: String, streams: String, part: String): QueryName = {
    val (query, unique) = thread match {
      case QueryThread(null, id) => (streams, s"${streams}_${id.take(8)}")
      case QueryThread(name, _) => (name, name)
      case _ => (streams, streams)
    }
    QueryName(query, part, s"${GaugeNames.safe(unique)}.${GaugeNames.safe(part)}")
  }
}

/**
 * The names of gauges. Metrics sinks use dots as separators, and the Prometheus sink replaces other characters than
 * letters and digits with an underscore. So names contain only these characters, and different ids get different names.
 */
private[dynamickafka] object GaugeNames {

  /** The name for each cluster id. It does not depend on the other ids, unless two ids would have the same name. */
  def clusters(ids: Set[String]): Map[String, String] =
    ids.groupBy(safe).flatMap { case (name, same) =>
      same.map(id => id -> (if (same.size == 1) name else f"${name}_${id.hashCode}%08x"))
    }

  def safe(text: String): String = {
    val chars = text.map(c => if (c < 128 && c.isLetterOrDigit) c else '_')
    if (chars.isEmpty) "_" else chars
  }
}

package io.github.dynamickafka.gauge

import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.metrics.source.DynamicKafkaGauges
import org.slf4j.LoggerFactory

import io.github.dynamickafka.page.PageQuery

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

  /** Exactly these gauges exist from now on, of a query and of each of its clusters. */
  def show(ofQuery: Map[String, () => Long], ofClusters: Map[String, Map[String, () => Long]]): Unit = {
    val names = GaugeNames.clusters(ofClusters.keySet)
    show(
      ofQuery.map { case (gauge, value) => s"total.$gauge" -> value } ++
        ofClusters.flatMap { case (id, gauges) =>
          gauges.map { case (gauge, value) => s"cluster.${names(id)}.$gauge" -> value }
        }
    )
    page.foreach(_.show(ofQuery, ofClusters))
  }

  /** Values of gauges have changed. */
  def changed(): Unit = page.foreach(_.changed())

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

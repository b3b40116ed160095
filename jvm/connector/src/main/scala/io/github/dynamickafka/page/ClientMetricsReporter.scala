package io.github.dynamickafka.page

import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerConfig
import org.apache.kafka.common.MetricName
import org.apache.kafka.common.metrics.{KafkaMetric, MetricsReporter}

/**
 * Reports metrics of a Kafka client to [[ClientGauges]]. Kafka creates an instance for each client that has this class in
 * `metric.reporters`, on the driver and on executors. Thread-safe.
 */
private[dynamickafka] final class ClientMetricsReporter extends MetricsReporter {
  import ClientMetricsReporter._

  private var key: Option[ClientGauges.Key] = None
  private val reported = mutable.Set.empty[KafkaMetric]

  override def configure(configs: ju.Map[String, _]): Unit = synchronized {
    def text(name: String) = Option(configs.get(name)).map(_.toString)
    key = for (query <- text(Query); cluster <- text(Cluster)) yield ClientGauges.Key(query, cluster)
  }

  override def init(metrics: ju.List[KafkaMetric]): Unit = metrics.forEach(metricChange(_))

  override def metricChange(metric: KafkaMetric): Unit = synchronized {
    for (of <- key; shown <- ClientMetric.of(metric.metricName) if reported.add(metric))
      ClientGauges.add(of, shown, metric)
  }

  override def metricRemoval(metric: KafkaMetric): Unit = synchronized {
    for (of <- key; shown <- ClientMetric.of(metric.metricName) if reported.remove(metric))
      ClientGauges.remove(of, shown, metric)
  }

  override def close(): Unit = synchronized(reported.toSeq.foreach(metricRemoval))
}

private[dynamickafka] object ClientMetricsReporter {
  private val Query = "dynamickafka.metrics.query"
  private val Cluster = "dynamickafka.metrics.cluster"
  private val Reporters = "metric.reporters"

  /** Kafka's, which includes the reporter of JMX from 4.0 on. */
  private lazy val default = ConsumerConfig.configDef.defaultValues.get(Reporters) match {
    case names: ju.List[_] => names.asScala.map(_.toString).toSeq
    case _ => Nil
  }

  /**
   * The properties of a client, with this reporter in addition to others.
   *
   * @param query the prefix of the gauges, see [[GaugeNames]]
   * @param cluster the name of the cluster in gauges
   */
  def in(properties: Map[String, String], query: String, cluster: String): Map[String, String] = {
    val others = properties.get(Reporters).fold(default)(_.split(',').toSeq.map(_.trim).filter(_.nonEmpty))
    properties ++ Map(
      Query -> query,
      Cluster -> cluster,
      Reporters -> (others :+ classOf[ClientMetricsReporter].getName).mkString(",")
    )
  }
}

/**
 * A metric of Kafka's clients that is shown.
 *
 * @param client `consumer`, `producer` or `admin`
 * @param name Kafka's
 */
private[page] final case class ClientMetric(client: String, name: String, combine: ClientMetric.Combine) {
  def gauge: String = s"$client.$name"
}

private[page] object ClientMetric {

  /** What several clients of a cluster in one process have together, given the sum of the clients that are closed. */
  type Combine = (Double, Seq[Double]) => Double

  /** Since the first of the clients was opened. */
  private val Total: Combine = (closed, all) => closed + all.sum
  private val Sum: Combine = (_, all) => all.sum
  private val Max: Combine = (_, all) => all.maxOption.getOrElse(0.0)

  /** Clients that have measured nothing do not count. */
  private val Mean: Combine = (_, all) => {
    val measured = all.filter(_ > 0)
    if (measured.isEmpty) 0.0 else measured.sum / measured.size
  }

  private def ofGroup(client: String, group: String)(metrics: (String, Combine)*) = metrics.map {
    case (name, combine) => (group, name) -> ClientMetric(client, name, combine)
  }

  private val shown: Map[(String, String), ClientMetric] = (
    ofGroup("consumer", "consumer-fetch-manager-metrics")(
      "records-consumed-total" -> Total,
      "bytes-consumed-total" -> Total,
      "fetch-total" -> Total,
      "records-lag-max" -> Max,
      "fetch-latency-avg" -> Mean,
      "fetch-latency-max" -> Max,
      "fetch-throttle-time-max" -> Max
    ) ++ ofGroup("consumer", "consumer-metrics")("connection-count" -> Sum) ++
      ofGroup("producer", "producer-metrics")(
        "record-send-total" -> Total,
        "record-error-total" -> Total,
        "record-retry-total" -> Total,
        "outgoing-byte-total" -> Total,
        "request-latency-avg" -> Mean,
        "request-latency-max" -> Max,
        "produce-throttle-time-max" -> Max,
        "connection-count" -> Sum
      ) ++ ofGroup("admin", "admin-client-metrics")(
        "request-total" -> Total,
        "connection-count" -> Sum
      )
  ).toMap

  val gauges: Seq[String] = shown.values.map(_.gauge).toSeq.sorted

  /** The metric of a client as a whole: metrics of one topic or node have other tags. */
  def of(name: MetricName): Option[ClientMetric] =
    if (name.tags.size == 1) shown.get((name.group, name.name)) else None
}

/** The gauges of the Kafka clients of a query for one cluster, in this process. Any thread reads their values. */
private final class ClientGauges(gauges: GaugeSet) {
  private val open = mutable.Map.empty[ClientMetric, Set[KafkaMetric]]
  private val closed = mutable.Map.empty[ClientMetric, Double]

  def add(shown: ClientMetric, metric: KafkaMetric): Unit =
    change(open(shown) = open.getOrElse(shown, Set.empty) + metric)

  def remove(shown: ClientMetric, metric: KafkaMetric): Unit = change {
    closed(shown) = closed.getOrElse(shown, 0.0) + ClientGauges.number(metric)
    open(shown) = open.getOrElse(shown, Set.empty) - metric
    if (isEmpty) open.clear()
  }

  def isEmpty: Boolean = synchronized(open.values.forall(_.isEmpty))

  private def change(step: => Unit): Unit = synchronized {
    step
    gauges.show(open.keys.map(shown => shown.gauge -> (() => value(shown))).toMap)
  }

  private def value(shown: ClientMetric): Long = {
    val (metrics, before) = synchronized((open.getOrElse(shown, Set.empty), closed.getOrElse(shown, 0.0)))
    val all = metrics.toSeq.map(ClientGauges.number)
    math.round(shown.combine(before, all))
  }
}

/** The gauges of this process. They exist while a client is open. Thread-safe. */
private[page] object ClientGauges {

  /**
   * @param query the prefix of the gauges
   * @param cluster the name of the cluster in gauges
   */
  final case class Key(query: String, cluster: String)

  private val all = mutable.Map.empty[Key, ClientGauges]

  def add(key: Key, shown: ClientMetric, metric: KafkaMetric): Unit = synchronized {
    all.getOrElseUpdate(
      key,
      new ClientGauges(new GaugeSet(s"${key.query}.cluster.${key.cluster}", GaugeSet.registry()))
    ).add(shown, metric)
  }

  def remove(key: Key, shown: ClientMetric, metric: KafkaMetric): Unit = synchronized {
    all.get(key).foreach { gauges =>
      gauges.remove(shown, metric)
      if (gauges.isEmpty) all -= key
    }
  }

  /** 0 for what a client has not measured yet. */
  private def number(metric: KafkaMetric): Double = metric.metricValue match {
    case n: Number if !n.doubleValue.isNaN && !n.doubleValue.isInfinite => n.doubleValue
    case _ => 0.0
  }
}

package io.github.dynamickafka.gauge

import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.ConsumerConfig
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

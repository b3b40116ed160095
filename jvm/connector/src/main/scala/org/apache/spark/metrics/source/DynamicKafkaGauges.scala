package org.apache.spark.metrics.source

import java.util.WeakHashMap

import com.codahale.metrics.MetricRegistry
import org.apache.spark.SparkEnv
import org.apache.spark.metrics.MetricsSystem

/**
 * The registry of the connector's gauges in Spark's metrics system, which reports to all configured sinks, including
 * gauges that are registered or removed later. This is the only class of the connector in a package of Spark, because
 * Spark's metrics system is private to its packages, and the public way, a plugin, requires configuration by the user.
 *
 * There is one source per application instead of one per query, because Spark removes a source by the prefix of its
 * name, which would also remove the sources of other queries with the same prefix.
 */
private[metrics] final class DynamicKafkaGauges extends Source {
  override val sourceName: String = "dynamicKafka"
  override val metricRegistry: MetricRegistry = new MetricRegistry
}

object DynamicKafkaGauges {
  private val sources = new WeakHashMap[MetricsSystem, DynamicKafkaGauges]

  /** The registry of the application in this JVM; None if no application is running. */
  def running(): Option[MetricRegistry] =
    Option(SparkEnv.get).map(env => of(env.metricsSystem).metricRegistry)

  private def of(system: MetricsSystem): DynamicKafkaGauges = synchronized {
    Option(sources.get(system)).getOrElse {
      val made = new DynamicKafkaGauges
      system.registerSource(made)
      sources.put(system, made)
      made
    }
  }
}

package org.apache.spark.metrics.source

import java.util.WeakHashMap

import com.codahale.metrics.MetricRegistry
import org.apache.spark.SparkEnv
import org.apache.spark.metrics.MetricsSystem

/**
 * The registry of the connector's gauges in Spark's metrics system, which hands what is in it to all sinks, also what
 * comes and goes later. The one class of ours in a package of Spark's, and nothing else is in it: Spark keeps its
 * metrics system from other packages, and the public way, a plugin, would have to be configured by the user.
 *
 * There is one source for an application and none for a query: Spark removes a source by the beginning of its name, and
 * with it others whose names begin alike.
 */
private[metrics] final class DynamicKafkaGauges extends Source {
  override val sourceName: String = "dynamicKafka"
  override val metricRegistry: MetricRegistry = new MetricRegistry
}

object DynamicKafkaGauges {
  private val sources = new WeakHashMap[MetricsSystem, DynamicKafkaGauges]

  /** Of the application that runs in this JVM; none where no application does. */
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

package io.github.dynamickafka.source.read

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.connector.metric.CustomTaskMetric

/** How often a task went on after a loss, under the names of Spark's own Kafka reader. Any thread. */
private[source] final class ReaderMetrics {
  private val losses = new AtomicLong

  def lost(): Unit = {
    losses.incrementAndGet()
    ()
  }

  /** For this reader they are one: it is told of lost records by asking for an offset that is not there. */
  def values: Array[CustomTaskMetric] =
    Array("offsetOutOfRange", "dataLoss").map(ReaderMetrics.Metric(_, losses.get))
}

private[source] object ReaderMetrics {
  private final case class Metric(name: String, value: Long) extends CustomTaskMetric
}

package io.github.dynamickafka.source.read

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.sql.connector.metric.CustomTaskMetric

/** Counts the losses after which a task continued, with the metric names of Spark's Kafka reader. Thread-safe. */
private[source] final class ReaderMetrics {
  private val losses = new AtomicLong

  def lost(): Unit = {
    losses.incrementAndGet()
    ()
  }

  /** Both metrics are equal in this reader, because it detects lost records only by an offset that is out of range. */
  def values: Array[CustomTaskMetric] =
    Array("offsetOutOfRange", "dataLoss").map(ReaderMetrics.Metric(_, losses.get))
}

private[source] object ReaderMetrics {
  private final case class Metric(name: String, value: Long) extends CustomTaskMetric
}

package io.github.dynamickafka.source.reader

import org.apache.spark.sql.connector.metric.CustomTaskMetric

/** How often a task went on after a loss, under the names of Spark's own Kafka reader. */
private[source] final class ReaderMetrics {
  private var losses = 0L

  def lost(): Unit = losses += 1

  /** For this reader they are one: it is told of lost records by asking for an offset that is not there. */
  def values: Array[CustomTaskMetric] =
    Array(ReaderMetrics.Metric("offsetOutOfRange", losses), ReaderMetrics.Metric("dataLoss", losses))
}

private[source] object ReaderMetrics {
  private final case class Metric(name: String, value: Long) extends CustomTaskMetric
}

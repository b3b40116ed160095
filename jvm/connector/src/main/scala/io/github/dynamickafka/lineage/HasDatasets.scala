package io.github.dynamickafka.lineage

import org.apache.spark.sql.connector.read.streaming.Offset

/**
 * A node of Spark's plans that says which topics it reads or has written. Lineage tools call it on threads of their own, so
 * it does not wait for anything. Empty as long as it is not known.
 */
private[dynamickafka] trait HasDatasets {
  def datasets: Seq[TopicDataset]
}

/** The same of a stream, whose batches differ. */
private[dynamickafka] trait HasDatasetsOfBatch {

  /** @param end the end offset of the batch */
  def datasets(end: Offset): Seq[TopicDataset]
}

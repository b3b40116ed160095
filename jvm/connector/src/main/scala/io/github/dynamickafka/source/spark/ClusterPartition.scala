package io.github.dynamickafka.source.spark

import java.util.concurrent.TimeoutException

import org.apache.kafka.clients.CommonClientConfigs
import org.apache.kafka.common.KafkaException
import org.apache.kafka.common.errors.InterruptException
import org.apache.spark.SparkThrowable
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, JoinedRow}
import org.apache.spark.sql.connector.metric.CustomTaskMetric
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.unsafe.types.UTF8String

import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.ClusterFailure

/**
 * A partition of Spark's own reader, and what its rows say of where they come from.
 *
 * @param reader makes the reader of `inner`; each partition carries its own, so that nothing depends on what
 *               reads it
 */
private[source] final case class ClusterPartition(
    cluster: String,
    bootstrapServers: String,
    stream: String,
    topics: Set[String],
    inner: InputPartition,
    reader: PartitionReaderFactory,
    locations: Seq[String]
) extends InputPartition {
  override def preferredLocations(): Array[String] = locations.toArray

  // Without the inner partition, whose text holds client properties.
  override def toString: String = s"ClusterPartition($cluster, $stream)"
}

/** The rows of the wrapped reader, with the columns `cluster` and `stream` at their end. */
private[source] final class ClusterReader(partition: ClusterPartition, inner: PartitionReader[InternalRow])
    extends PartitionReader[InternalRow] {

  private val row = new JoinedRow
  private val tags: InternalRow = new GenericInternalRow(
    Array[Any](UTF8String.fromString(partition.cluster), UTF8String.fromString(partition.stream))
  )
  private val naming = ClusterReader.naming(partition)

  override def next(): Boolean =
    try inner.next()
    catch naming

  override def get(): InternalRow = row(inner.get(), tags)
  override def close(): Unit = inner.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = inner.currentMetricsValues()
}

private[source] object ClusterReader {

  /** The wrapped reader's errors tell topic and offsets, but not which of the clusters they are about. */
  def naming(partition: ClusterPartition): PartialFunction[Throwable, Nothing] = {
    // A task that is cancelled.
    case e: InterruptException => throw e
    case e: RuntimeException with SparkThrowable
        if String.valueOf(e.getCondition).startsWith("KAFKA_DATA_LOSS") =>
      throw Errors.dataLoss(partition.cluster, partition.topics.toSeq.sorted.mkString(", "), e.getMessage, e)
    case e @ (_: KafkaException | _: TimeoutException) =>
      throw ClusterFailure(
        partition.cluster,
        Map(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG -> partition.bootstrapServers),
        e
      )
  }
}

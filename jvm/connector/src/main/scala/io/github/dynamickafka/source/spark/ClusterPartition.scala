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
 * A partition of Spark's Kafka reader, with the values of the columns `cluster` and `stream`.
 *
 * @param reader creates the reader of `inner`; each partition contains it, so that it can be read independently of the
 *               stream that planned it
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

  // Without the inner partition, whose text contains client properties.
  override def toString: String = s"ClusterPartition($cluster, $stream)"
}

/** Returns the rows of the wrapped reader with the additional columns `cluster` and `stream`. */
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

  /** Adds the cluster to errors of the wrapped reader, which contain only topic and offsets. */
  def naming(partition: ClusterPartition): PartialFunction[Throwable, Nothing] = {
    // The task was cancelled.
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

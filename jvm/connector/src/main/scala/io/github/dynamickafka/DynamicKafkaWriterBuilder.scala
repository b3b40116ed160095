package io.github.dynamickafka

import org.apache.kafka.clients.producer.Partitioner
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery, Trigger}
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.config.SinkOptionSpecs
import io.github.dynamickafka.sink.StreamWriter

/**
 * Writes a DataFrame to the clusters of a stream: set the metadata service and the stream, then call
 * `start(checkpoint)` for a streaming DataFrame or `save()` for a batch DataFrame. Not thread-safe.
 */
final class DynamicKafkaWriterBuilder private[dynamickafka] (frame: DataFrame)
    extends DynamicKafkaBuilder[DynamicKafkaWriterBuilder](SinkOptionSpecs.table) {
  import SinkOptionSpecs._

  /** Sets the stream to write to. A value in the column `stream` of a row takes precedence. */
  def setStreamId(id: String): DynamicKafkaWriterBuilder = setOption(StreamId.name, id)

  /** @param routing which clusters of the stream a record is written to: `key` (default), `first` or `all` */
  def setClusterRouting(routing: String): DynamicKafkaWriterBuilder = setOption(Routing.name, routing)

  /**
   * @param failover what happens to records of a cluster that does not respond when a batch starts: `none` (default), or `next`:
   *                 the other clusters of the stream get them
   */
  def setWriteFailover(failover: String): DynamicKafkaWriterBuilder = setOption(WriteFailover.name, failover)

  /**
   * @param distribution whether Spark distributes rows to tasks by their column `cluster`, for fewer transactions: `auto` or `off`
   *                     (default)
   */
  def setClusterDistribution(distribution: String): DynamicKafkaWriterBuilder =
    setOption(ClusterDistribution.name, distribution)

  /** @param guarantee `none`, `at-least-once` (default) or `exactly-once` */
  def setDeliveryGuarantee(guarantee: String): DynamicKafkaWriterBuilder =
    setOption(Guarantee.name, guarantee)

  /** Sets the prefix of transactional ids, for ACLs. Used only with `exactly-once`. Default: `dynamic-kafka`. */
  def setTransactionalIdPrefix(prefix: String): DynamicKafkaWriterBuilder =
    setOption(TransactionalIdPrefix.name, prefix)

  /**
   * @param partitioner `default`, `fixed`, `round-robin`, or the name of a class that implements Kafka's `Partitioner`
   */
  def setPartitioner(partitioner: String): DynamicKafkaWriterBuilder =
    setOption(SinkOptionSpecs.Partitioner.name, partitioner)

  /** @param partitioner a class with a constructor without parameters, on the class path of the executors */
  def setPartitioner(partitioner: Class[_ <: Partitioner]): DynamicKafkaWriterBuilder =
    setPartitioner(partitioner.getName)

  /** Starts a query without a name, with Spark's default trigger. */
  def start(checkpoint: String): StreamingQuery = start(checkpoint, "")

  /**
   * Starts a query that writes a streaming DataFrame.
   *
   * @param checkpoint the checkpoint location of the query, a URI of a file system that Hadoop supports
   * @param name the name of the query; empty: it has none
   * @param trigger by default, a batch begins when the last one ends
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException if an option or a column is invalid
   */
  def start(
      checkpoint: String,
      name: String,
      trigger: Trigger = Trigger.ProcessingTime(0L)
  ): StreamingQuery = {
    val writer = writeStream().option(CheckpointLocation.name, checkpoint).trigger(trigger)
    (if (name.isEmpty) writer else writer.queryName(name)).start()
  }

  /**
   * Returns Spark's `DataStreamWriter` with these options, to set an output mode or what else Spark has. Set the
   * option `checkpointLocation` before you call `start()`. With `Trigger.RealTime`, rows are written by a `ForeachWriter`.
   */
  def writeStream(): DataStreamWriter[Row] =
    new StreamWriter(frame).format(DynamicKafka.Format).options(options())

  /**
   * Writes a batch DataFrame, and returns when it is written.
   *
   * @throws io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException if an option or a column is invalid
   */
  def save(): Unit = frame.write.format(DynamicKafka.Format).options(options()).mode("append").save()
}

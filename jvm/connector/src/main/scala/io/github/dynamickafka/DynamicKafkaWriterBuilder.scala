package io.github.dynamickafka

import org.apache.kafka.clients.producer.Partitioner
import org.apache.spark.sql.streaming.{DataStreamWriter, StreamingQuery}
import org.apache.spark.sql.{DataFrame, Row}

import io.github.dynamickafka.config.SinkOptionSpecs

/**
 * Writes a DataFrame to the clusters of a stream: name the metadata service and the stream, then `start(checkpoint)` for a
 * streaming DataFrame, or `save()` for a batch one. Not thread-safe.
 */
final class DynamicKafkaWriterBuilder private[dynamickafka] (frame: DataFrame)
    extends DynamicKafkaBuilder[DynamicKafkaWriterBuilder](SinkOptionSpecs.table) {
  import SinkOptionSpecs._

  /** The stream of rows that do not name one in a column `stream`. */
  def setStreamId(id: String): DynamicKafkaWriterBuilder = setOption(StreamId.name, id)

  /** @param routing `key` (default), `first` or `all`: which of the stream's clusters a record goes to */
  def setClusterRouting(routing: String): DynamicKafkaWriterBuilder = setOption(Routing.name, routing)

  /** @param guarantee `none`, `at-least-once` (default) or `exactly-once` */
  def setDeliveryGuarantee(guarantee: String): DynamicKafkaWriterBuilder =
    setOption(Guarantee.name, guarantee)

  /** How transactional ids start, for ACLs. Only `exactly-once` has them. */
  def setTransactionalIdPrefix(prefix: String): DynamicKafkaWriterBuilder =
    setOption(TransactionalIdPrefix.name, prefix)

  /** @param partitioner `default`, `fixed`, `round-robin`, or the name of a class that implements Kafka's `Partitioner` */
  def setPartitioner(partitioner: String): DynamicKafkaWriterBuilder =
    setOption(SinkOptionSpecs.Partitioner.name, partitioner)

  /** @param partitioner has a constructor without parameters, and is on the class path of the executors */
  def setPartitioner(partitioner: Class[_ <: Partitioner]): DynamicKafkaWriterBuilder =
    setPartitioner(partitioner.getName)

  /**
   * Starts a query that writes a streaming DataFrame, with Spark's own trigger.
   *
   * @param checkpoint the query's checkpoint location, any URI that Hadoop can write
   */
  def start(checkpoint: String): StreamingQuery =
    writeStream().option(CheckpointLocation.name, checkpoint).start()

  /**
   * Spark's own writer with these options, for a trigger, an output mode or a name of the query. It needs the option
   * `checkpointLocation` before its `start()`.
   */
  def writeStream(): DataStreamWriter[Row] =
    frame.writeStream.format(DynamicKafka.Format).options(options())

  /** Writes a batch DataFrame, and returns when it is written. */
  def save(): Unit = frame.write.format(DynamicKafka.Format).options(options()).mode("append").save()
}

package io.github.dynamickafka.kafka

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.github.dynamickafka.kafka.TaskSender.Record

/** Sends the records of one task to the clusters, with a delivery guarantee. Used by one thread. */
private[dynamickafka] trait TaskSender {

  /** May block until the producer has free buffer space. Throws the error of an earlier record of the task. */
  def send(cluster: String, record: Record): Unit

  /** The number of partitions of the topic, as known for up to `metadata.max.age.ms`. May send a request to the cluster. */
  def partitions(cluster: String, topic: String): Int

  /** The number of partitions of the topic now, with a request to the cluster. */
  def partitionsNow(cluster: String, topic: String): Int

  def commit(): WriterCommitMessage

  /** Called after [[commit]] has failed or instead of it. Does not throw. */
  def abort(): Unit

  def close(): Unit
}

private[dynamickafka] object TaskSender {
  type Record = ProducerRecord[Array[Byte], Array[Byte]]
}

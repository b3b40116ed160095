package io.github.dynamickafka.sink.producer

import org.apache.spark.sql.connector.write.WriterCommitMessage

import io.github.dynamickafka.sink.route.RecordRouting.Record

/** The ways of one task to its clusters: what a delivery guarantee makes different. Of one thread. */
private[sink] trait TaskSender {

  /** May wait for room in the producer's buffer; throws what an earlier record of the task failed with. */
  def send(cluster: String, record: Record): Unit

  /** Partitions that the topic has; asks the cluster where that is not known. */
  def partitions(cluster: String, topic: String): Int

  def commit(): WriterCommitMessage

  /** After [[commit]] has failed, or in the place of it. Does not throw. */
  def abort(): Unit

  def close(): Unit
}

package io.github.dynamickafka.sink.transaction

import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.TopicPartition

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.kafka.producer.TaskSender.Record

/**
 * A producer whose open transaction can be committed by another producer, in another process. No release of Kafka has a
 * public API for this yet (KIP-939, whose `prepareTransaction` was removed again: KAFKA-19414). It would be used here.
 *
 * A producer can be reused for one transaction after the other. After an exception its state is unknown, and only
 * [[kill]] may be called.
 */
private[sink] trait ResumableProducer {

  /** Starts a transaction. Aborts an open transaction with this id, even if another producer opened it. */
  def begin(transactionalId: String): Unit
  def send(record: Record, callback: Callback): Unit
  def partitions(topic: String): Int

  /** Returns when all batches are acknowledged or have failed, except for parts of a batch that is split meanwhile. */
  def flush(): Unit

  /** Detaches the producer from the transaction, which stays open. Call when the callbacks of all records were called. */
  def prepare(): ResumableProducer.Handle
  def abort(): Unit

  /** Commits a transaction that any producer has prepared. Repeating it has no effect. */
  def commit(transactionalId: String, handle: ResumableProducer.Handle): Unit

  /** Aborts a transaction that any producer has prepared. Fails if it is committed. */
  def abort(transactionalId: String, handle: ResumableProducer.Handle): Unit

  /**
   * Commits in these partitions what an earlier transaction of this id, which is committed elsewhere, has left open there:
   * with a transaction that has these partitions and no records. Fails if the id has another producer id by now.
   */
  def complete(transactionalId: String, producerId: Long, partitions: Set[TopicPartition]): Unit =
    throw new UnsupportedOperationException(s"$transactionalId, $producerId, ${partitions.mkString(", ")}")

  /** Closes the producer. An open transaction stays open. */
  def kill(): Unit
}

private[sink] object ResumableProducer {

  /** Identifies a transaction, together with its transactional id. */
  final case class Handle(producerId: Long, epoch: Short)

  /** The reason why transactions cannot be resumed with the Kafka client on the class path; None: they can. */
  def problem: Option[String] = ReflectiveProducer.problem

  def create(settings: ProducerSettings): ResumableProducer = ReflectiveProducer.create(settings)
}

package io.github.dynamickafka.sink.transaction

import org.apache.kafka.clients.producer.Callback

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.sink.route.RecordRouting.Record

/**
 * A producer whose open transaction can be ended by another one, in another process. Kafka has no public way to that in
 * any release yet (KIP-939, whose `prepareTransaction` was taken back: KAFKA-19414); this is the place for it.
 *
 * One can be used again and again, for one transaction after the other. After an exception nobody knows what state it is
 * in: only [[kill]] is left then.
 */
private[sink] trait ResumableProducer {

  /** Starts a transaction. One of this id that is still open, whoever has left it, is aborted. */
  def begin(transactionalId: String): Unit
  def send(record: Record, callback: Callback): Unit
  def partitions(topic: String): Int

  /** Returns when everything is acknowledged, or has failed, which callbacks tell. */
  def flush(): Unit

  /** Lets go of the transaction, which stays open. After [[flush]]. */
  def prepare(): ResumableProducer.Handle
  def abort(): Unit

  /** Commits a transaction that somebody has prepared; to do so again does no harm. */
  def commit(transactionalId: String, handle: ResumableProducer.Handle): Unit

  /** Closes it. An open transaction stays open. */
  def kill(): Unit
}

private[sink] object ResumableProducer {

  /** What a transaction is known by, beside its transactional id. */
  final case class Handle(producerId: Long, epoch: Short)

  /** Why transactions cannot be resumed with the Kafka client that is there; None: they can. */
  def problem: Option[String] = ReflectiveProducer.problem

  def create(settings: ProducerSettings): ResumableProducer = ReflectiveProducer.create(settings)
}

package io.github.dynamickafka.sink.commit

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.kafka.{ProducerSettings, TransactionTimeLimits}
import io.github.dynamickafka.sink.commit.ResumableProducer.Handle
import io.github.dynamickafka.testkit.KafkaCluster

/** Transactions with one record each, their id, on a cluster with the id `blue`. */
private[sink] final class PreparedScene(cluster: KafkaCluster, topic: String) {
  private val properties =
    CommitScene.properties("blue", Map("bootstrap.servers" -> cluster.bootstrapServers))
  val settings: ProducerSettings =
    TransactionTimeLimits.ofTasks(new ProducerSettings("blue", properties.client))
      .and("transaction.timeout.ms" -> "900000")
  val clusters: Clusters = newClusters(60000L)
  val pool = new TransactionPool(ResumableProducer.create(_), 60000L, Clock.System)
  val committer = new Committer(clusters, pool, Clock.System)

  /** With another time limit. */
  def within[A](limitMs: Long)(body: Committer => A): A = {
    val limited = newClusters(limitMs)
    try body(new Committer(limited, pool))
    finally limited.close()
  }

  private def newClusters(limitMs: Long) = {
    val made = new Clusters((_, _) => properties, 60000L, limitMs)
    made.set(Map("blue" -> properties))
    made
  }

  def prepare(
      task: Int,
      by: ProducerSettings = settings,
      id: String = s"dynamic-kafka-${UUID.randomUUID()}"
  ): Prepared = {
    val producer = pool.acquire(by)
    producer.begin(id)
    producer.send(new Record(topic, id.getBytes(UTF_8)), (_, e) => assert(e == null))
    producer.flush()
    val handle = producer.prepare()
    pool.release(by, producer)
    Prepared("blue", id, handle.producerId, handle.epoch, task, 1L, Seq(topic))
  }

  def states(of: Prepared*): Seq[String] =
    committer.inspect(of, _ => None).outcomes.map(_._2.productPrefix)

  /** Whether all of them are open, as the driver asks before it decides. */
  def open(of: Seq[Prepared]): Boolean =
    committer.awaitStates(of, _ => None).outcomes.forall(_._2 == Outcome.Open)

  def commit(of: Prepared*): Seq[String] =
    committer.commit(of, _ => None).map(_._2.productPrefix)

  def abort(of: Prepared*): Seq[String] =
    committer.abort(of, _ => None).map(_._2.productPrefix)
}

private[sink] object PreparedScene {

  /** Aborts a prepared transaction, as Kafka does after its timeout. */
  def expire(cluster: KafkaCluster, transaction: Prepared): Unit = {
    val settings =
      new ProducerSettings(transaction.cluster, Map("bootstrap.servers" -> cluster.bootstrapServers))
    val producer = TransactionPool.shared.acquire(settings)
    producer.abort(transaction.transactionalId, Handle(transaction.producerId, transaction.epoch))
    producer.kill()
  }
}

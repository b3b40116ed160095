package io.github.dynamickafka.sink.commit

import java.util.OptionalLong

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}
import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{
  InvalidProducerEpochException,
  SaslAuthenticationException,
  TimeoutException,
  TopicAuthorizationException
}

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.ClusterProperties
import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.kafka.TaskSender.Record

/**
 * Kafka clusters without brokers, as far as commits see them: the state of each transaction, and the failures that a
 * test asks for. A request that fails takes `patienceMs` of the clock. Thread-safe, because commits are parallel.
 */
private[sink] final class ScriptedKafka(clock: ManualClock, patienceMs: Long) {
  import ScriptedKafka.kafkaId

  private var recreated = Map.empty[(String, String), Int]
  private var states = Map.empty[(String, String), TransactionDescription]
  private var failures = Map.empty[String, Int].withDefaultValue(0)
  private var down = Set.empty[String]
  private var refusing = Set.empty[String]
  private var rotations = Map.empty[String, Int].withDefaultValue(0)
  private var unreadable = Set.empty[String]
  private var replaced = Map.empty[String, Option[String]]
  private var asked = Vector.empty[String]
  private var inSync = Map.empty[(String, TopicPartition), Int]
  private var hidden = Map.empty[(String, TopicPartition), Set[Long]]
  private var created, killed = 0

  /** What was requested, in order: for example `blue commit id`. */
  def requests: Seq[String] = synchronized(asked)

  /** The number of producers that were created, and of those that were closed after an error. */
  def producers: (Int, Int) = synchronized(created -> killed)

  def put(state: TransactionState, transactions: Prepared*): Unit = synchronized {
    transactions.foreach { t =>
      states += (t.cluster, t.transactionalId) -> new TransactionDescription(
        1,
        state,
        t.producerId,
        t.epoch.toInt,
        60000L,
        OptionalLong.empty,
        inSync.keySet.collect {
          case (cluster, partition) if cluster == t.cluster && t.topics.contains(partition.topic) => partition
        }.asJava
      )
    }
  }

  /** Kafka no longer knows it. */
  def forget(transaction: Prepared): Unit = synchronized {
    states -= (transaction.cluster -> transaction.transactionalId)
  }

  /** The next requests to commit or to abort it fail, without an effect. */
  def failEnds(transaction: Prepared, times: Int): Unit = synchronized {
    failures += transaction.transactionalId -> times
  }

  /** The number of replicas in sync of a partition, 0: it has no leader. Without this, its topic does not exist. */
  def setInSync(cluster: String, partition: TopicPartition, replicas: Int): Unit =
    synchronized(inSync += (cluster -> partition) -> replicas)

  /** Kafka has completed this transaction without a marker in the partition. */
  def hide(transaction: Prepared, partition: TopicPartition): Unit = synchronized {
    hidden += (transaction.cluster -> partition) -> Set(transaction.producerId)
  }

  def isHidden(cluster: String, partition: TopicPartition): Boolean =
    synchronized(hidden.get(cluster -> partition).exists(_.nonEmpty))

  /** Deletes a topic and creates it again. */
  def recreate(cluster: String, topic: String): Unit =
    synchronized(recreated += (cluster -> topic) -> (recreated.getOrElse(cluster -> topic, 0) + 1))

  /** The topics that do not exist, with their clusters; all others do. */
  @volatile var missing: Set[(String, String)] = Set.empty

  /** The clusters that no longer respond; all others do. */
  def setDown(clusters: String*): Unit = synchronized { down = clusters.toSet }

  /** The clusters that refuse the credentials, at once. */
  def setRefusing(clusters: String*): Unit = synchronized { refusing = clusters.toSet }

  /** From now on, a cluster refuses the clients that it has already. */
  def rotateCredentials(cluster: String): Unit =
    synchronized(rotations += cluster -> (rotations(cluster) + 1))

  /** The clusters on which the user must not read topics. */
  def setUnreadable(clusters: String*): Unit = synchronized { unreadable = clusters.toSet }

  /** Kafka's id of a cluster from now on; None: it has none. */
  def setKafkaId(cluster: String, id: Option[String]): Unit = synchronized(replaced += cluster -> id)

  /** The ids of transactions in this state, on all clusters. */
  def in(state: TransactionState): Set[String] = synchronized {
    states.collect { case ((_, id), told) if told.state == state => id }.toSet
  }

  val pool: TransactionPool = new TransactionPool(new Committing(_), 60000L, clock)

  def connect(properties: ClusterProperties, timeoutMs: Long): TransactionAdmin =
    new Asking(properties.clusterId, timeoutMs)

  /** @param credentials what a client has read when it was opened */
  private def request(cluster: String, what: String, credentials: Int): Unit = {
    note(s"$cluster $what")
    if (refusing(cluster) || credentials < rotations(cluster))
      throw new SaslAuthenticationException(s"'$cluster' refuses")
    if (down(cluster)) refuse(s"'$cluster' does not respond")
  }

  private def failIfAsked(id: String): Unit = if (failures(id) > 0) {
    failures += id -> (failures(id) - 1)
    refuse("a request that fails")
  }

  private def note(what: String): Unit = synchronized { asked = asked :+ what }

  private def refuse(why: String): Nothing = {
    clock.advanceMs(patienceMs)
    throw new TimeoutException(why)
  }

  private def end(cluster: String, id: String, state: TransactionState): Unit =
    states.get((cluster, id)).foreach { t =>
      states += (cluster, id) -> new TransactionDescription(
        t.coordinatorId,
        state,
        t.producerId,
        t.producerEpoch,
        t.transactionTimeoutMs,
        t.transactionStartTimeMs,
        t.topicPartitions
      )
    }

  private final class Committing(settings: ProducerSettings) extends ResumableProducer {
    private val credentials = ScriptedKafka.this.synchronized {
      created += 1
      rotations(settings.cluster)
    }

    override def commit(id: String, handle: ResumableProducer.Handle): Unit =
      ended("commit", id, handle, TransactionState.COMPLETE_COMMIT)

    override def abort(id: String, handle: ResumableProducer.Handle): Unit =
      ended("abort", id, handle, TransactionState.COMPLETE_ABORT)

    private def ended(how: String, id: String, handle: ResumableProducer.Handle, as: TransactionState): Unit =
      ScriptedKafka.this.synchronized {
        request(settings.cluster, s"$how $id", credentials)
        failIfAsked(id)
        val told = states.get((settings.cluster, id))
          .filter(t => t.producerId == handle.producerId && t.producerEpoch == handle.epoch.toInt)
        told.map(_.state) match {
          case Some(TransactionState.ONGOING) => end(settings.cluster, id, as)
          case Some(`as`) => ()
          case other => throw new InvalidProducerEpochException(s"$other")
        }
      }

    override def complete(id: String, producerId: Long, partitions: Set[TopicPartition]): Unit =
      ScriptedKafka.this.synchronized {
        request(settings.cluster, s"complete $id", credentials)
        failIfAsked(id)
        partitions.foreach(p =>
          hidden += (settings.cluster -> p) -> (hidden((settings.cluster, p)) - producerId)
        )
      }

    override def kill(): Unit = ScriptedKafka.this.synchronized(killed += 1)

    override def begin(transactionalId: String): Unit = unused
    override def send(record: Record, callback: Callback): Unit = unused
    override def partitions(topic: String): Int = unused
    override def flush(): Unit = unused
    override def prepare(): ResumableProducer.Handle = unused
    override def abort(): Unit = unused
    private def unused: Nothing = throw new UnsupportedOperationException("the driver only commits")
  }

  private final class Asking(cluster: String, timeoutMs: Long) extends TransactionAdmin {
    note(s"$cluster connect $timeoutMs")
    private val credentials = ScriptedKafka.this.synchronized(rotations(cluster))

    override def maxTimeoutMs(): Option[Long] = ScriptedKafka.this.synchronized {
      request(cluster, "settings", credentials)
      Some(timeoutMs)
    }

    override def openIn(partitions: Set[TopicPartition]): Map[TopicPartition, Set[Long]] =
      ScriptedKafka.this.synchronized {
        request(cluster, partitions.toSeq.map(_.toString).sorted.mkString("producers ", " ", ""), credentials)
        if (unreadable(cluster)) throw new TopicAuthorizationException(s"READ on '$cluster'")
        partitions.map(p => p -> hidden.getOrElse((cluster, p), Set.empty)).toMap
      }

    override def describe(ids: Seq[String], topics: Set[String]): Seen = ScriptedKafka.this.synchronized {
      request(cluster, ids.mkString("describe ", " ", ""), credentials)
      // Whoever waits for a leader must come to an end.
      if (inSync.exists(_._2 == 0)) clock.advanceMs(patienceMs)
      Seen(
        replaced.getOrElse(cluster, Some(kafkaId(cluster))),
        ids.flatMap(id => states.get((cluster, id)).map(id -> _)).toMap,
        inSync.collect { case ((`cluster`, partition), n) if topics(partition.topic) => partition -> n },
        topics.filterNot(t => missing(cluster -> t)).map(t =>
          t -> s"$t-${recreated.getOrElse(cluster -> t, 0)}"
        ).toMap
      )
    }

    override def open(matching: String => Boolean): Seq[String] = ScriptedKafka.this.synchronized {
      request(cluster, "list", credentials)
      states.collect {
        case ((`cluster`, id), told) if told.state == TransactionState.ONGOING && matching(id) => id
      }.toSeq.sorted
    }

    override def fence(ids: Seq[String]): Unit = ScriptedKafka.this.synchronized {
      if (ids.nonEmpty) request(cluster, ids.mkString("fence ", " ", ""), credentials)
      ids.foreach(end(cluster, _, TransactionState.COMPLETE_ABORT))
    }

    override def close(): Unit = note(s"$cluster close")
  }
}

private[sink] object ScriptedKafka {

  /** Kafka's id of a cluster, unless a test replaces it. */
  def kafkaId(cluster: String): String = s"kafka-of-$cluster"
}

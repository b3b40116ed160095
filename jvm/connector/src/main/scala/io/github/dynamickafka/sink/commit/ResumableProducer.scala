package io.github.dynamickafka.sink.commit

import java.lang.reflect.{Field, Method}
import java.time.Duration
import java.{util => ju}

import scala.util.control.NonFatal

import org.apache.kafka.clients.producer.{Callback, KafkaProducer, ProducerConfig}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException
import org.apache.kafka.common.requests.FindCoordinatorRequest.CoordinatorType
import org.apache.kafka.common.utils.{AppInfoParser, ProducerIdAndEpoch}
import org.slf4j.LoggerFactory

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.kafka.{ClusterFailure, IdlePool, Opening, ProducerSettings, SharedProducers}
import io.github.dynamickafka.sink.commit.ResumableProducer.Handle

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

  private[commit] val NoId = "dynamic-kafka"

  /** The tested versions: in another version, the same fields may have a different meaning. */
  private val KnownVersion = """(?:3\.9|4\.[0-3])\.\d+.*""".r

  private lazy val insides: Either[String, ReflectiveProducer.Insides] =
    try Right(new ReflectiveProducer.Insides)
    catch { case NonFatal(e) => Left(e.toString) }

  /** The reason why transactions cannot be resumed with the Kafka client on the class path; None: they can. */
  def problem: Option[String] = problem(AppInfoParser.getVersion)

  private def problem(version: String): Option[String] = version match {
    case KnownVersion() => insides.left.toOption.map(why =>
        s"the internals of Kafka client $version are not as expected: $why"
      )
    case other =>
      Some(
        s"the Kafka client on the class path has version $other, but this version of the connector requires 3.9, or 4.0 to 4.3"
      )
  }

  /** @param version of the client on the class path, which on an executor may be another one than on the driver */
  def create(settings: ProducerSettings, version: String = AppInfoParser.getVersion): ResumableProducer = {
    for (why <- problem(version)) throw new IllegalStateException(why)
    val transactional = settings.and(ProducerConfig.TRANSACTIONAL_ID_CONFIG -> NoId)
    new ReflectiveProducer(
      new KafkaProducer(transactional.forProducer),
      insides.fold(why => throw new IllegalStateException(why), identity)
    )
  }
}

/**
 * Accesses internals of Kafka's producer by reflection, like Flink's FlinkKafkaInternalProducer, because there is no
 * public API: sets another transactional id in the transaction manager, detaches it from a transaction that stays open,
 * and attaches it to a transaction that another producer opened. Only this file depends on internals of Kafka.
 */
private[commit] final class ReflectiveProducer(
    producer: KafkaProducer[Array[Byte], Array[Byte]],
    insides: ReflectiveProducer.Insides
) extends ResumableProducer {

  import insides._

  private val manager = managerOf.get(producer)

  // Keeps the client to the protocol of transactions before KIP-890, which all brokers support, by pretending that it
  // knows the features of all brokers to come. With `transaction.version=2` an end increments the epoch, which a commit
  // of Kafka 3.9 does not do, and then an abort of what is committed succeeds and hides the commit (observed with 4.3.1).
  features.foreach(_.set(manager, Long.MaxValue))

  override def begin(transactionalId: String): Unit = {
    set(transactionalId, None)
    findCoordinator(transactionalId)
    producer.initTransactions()
    producer.beginTransaction()
  }

  override def send(record: Record, callback: Callback): Unit = {
    val _ = producer.send(record, callback)
  }

  override def partitions(topic: String): Int = producer.partitionsFor(topic).size

  override def flush(): Unit = producer.flush()

  override def prepare(): Handle = {
    val open = opened
    set(ResumableProducer.NoId, None)
    open
  }

  override def abort(): Unit = producer.abortTransaction()

  override def commit(transactionalId: String, handle: Handle): Unit = {
    resume(transactionalId, handle)
    producer.commitTransaction()
  }

  override def abort(transactionalId: String, handle: Handle): Unit = {
    resume(transactionalId, handle)
    producer.abortTransaction()
  }

  private def resume(transactionalId: String, handle: Handle): Unit = {
    set(transactionalId, Some(handle))
    findCoordinator(transactionalId)
  }

  override def complete(transactionalId: String, producerId: Long, partitions: Set[TopicPartition]): Unit = {
    begin(transactionalId)
    val now = opened.producerId
    if (now != producerId) {
      producer.abortTransaction()
      throw new IllegalStateException(
        s"the producer id of transaction '$transactionalId' is $now instead of $producerId"
      )
    }
    // As a record for it would do.
    partitions.foreach(addition.invoke(manager, _))
    producer.commitTransaction()
  }

  // With a timeout of zero, because a regular close aborts an open transaction.
  override def kill(): Unit = producer.close(Duration.ZERO)

  private def opened: Handle = manager.synchronized {
    if (state.get(manager) != inTransaction)
      throw new IllegalStateException(s"no transaction is open: the state is ${state.get(manager)}")
    val open = idAndEpoch.get(manager).asInstanceOf[ProducerIdAndEpoch]
    Handle(open.producerId, open.epoch)
  }

  /** Sets the state as in this transaction, with all records sent, or as before the first use. An open transaction stays open. */
  private def set(transactionalId: String, open: Option[Handle]): Unit = manager.synchronized {
    id.set(manager, transactionalId)
    // Another id may have another coordinator.
    coordinator.set(manager, null)
    lastError.set(manager, null)
    pending.set(manager, null)
    // Otherwise the client would begin the next transaction of this id when it ends this one.
    bump.set(manager, false)
    val _ = reset.invoke(bookkeeping.get(manager))
    partitionSets.foreach(_.get(manager).asInstanceOf[ju.Set[_]].clear())
    idAndEpoch.set(
      manager,
      open.fold(ProducerIdAndEpoch.NONE)(handle => new ProducerIdAndEpoch(handle.producerId, handle.epoch))
    )
    // Otherwise the transaction counts as empty, and no commit is sent.
    started.set(manager, open.isDefined)
    state.set(manager, if (open.isDefined) inTransaction else uninitialized)
  }

  /**
   * Looks up the coordinator before the first request that requires it. Otherwise this request would be retried after
   * `retry.backoff.ms`, which adds 100 ms to each transaction. The same applies with the coordinator of another id.
   */
  private def findCoordinator(transactionalId: String): Unit = manager.synchronized {
    val _ = lookup.invoke(manager, CoordinatorType.TRANSACTION, transactionalId)
  }
}

private[commit] object ReflectiveProducer {

  final class Insides {
    private val managerClass =
      Class.forName("org.apache.kafka.clients.producer.internals.TransactionManager")
    private val states = Class.forName(s"${managerClass.getName}$$State").getEnumConstants

    val managerOf: Field = open(classOf[KafkaProducer[_, _]], "transactionManager")
    val id: Field = open("transactionalId")
    val idAndEpoch: Field = open("producerIdAndEpoch")
    val started: Field = open("transactionStarted")
    val state: Field = open("currentState")
    val lastError: Field = open("lastError")
    val pending: Field = open("pendingTransition")
    val coordinator: Field = open("transactionCoordinator")
    val lookup: Method = method(managerClass, "lookupCoordinator", classOf[CoordinatorType], classOf[String])
    // Kafka 4.0 renamed it.
    val bump: Field = open(
      if (declares("epochBumpRequired")) "epochBumpRequired" else "clientSideEpochBumpRequired"
    )
    // Only in Kafka 4.0 and later.
    val features: Option[Field] =
      Option.when(declares("isTransactionV2Enabled"))(open("latestFinalizedFeaturesEpoch"))
    val addition: Method = method(managerClass, "maybeAddPartition", classOf[TopicPartition])
    val bookkeeping: Field = open("txnPartitionMap")
    val reset: Method = method(bookkeeping.getType, "reset")
    val partitionSets: Seq[Field] =
      Seq("newPartitionsInTransaction", "pendingPartitionsInTransaction", "partitionsInTransaction")
        .map(open(_))
    val uninitialized: Any = stateOf("UNINITIALIZED")
    val inTransaction: Any = stateOf("IN_TRANSACTION")

    private def stateOf(name: String): Any =
      states.find(_.toString == name).getOrElse(throw new NoSuchFieldException(s"State.$name"))

    private def declares(name: String): Boolean = managerClass.getDeclaredFields.exists(_.getName == name)

    private def method(owner: Class[_], name: String, parameters: Class[_]*): Method = {
      val method = owner.getDeclaredMethod(name, parameters: _*)
      method.setAccessible(true)
      method
    }

    private def open(name: String): Field = open(managerClass, name)

    private def open(owner: Class[_], name: String): Field = {
      val field = owner.getDeclaredField(name)
      field.setAccessible(true)
      field
    }
  }
}

/**
 * The idle transactional producers of all queries of this JVM. Opening a producer takes fifty times as long as starting
 * a transaction with an open one. Thread-safe.
 */
private[sink] final class TransactionPool(
    create: ProducerSettings => ResumableProducer,
    idleMs: Long,
    clock: Clock
) {
  import TransactionPool._

  private val idle =
    new IdlePool[Idle](Int.MaxValue, idleMs, clock, old => close(old.settings, old.producer))

  /**
   * A producer that has done this, for the caller alone, until it is given back with [[release]] or [[discard]]. If the credentials of
   * an idle one are refused, a new one does it.
   */
  def acquire(settings: ProducerSettings, first: ResumableProducer => Unit = _ => ()): ResumableProducer = {
    val found = idle.take(_.reverseIterator.find(_.settings == settings)).map(_.producer)
    val producer = found.getOrElse(opened(settings))
    try {
      first(producer)
      producer
    } catch {
      case NonFatal(e) =>
        discard(settings, producer, e)
        if (found.isDefined && ClusterFailure.isRefused(e)) acquire(settings, first) else throw e
    }
  }

  /** Does this with one producer, which is closed if it fails. */
  def use[A](settings: ProducerSettings)(body: ResumableProducer => A): A = {
    var result = Option.empty[A]
    release(settings, acquire(settings, producer => result = Some(body(producer))))
    result.get
  }

  /** Aborts the open transaction of an id, by beginning another one, and returns what its next user must follow. */
  def fence(settings: ProducerSettings, transactionalId: String): Handle = use(settings) { producer =>
    producer.begin(transactionalId)
    producer.prepare()
  }

  def release(settings: ProducerSettings, producer: ResumableProducer): Unit =
    idle.put(new Idle(settings, producer))

  /**
   * Closes a producer after an error. If its credentials may be outdated, all idle ones are closed too: the next one reads the
   * credentials behind references again.
   */
  def discard(settings: ProducerSettings, producer: ResumableProducer, error: Throwable): Unit = {
    close(settings, producer)
    if (ClusterFailure.isRefused(error) || error.isInstanceOf[TimeoutException])
      idle.takeAll(_.settings == settings).foreach(old => close(old.settings, old.producer))
  }

  private def close(settings: ProducerSettings, producer: ResumableProducer): Unit =
    try producer.kill()
    catch {
      case NonFatal(e) => log.warn(s"Failed to close a producer of Kafka cluster '${settings.cluster}'", e)
    }

  /** Opens a producer on another thread, because this may hang without end: Kafka's client has no limit for a log-in. */
  private def opened(settings: ProducerSettings): ResumableProducer = {
    val opening = Opening(create(settings))(close(settings, _))
    try opening.await(settings.maxBlockMs)
    catch {
      case e: Throwable =>
        opening.close()
        throw e
    }
  }

  /** Uses a new producer, which knows nothing of the cluster yet, and closes it. */
  def withNew[A](settings: ProducerSettings)(use: ResumableProducer => A): A = {
    val producer = opened(settings)
    try use(producer)
    finally close(settings, producer)
  }

  def size: Int = idle.size

  def sweep(): Unit = idle.sweep()
}

private[sink] object TransactionPool {
  private final class Idle(val settings: ProducerSettings, val producer: ResumableProducer)

  private val log = LoggerFactory.getLogger(classOf[TransactionPool])

  lazy val shared: TransactionPool =
    new TransactionPool(ResumableProducer.create(_), SharedProducers.idleMs, Clock.System)
}

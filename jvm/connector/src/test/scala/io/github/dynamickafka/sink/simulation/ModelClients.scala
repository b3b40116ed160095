package io.github.dynamickafka.sink.simulation

import java.nio.charset.StandardCharsets.UTF_8
import java.util.{Collections, OptionalLong}

import org.apache.kafka.clients.admin.TransactionState._
import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}
import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.{
  InvalidProducerEpochException,
  InvalidTimestampException,
  ProducerFencedException
}

import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.sink.commit.{Prepared, ResumableProducer, Seen, TransactionAdmin}

/** The admin client of a driver for a cluster. */
private[simulation] final class ModelAdmin(world: World, driver: Driver, cluster: String)
    extends TransactionAdmin {

  override def maxTimeoutMs(): Option[Long] = None

  /** All partitions have leaders: no marker is missing. */
  override def openIn(partitions: Set[TopicPartition]): Map[TopicPartition, Set[Long]] =
    partitions.map(_ -> Set.empty[Long]).toMap

  override def describe(ids: Seq[String], topics: Set[String]): Seen =
    world.kafka(cluster, ids.mkString("describe ", " ", "")) { k =>
      val blind = driver.assumed.filter(t => ids.contains(t.transactionalId))
      val told =
        if (blind.nonEmpty)
          blind.map(t => t.transactionalId -> describe(driver.assumedState, t.producerId, t.epoch.toInt))
        else
          ids.flatMap(id =>
            k.transactions.get(id).map(t => id -> describe(t.state, t.producerId, t.epoch))
          )
      ids.flatMap(k.transactions.get).foreach(world.looked(k, _, driver))
      Seen(
        Some(k.id).filter(_ => world.defect.comparesKafkaIds),
        told.toMap,
        topicIds = if (world.defect.ignoresTopicIds) Map.empty else topics.map(_ -> k.topicId).toMap
      )
    }

  private def describe(state: TransactionState, producer: Long, epoch: Int) =
    new TransactionDescription(1, state, producer, epoch, 0L, OptionalLong.empty, Collections.emptySet)

  override def open(matching: String => Boolean): Seq[String] = world.kafka(cluster, "list") { k =>
    k.transactions.collect {
      case (id, t) if t.state == ONGOING && (matching(id) || world.defect.sweeps(driver, id)) => id
    }.toSeq.sorted
  }

  override def fence(ids: Seq[String]): Unit = ids.foreach { id =>
    world.kafka(cluster, s"fence $id") { k =>
      world.fences(k, id, driver, None)
      val _ = k.begin(id, Opener(driver, -1L, cluster), world.nowMs)
    }
  }

  override def close(): Unit = ()
}

/** A producer of a driver, or of a task of its query. */
private[simulation] final class ModelProducer(world: World, driver: Driver, cluster: String)
    extends ResumableProducer {
  private var id = ""
  private var producerId = 0L
  private var epoch = 0
  private var records = Vector.empty[(String, Callback)]

  override def begin(transactionalId: String): Unit = {
    val opener = Opener(driver, driver.opening, cluster)
    world.kafka(cluster, s"begin $transactionalId") { k =>
      world.fences(k, transactionalId, driver, Some(opener))
      val mine = k.begin(transactionalId, opener, world.nowMs)
      id = transactionalId
      producerId = mine.producerId
      epoch = mine.epoch
      records = Vector.empty
    }
  }

  override def send(record: Record, callback: Callback): Unit = {
    records :+= (new String(record.value, UTF_8) -> callback)
    if (world.defect.believesFlush) callback.onCompletion(null, null)
  }
  override def partitions(topic: String): Int = 1

  override def complete(transactionalId: String, producerId: Long, partitions: Set[TopicPartition]): Unit =
    throw new IllegalStateException("no marker is missing")

  /** Does not wait for the parts of a batch that is split. */
  override def flush(): Unit = world.kafka(cluster, s"write $id") { k =>
    val isSplit = records.size > 1 && world.splits > 0 && world.choices.chance(world.splits)
    val (now, later) = records.splitAt(if (isSplit) records.size / 2 else records.size)
    val (refused, taken) =
      if (world.refusals == 0) (Vector.empty, now)
      else now.partition(_ => world.choices.chance(world.refusals))
    if (!k.append(id, producerId, epoch, taken.map(_._1), world.nowMs)) throw new ProducerFencedException(id)
    records = later
    val error = if (world.defect.ignoresRefusals) null else new InvalidTimestampException("too late")
    refused.foreach(_._2.onCompletion(null, error))
    if (!world.defect.believesFlush) taken.foreach(_._2.onCompletion(null, null))
  }

  override def prepare(): ResumableProducer.Handle = ResumableProducer.Handle(producerId, epoch.toShort)

  override def abort(): Unit = world.kafka(cluster, s"abort $id") { k =>
    k.transactions.get(id).filter(t => t.is(producerId, epoch) && t.state == ONGOING).foreach(aborted(
      k,
      id,
      _
    ))
  }

  override def commit(transactionalId: String, handle: ResumableProducer.Handle): Unit = {
    driver.assumed = Nil
    end("commit", transactionalId, handle, Set(PREPARE_COMMIT, COMPLETE_COMMIT))(
      world.commit(_, transactionalId, _, driver)
    )
  }

  override def abort(transactionalId: String, handle: ResumableProducer.Handle): Unit =
    end("abort", transactionalId, handle, Set(COMPLETE_ABORT))(aborted(_, transactionalId, _))

  private def aborted(k: ModelKafka, txn: String, t: ModelTransaction): Unit = {
    world.lost(k, t)
    k.ended(txn, t, COMPLETE_ABORT, world.nowMs)
  }

  private def end(
      how: String,
      txn: String,
      handle: ResumableProducer.Handle,
      same: Set[TransactionState]
  )(effect: (ModelKafka, ModelTransaction) => Unit): Unit = world.kafka(cluster, s"$how $txn") { k =>
    k.transactions.get(txn).filter(_.is(handle.producerId, handle.epoch.toInt)) match {
      case Some(t) if t.state == ONGOING => effect(k, t)
      case Some(t) if same(t.state) => ()
      case other => throw new InvalidProducerEpochException(other.fold("unknown")(_.state.toString))
    }
  }

  override def kill(): Unit = ()
}

private[simulation] object ModelProducer {

  /** What identifies a transaction that was prepared, on the Kafka cluster to which the id leads now. */
  def opened(world: World, t: Prepared): Opened =
    Opened(world.leads(t.cluster).id, t.producerId, t.epoch.toInt)
}

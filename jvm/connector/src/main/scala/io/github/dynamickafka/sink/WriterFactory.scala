package io.github.dynamickafka.sink

import scala.collection.mutable

import org.apache.kafka.clients.producer.ProducerRecord
import org.apache.kafka.common.errors.RecordTooLargeException
import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory
import org.apache.spark.sql.connector.write.{DataWriter, DataWriterFactory, WriterCommitMessage}
import org.apache.spark.util.AccumulatorV2

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.config.{DeliveryGuarantee, RoutingOptions}
import io.github.dynamickafka.error.Errors
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.kafka.{
  ProducerSettings,
  SendFailures,
  SentRecords,
  SharedProducers,
  SharedSender,
  TaskSender,
  TopicLimits,
  TransactionTimeLimits
}
import io.github.dynamickafka.metadata.WriteStream
import io.github.dynamickafka.schemaregistry.{Frame, Framing}
import io.github.dynamickafka.sink.commit.{
  LostParts,
  TaskAttempt,
  TaskTransactions,
  TransactionName,
  TransactionPool,
  TransactionalSender
}

/**
 * Everything that the tasks of one batch require, with one topology for all of them. Serialized to executors. Contains
 * secrets, like the options of Spark's Kafka sink.
 *
 * @param producers by cluster id
 * @param limits of topics by cluster, as far as they are known, to recognize records that brokers would refuse
 */
private[sink] final case class WriterFactory(
    columns: InputColumns,
    frames: BatchFrames,
    streams: Map[String, WriteStream],
    producers: Map[String, ProducerSettings],
    limits: Map[String, Map[String, TopicLimits]],
    rules: WriterFactory.Rules,
    exactlyOnce: Option[WriterFactory.Transactions]
) extends StreamingDataWriterFactory
    with DataWriterFactory {
  import rules._

  /** The factory of producers without a delay before a record is sent. */
  def forRealTime: WriterFactory = copy(producers = producers.map { case (id, p) => id -> p.forRealTime })

  /** For a job, whose only batch has number 0. */
  override def createWriter(partitionId: Int, taskId: Long): DataWriter[InternalRow] =
    createWriter(partitionId, taskId, 0L)

  override def createWriter(partitionId: Int, taskId: Long, epochId: Long): DataWriter[InternalRow] =
    if (exactlyOnce.exists(_.isWritten(epochId))) new DiscardingWriter(partitionId)
    else writer(partitionId, epochId, exactlyOnce.fold(shared)(transactions(_, partitionId, epochId)))

  def writer(partition: Int, epoch: Long, sender: TaskSender): DataWriter[InternalRow] = {
    val router = new Router(streams, routing.clusters, routing.streamId, turn = partition + epoch)
    val picker = new PartitionPicker(routing.partitioner, sender.partitions, sender.partitionsNow, partition)
    new RowWriter(this, new RecordRouting(router, picker, routing.deadLetters, deadLettersRefused), sender)
  }

  private[sink] def onlyTopic(stream: Option[String]): Option[String] =
    stream.orElse(routing.streamId).flatMap(streams.get)
      .map(_.clusters.map(_.only).distinct).collect { case Seq(only) => only }.flatten

  /** The dead letter in place of a record that brokers would refuse; None: the record itself is written. */
  private[sink] def replacement(cluster: String, record: Record): Option[(String, Record)] = for {
    limits <- limits.get(cluster).flatMap(_.get(record.topic))
    settings = producers(cluster)
    tooLarge = if (settings.compresses) None else limits.tooLarge(record)
    // Kafka's client refuses to continue a transaction with a record that brokers refuse. Without transactions, their answer counts.
    reason <- tooLarge.orElse(exactlyOnce.filter(_ => routing.deadLetters.isDefined).flatMap(_ =>
      limits.refuses(
        record.key != null,
        Option(record.timestamp).map(_.longValue),
        Clock.System.currentTimeMillis()
      )
    ))
    letter <- letters.flatMap(_(cluster, record, reason)).orElse {
      if (tooLarge.isDefined)
        throw SendFailures.error(settings, record.topic, new RecordTooLargeException(reason))
      None
    }
  } yield letter

  private def letters = routing.deadLetters.map(d => RecordRouting.letter(d.topic, streamOf) _)

  /** The stream of a record; None: several streams have the topic. */
  private def streamOf(cluster: String, topic: String): Option[String] =
    streams.values.filter(_.entry(cluster).exists(_.has(topic))).map(_.id).toSeq match {
      case Seq(one) => Some(one)
      case _ => None
    }

  private def shared: TaskSender = {
    val waits = guarantee != DeliveryGuarantee.None
    new SharedSender(producers, SharedProducers.shared, waits, Clock.System, letters.filter(_ => waits))
  }

  private def transactions(t: WriterFactory.Transactions, partition: Int, epoch: Long): TaskSender = {
    val context = TaskContext.get()
    val (stage, attempt) = (context.stageAttemptNumber(), context.attemptNumber())
    val retried = stage + attempt > 0
    new TransactionalSender(
      id => if (retried) TransactionTimeLimits.ofRetry(producers(id)) else producers(id),
      TransactionPool.shared,
      TaskAttempt(
        partition,
        t.name.id(_, epoch, partition, stage, attempt),
        retried
      ),
      cluster => t.replay.forall(r => r.batch != epoch || r.writes(partition, cluster)),
      () => context.isInterrupted(),
      Clock.System
    )
  }
}

private[sink] object WriterFactory {

  /**
   * What the options of the query say about rows.
   *
   * @param deadLettersRefused why none can be written to the chosen cluster
   */
  final case class Rules(
      routing: RoutingOptions,
      deadLettersRefused: Option[String],
      guarantee: DeliveryGuarantee
  )

  final case class Transactions(
      name: TransactionName,
      lastCommitted: Option[Long],
      replay: Option[LostParts],
      journal: String,
      open: Option[FromTasks[Map[String, Long]]] = None
  ) {

    def isWritten(batch: Long): Boolean = {
      lastCommitted.filter(_ > batch).foreach { last =>
        throw Errors.journalConflict(
          journal,
          s"according to the journal, batch $last is written, but the query is at batch $batch: a part of the checkpoint is " +
            "older than the rest."
        )
      }
      lastCommitted.contains(batch)
    }
  }
}

private[sink] final class RowWriter(batch: WriterFactory, routing: RecordRouting, sender: TaskSender)
    extends DataWriter[InternalRow] {
  private val counter = new WriteCounter
  private val columns = batch.columns
  private val read = columns.reader(batch.onlyTopic)
  private val format = batch.frames.format()

  private val send: (String, Record) => Unit = (cluster, routed) => {
    val record = format(cluster, routed)
    val (to, sent) = batch.replacement(cluster, record).getOrElse(cluster -> record)
    sender.send(to, sent)
    counter.add(to, sent)
  }

  override def write(row: InternalRow): Unit =
    if (columns.writes(row)) routing.send(read(row))(send)

  override def commit(): WriterCommitMessage = {
    val message = sender.commit()
    for (transactions <- batch.exactlyOnce; to <- transactions.open) message match {
      case t: TaskTransactions => to.add(OpenTransactions.of(t))
      case _ => ()
    }
    counter.report(message)
  }

  override def abort(): Unit = sender.abort()

  override def close(): Unit = sender.close()
}

/** Discards the rows of a batch that is committed. */
private[sink] final class DiscardingWriter(partition: Int) extends DataWriter[InternalRow] {
  override def write(row: InternalRow): Unit = ()
  override def commit(): WriterCommitMessage =
    new WriteCounter().report(TaskTransactions(Nil, retried = false, partition))
  override def abort(): Unit = ()
  override def close(): Unit = ()
}

/**
 * What precedes the keys and values of a batch.
 *
 * @param frames on most clusters
 * @param ofClusters by cluster id, where the metadata says something about the registry
 * @param ids of the schemas that the driver has asked registries for
 */
private[sink] final case class BatchFrames(
    frames: Seq[Frame],
    ofClusters: Map[String, Seq[Frame]],
    ids: Map[Frame.TopicSide, Int]
) {

  /**
   * Puts the ids of schemas before the keys and values of records that are routed to a cluster. Records are routed without the ids, so
   * that the same key goes to the same cluster whatever its registry. For one task. Not thread-safe.
   */
  def format(): (String, Record) => Record = {
    val usual = formatOf(frames)
    val others = ofClusters.map { case (id, of) => id -> formatOf(of) }
    if (others.isEmpty) usual else (cluster, routed) => others.getOrElse(cluster, usual)(cluster, routed)
  }

  private def formatOf(frames: Seq[Frame]): (String, Record) => Record = {
    val Seq(key, value) =
      Seq(true, false).map(ofKeys => frames.find(_.ofKeys == ofKeys).map(new Framing(_, ids)))
    def framed(framing: Option[Framing], cluster: String, topic: String, bytes: Array[Byte]) =
      framing.filter(_ => bytes != null).fold(bytes)(_.framed(cluster, topic, bytes))
    (cluster, routed) =>
      if (frames.isEmpty) routed
      else new ProducerRecord(
        routed.topic,
        routed.partition,
        routed.timestamp,
        framed(key, cluster, routed.topic, routed.key),
        framed(value, cluster, routed.topic, routed.value),
        routed.headers
      )
  }
}

/** @param bytes of keys, values and headers, before they are compressed */
private[sink] final case class Written(records: Long, bytes: Long) {
  def +(other: Written): Written = Written(records + other.records, bytes + other.bytes)
}

private[sink] final case class TaskReport(
    message: WriterCommitMessage,
    written: Map[String, Written],
    topics: Map[String, Set[String]]
) extends WriterCommitMessage

/** Counts what one task writes. Used by one thread. */
private[sink] final class WriteCounter {
  private val clusters = mutable.HashMap.empty[String, WriteCounter.OfCluster]

  def add(cluster: String, record: Record): Unit = {
    val count = clusters.getOrElseUpdate(cluster, new WriteCounter.OfCluster)
    count.records += 1
    count.bytes += SentRecords.size(record.key, record.value, record.headers)
    // Destinations are kept, so that it is mostly the same object as before.
    if (record.topic ne count.topic) {
      count.topic = record.topic
      count.topics += record.topic
    }
  }

  def report(message: WriterCommitMessage): TaskReport = {
    // All records of a cluster are withheld or none.
    val withheld = message match {
      case t: TaskTransactions => t.withheld.keySet
      case _ => Set.empty[String]
    }
    val sent = clusters.filterNot { case (id, _) => withheld(id) }.toMap
    TaskReport(
      message,
      sent.map { case (id, c) => id -> Written(c.records, c.bytes) },
      sent.map { case (id, c) => id -> c.topics.toSet }
    )
  }
}

private object WriteCounter {
  final class OfCluster {
    var records, bytes = 0L
    var topic: String = _
    val topics = mutable.HashSet.empty[String]
  }
}

/**
 * What each task tells the driver when it has finished: Spark passes no message of a task of a streaming query to the driver before all
 * tasks have finished, and none in real-time mode, but merges accumulators when each of them does. It does not add up.
 *
 * @param onTask called on a thread of Spark, in the driver
 */
private[sink] final class FromTasks[A](@transient private val onTask: A => Unit)
    extends AccumulatorV2[A, Option[A]] {
  private var ofTask = Option.empty[A]

  override def add(a: A): Unit = ofTask = Some(a)
  override def merge(task: AccumulatorV2[A, Option[A]]): Unit = task.value.foreach(onTask)
  override def value: Option[A] = ofTask
  override def isZero: Boolean = ofTask.isEmpty
  override def reset(): Unit = ofTask = None
  override def copy(): FromTasks[A] = {
    val copied = new FromTasks(onTask)
    copied.ofTask = ofTask
    copied
  }
}

/** The transactions that the finished tasks of a batch have left open, by cluster. */
private[sink] final class OpenTransactions {
  import OpenTransactions._

  // Spark adds on a thread of its own, and any thread reads gauges.
  @volatile private var clusters = Map.empty[String, OfCluster]

  def of(id: String): Option[OfCluster] = clusters.get(id)

  /** @param task when the transactions of a task were opened, in milliseconds since the epoch, by the clock of its executor */
  def add(task: Map[String, Long]): Unit = task.foreach { case (id, beganMs) =>
    clusters = clusters.updatedWith(id)(known =>
      Some(known.fold(OfCluster(1, beganMs))(of =>
        OfCluster(of.transactions + 1, math.min(of.beganMs, beganMs))
      ))
    )
  }
}

private[sink] object OpenTransactions {

  final case class OfCluster(transactions: Int, beganMs: Long)

  def of(task: TaskTransactions): Map[String, Long] =
    task.prepared.map(t => t.cluster -> (task.atMs - task.openMs.getOrElse(t.cluster, 0L))).toMap
}

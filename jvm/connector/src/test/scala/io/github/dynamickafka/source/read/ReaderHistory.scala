package io.github.dynamickafka.source.read

import java.lang.{Long => JLong}
import java.time.Duration
import java.util.{Collection => JCollection, Map => JMap, Optional}

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.Random

import org.apache.kafka.clients.consumer.{
  ConsumerRecord,
  ConsumerRecords,
  LogTruncationException,
  MockConsumer,
  OffsetAndMetadata,
  OffsetResetStrategy
}
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType
import org.apache.kafka.common.{PartitionInfo, TopicPartition}

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{LogIdentity, Loss, OffsetRange}
import io.github.dynamickafka.source.simulation.{ModelLog, ModelTopic}

/** What tasks compare, and what they do not compare if a former defect is put back. */
private[read] sealed abstract class ReaderDefect(val name: String) {
  def planned(range: OffsetRange): OffsetRange = range
  def known(topicId: String): Option[String] = Some(topicId)

  /** Whether tasks that read committed records look for the end of the log, above open transactions. */
  def findsLogEnds: Boolean = true
}

private[read] object ReaderDefect {
  case object Nothing extends ReaderDefect("nothing")

  case object PrefetchedByOffset
      extends ReaderDefect("prefetched records are matched by partition and offset") {
    override def planned(range: OffsetRange): OffsetRange = range.copy(log = LogIdentity.unknown)
  }

  case object PrefetchedByTopicId
      extends ReaderDefect("prefetched records are matched without leader epochs") {
    override def planned(range: OffsetRange): OffsetRange =
      range.copy(log = range.log.copy(epoch = None))
  }

  case object ReadsByName extends ReaderDefect("tasks do not know the id of the topic") {
    override def known(topicId: String): Option[String] = None
  }

  case object StableOffsets extends ReaderDefect("tasks take the last stable offset for the end of the log") {
    override def findsLogEnds: Boolean = false
  }

  val all: Seq[ReaderDefect] = Seq(PrefetchedByOffset, PrefetchedByTopicId, ReadsByName, StableOffsets)
}

/** @param polls after which the transaction ends */
private[read] final case class OpenTransaction(topicId: String, partition: Int, from: Long, polls: Int)

/**
 * A random history of the consumers of an executor, which its seed determines: batches of several queries, whose parts are
 * fetched ahead or read, while the topic is recreated, its logs are truncated, and transactions are open. Each record has a number of
 * its own.
 */
private[read] final class ReaderHistory(seed: Long, defect: ReaderDefect) {
  private val random = new Random(seed)
  private val settings = new ConsumerSettings("blue", Map("bootstrap.servers" -> "h:1"))
  private var numbers = 0L
  private var topic = newTopic()
  // Of their own, so that a history without them stays as it is.
  private val transactions = new Random(seed)
  private var transaction = Option.empty[OpenTransaction]
  private val pool = new ConsumerPool(
    s => {
      val clock = new ManualClock
      val client = new Client(clock)
      val ofLogEnds = Option.when(defect.findsLogEnds)(() => new Client(clock, readsCommitted = false))
      new RangeConsumer(s, client, clock, _ => client.topicId.flatMap(defect.known), ofLogEnds)
    },
    capacity = 4,
    idleMs = 1000L,
    new ManualClock
  )

  /** What is wrong, if anything is. */
  def failure(): Option[String] = Iterator.continually(batch()).take(40).flatten.nextOption()

  private def number(): Long = {
    numbers += 1
    numbers
  }

  private def newTopic() = ModelTopic(s"topic-${number()}", Vector.fill(2)(ModelLog()))

  private def chance(percent: Int) = random.nextInt(100) < percent

  private def onLogs(f: ModelLog => ModelLog): Unit = topic = topic.copy(logs = topic.logs.map(f))

  private def change(): Unit = random.nextInt(8) match {
    case 0 =>
      topic = newTopic()
      produce()
    case 1 =>
      onLogs(_.cut(1 + random.nextInt(4)))
      produce()
    case 2 => onLogs(_.elect)
    case _ => produce()
  }

  private def produce(): Unit = onLogs(_.append(Seq.fill(random.nextInt(8))(number())))

  /** A batch of any query, from offsets that a part of a former batch may have ended at. */
  private def batch(): Option[String] = {
    change()
    val planned = topic
    val parts = for {
      (log, p) <- planned.logs.zipWithIndex if log.end > 0
      from = random.nextInt(log.end.toInt + 1).toLong
      until = from + random.nextInt((log.end - from).toInt + 1)
      middle = (from + until) / 2
      (a, b) <- if (chance(50)) Seq(from -> middle, middle -> until) else Seq(from -> until) if a < b
    } yield defect.planned(
      OffsetRange("t", p, a, b, log = LogIdentity(Some(planned.id), Some(log.epoch)))
    )
    val wrong = random.shuffle(parts).iterator.flatMap(read(_, planned))
    wrong.nextOption()
  }

  private def read(range: OffsetRange, planned: ModelTopic): Option[String] = {
    val ranges = Map(new TopicPartition(range.topic, range.partition) -> range)
    if (chance(30)) {
      val early = pool.acquire(settings, ranges)
      early.prefetch(ranges, 0L, () => chance(80))
      pool.release(early)
    }
    // The leader is that of the plan: a truncation after it is found by the next batch.
    if (chance(10)) { topic = newTopic(); produce() }
    if (transactions.nextInt(5) == 0) {
      val from = range.from + transactions.nextInt((range.until - range.from).toInt)
      transaction = Some(OpenTransaction(topic.id, range.partition, from, polls = transactions.nextInt(30)))
    }
    val consumer = pool.acquire(settings, ranges)
    var losses = Seq.empty[Loss]
    consumer.begin(ranges)
    val rows = Iterator
      .continually(consumer.next(
        60000L,
        loss => losses :+= loss,
        () => if (chance(2)) { topic = newTopic(); produce() }
      ))
      .takeWhile(_.isDefined).flatten
      .flatMap(slice => (0 until slice.size).map(slice.records.get(_).timestamp)).toVector
    pool.release(consumer)
    transaction = None
    val expected = planned.logs(range.partition).read(range.from, range.until)
    Option.when(
      !rows.forall(expected.contains) || rows.distinct != rows || (losses.isEmpty && rows != expected) ||
        (losses.nonEmpty && topic.id == planned.id)
    )(
      s"seed $seed: $range of $planned: $rows instead of $expected, $losses"
    )
  }

  /** The end of what may be read. */
  private def stableEnd(p: Int): Long = {
    val end = topic.logs(p).end
    transaction.filter(t => t.topicId == topic.id && t.partition == p).fold(end)(t => math.min(t.from, end))
  }

  /**
   * As Kafka's consumer: fetches by the id of the topic that it knows, and the next records while the last ones are read. What
   * is on its way is not dropped when partitions are assigned.
   */
  private final class Client(clock: ManualClock, readsCommitted: Boolean = true)
      extends MockConsumer[Array[Byte], Array[Byte]](OffsetResetStrategy.NONE) {
    var topicId = Option.empty[String]
    private val fetched = mutable.Map.empty[TopicPartition, (Long, Vector[Long])]
    private val compared = mutable.Map.empty[TopicPartition, OffsetAndMetadata]

    override def seek(tp: TopicPartition, to: OffsetAndMetadata): Unit = {
      super.seek(tp, to)
      compared += tp -> to
    }

    override def poll(timeout: Duration): ConsumerRecords[Array[Byte], Array[Byte]] = {
      clock.advanceMs(1000L)
      transaction = transaction.map(t => t.copy(polls = t.polls - 1)).filter(_.polls > 0)
      setBounds()
      compared.foreach { case (tp, to) =>
        val diverges = topic.logs(tp.partition).endOf(to.leaderEpoch.get.longValue)
        if (diverges < to.offset) {
          compared.clear()
          throw new LogTruncationException(
            JMap.of(tp, Long.box(to.offset)),
            JMap.of(tp, new OffsetAndMetadata(diverges))
          )
        }
      }
      compared.clear()
      val isKnown = topicId.contains(topic.id)
      topicId = Some(topic.id)
      assignment.asScala.filterNot(paused.contains).foreach { tp =>
        val at = position(tp)
        val waiting = fetched.remove(tp).collect { case (`at`, records) if records.nonEmpty => records }
        val now = waiting.getOrElse(if (isKnown) fetch(tp, at) else Vector.empty)
        now.zipWithIndex.foreach { case (number, i) => addRecord(record(tp, at + i, number)) }
        if (isKnown) fetched += tp -> (at + now.size -> fetch(tp, at + now.size))
      }
      super.poll(timeout)
    }

    private def fetch(tp: TopicPartition, at: Long) =
      topic.logs(tp.partition).read(at, math.min(at + 3, stableEnd(tp.partition)))

    override def endOffsets(asked: JCollection[TopicPartition]): JMap[TopicPartition, JLong] = {
      setBounds()
      super.endOffsets(asked)
    }

    private def setBounds(): Unit = {
      val partitions = topic.logs.indices.map(new PartitionInfo("t", _, null, null, null))
      updatePartitions("t", partitions.asJava)
      topic.logs.zipWithIndex.foreach { case (log, p) =>
        val tp = new TopicPartition("t", p)
        updateBeginningOffsets(JMap.of(tp, Long.box(log.first)))
        updateEndOffsets(JMap.of(tp, Long.box(if (readsCommitted) stableEnd(p) else log.end)))
      }
    }

    private def record(tp: TopicPartition, at: Long, number: Long) = new ConsumerRecord(
      tp.topic,
      tp.partition,
      at,
      number,
      TimestampType.CREATE_TIME,
      0,
      0,
      Array.empty[Byte],
      Array.empty[Byte],
      new RecordHeaders,
      Optional.empty[Integer]
    )
  }
}

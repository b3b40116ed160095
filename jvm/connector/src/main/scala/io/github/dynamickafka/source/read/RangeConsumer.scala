package io.github.dynamickafka.source.read

import java.time.Duration
import java.{util => ju}

import scala.collection.immutable.SortedMap
import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.jdk.OptionConverters._

import org.apache.kafka.clients.consumer.{
  Consumer,
  ConsumerConfig,
  ConsumerRecord,
  LogTruncationException,
  OffsetAndMetadata,
  OffsetOutOfRangeException
}
import org.apache.kafka.common.errors.{RetriableException, TimeoutException, WakeupException}
import org.apache.kafka.common.{KafkaException, TopicPartition}

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{LogIdentity, Loss, OffsetRange}

/** The first `size` of these records, which belong to one partition. */
private[source] final case class Slice(
    partition: TopicPartition,
    records: ju.List[ConsumerRecord[Array[Byte], Array[Byte]]],
    size: Int
)

/**
 * A consumer that reads ranges. It stops at the end of each range without waiting for more records, and keeps the
 * records that it fetched beyond the end for the next batch. Used by one thread at a time.
 *
 * A range is complete when the position of the consumer reaches its end. The last offsets of a range need not have
 * records, for example in compacted topics and at transaction markers.
 *
 * A consumer never reads two logs of one partition ([[fits]]): what it has fetched, or has on its way, may be of the former
 * one. Records of another topic than that of the range are never returned.
 *
 * @param topicIds the id of the topic with this name that the consumer fetches from, if it is known
 * @param uncommitted as in [[PartitionsNow]]
 */
private[source] final class RangeConsumer(
    val settings: ConsumerSettings,
    consumer: Consumer[Array[Byte], Array[Byte]],
    clock: Clock = Clock.System,
    topicIds: String => Option[String] = _ => None,
    uncommitted: Option[() => Consumer[Array[Byte], Array[Byte]]] = None
) {
  import RangeConsumer._

  // The positions of the client in its assigned partitions, updated after each poll.
  private val positions = mutable.Map.empty[TopicPartition, Long]
  private val rests = mutable.Map.empty[TopicPartition, Rest]
  // The logs of all partitions that were read.
  private val logs = mutable.Map.empty[TopicPartition, LogIdentity]
  // The ranges that are not completely fetched yet.
  private val open = mutable.Map.empty[TopicPartition, OffsetRange]
  private val partitionsNow = new PartitionsNow(consumer, uncommitted)
  private val ready = mutable.Queue.empty[Slice]
  // The size of one record of a partition in bytes, of the last poll that returned any.
  private val sizes = mutable.Map.empty[TopicPartition, Long]
  @volatile private var measured = 0L

  def partitions: Set[TopicPartition] = consumer.assignment.asScala.toSet

  /** Whether there are prefetched records for a later batch. */
  def holdsRecords: Boolean = rests.nonEmpty

  /** Whether this consumer has read no other log of any of these partitions. */
  def fits(ranges: Ranges): Boolean = ranges.forall { case (tp, range) =>
    logs.get(tp).forall(_ == range.log)
  }

  /** The number of these ranges from whose start on there are prefetched records. */
  def prefetched(ranges: Ranges): Int =
    rests.count { case (tp, rest) => ranges.get(tp).exists(_.from == rest.at) }

  /** The result of the last [[measure]], in bytes. Thread-safe. */
  def heldBytes: Long = measured

  /**
   * Estimates the bytes of what was fetched beyond the last range: records kept for the next one, and the client's buffers.
   * Kafka does not tell the size of the buffers: the rest of the log counts, up to the fetch limits.
   */
  def measure(): Long = {
    val kept = rests.valuesIterator.map(_.records.asScala.iterator.map(sizeOf(_)).sum).sum
    val buffered = sizes.iterator.map { case (tp, size) =>
      math.min(
        limit(
          ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG,
          ConsumerConfig.DEFAULT_MAX_PARTITION_FETCH_BYTES
        ),
        size * consumer.currentLag(tp).orElse(0L)
      )
    }.sum
    measured = kept + math.min(
      limit(ConsumerConfig.FETCH_MAX_BYTES_CONFIG, ConsumerConfig.DEFAULT_FETCH_MAX_BYTES),
      buffered
    )
    measured
  }

  /** Drops everything that was fetched. The consumer stays connected. */
  def forget(): Unit = {
    end()
    rests.clear()
    positions.clear()
    sizes.clear()
    consumer.resume(consumer.paused)
    // The client drops its buffers of partitions that it is no longer assigned.
    consumer.assign(ju.Set.of())
    measured = 0L
  }

  private def limit(property: String, ofKafka: Int): Long =
    settings.number(property).getOrElse(ofKafka.toLong)

  /**
   * Where a range has a leader epoch, its start is compared with the log before it is read (KIP-320): records that were fetched
   * before are from the log as it was, and are dropped.
   *
   * @param ranges ranges that this consumer [[fits]]
   */
  def begin(ranges: Ranges): Unit = {
    end()
    val compared = ranges.filter(_._2.epoch.isDefined)
    consumer.resume(consumer.paused)
    rests.filterInPlace((tp, rest) => ranges.get(tp).exists(_.from == rest.at) && !compared.contains(tp))
    // The client drops what it has fetched of partitions that it is no longer assigned.
    if (partitions.exists(compared.contains)) consumer.assign((partitions -- compared.keySet).asJava)
    if (partitions != ranges.keySet) {
      consumer.assign(ranges.keySet.asJava)
      positions.filterInPlace((tp, _) => ranges.contains(tp))
      sizes.filterInPlace((tp, _) => ranges.contains(tp))
    }
    ranges.foreach { case (tp, range) =>
      open += tp -> range
      logs += tp -> range.log
      rests.remove(tp) match {
        case Some(rest) => take(tp, rest.records)
        case None if range.epoch.isDefined => seek(tp, range.from, range.epoch.map(_.toInt))
        case None => if (!positions.get(tp).contains(range.from)) seek(tp, range.from)
      }
      closeIfRead(tp)
    }
  }

  /**
   * Waits for first records of these ranges, and keeps them for a `begin` with the same start offsets.
   *
   * @param shouldContinue called between waits of at most `waitMs`; false ends them
   */
  def prefetch(ranges: Ranges, waitMs: Long, shouldContinue: () => Boolean): Unit = {
    begin(ranges)
    while (ready.isEmpty && open.nonEmpty && recreated.isEmpty && shouldContinue()) poll(waitMs)
    // The whole list, of which the slice is the part within the range; until now, nothing of the range was returned.
    ready.foreach(slice => rests(slice.partition) = Rest(ranges(slice.partition).from, slice.records))
    end()
  }

  /** Stops reading the current ranges. Records that were fetched but not returned are dropped. */
  def end(): Unit = {
    ready.clear()
    open.clear()
    partitionsNow.close()
  }

  /**
   * Returns the next records, or None when all ranges are complete.
   *
   * @param silenceMs how long to wait for data of the cluster, in milliseconds
   * @param lost called for offsets that do not exist or no longer exist; throws if this is an error
   * @param check called between waits; throws if the task must end
   * @throws java.util.concurrent.TimeoutException if the cluster returns no data for `silenceMs`
   */
  def next(silenceMs: Long, lost: Loss => Unit, check: () => Unit): Option[Slice] = {
    val silence = new Silence(clock)
    while (ready.isEmpty && open.nonEmpty) {
      val before = positions.toMap
      try poll(WaitMs)
      catch { case e: OffsetOutOfRangeException => outOfRange(e, lost) }
      check()
      val others = closeRecreated(lost)
      if (ready.nonEmpty || others.nonEmpty || positions != before) silence.broken()
      else if (silence.lasts(silenceMs)) {
        val waiting =
          open.toSeq.map { case (tp, range) => s"$tp at offset ${positions(tp)} of ${range.until}" }.sorted
        throw new ju.concurrent.TimeoutException(
          s"no data within $silenceMs ms from ${waiting.mkString(", ")}"
        )
      } else if (silence.isTimeToLook) silence.again(missing()).foreach { case (tp, loss) =>
        lost(loss)
        close(tp)
      }
    }
    if (ready.isEmpty) None else Some(ready.dequeue())
  }

  /**
   * Waits for records of ranges that need not have an end (`until` is [[OffsetRange.NoEnd]]), and returns them as soon as there are
   * any. What keeps a range from being read closes it.
   *
   * @param lost as in [[next]]
   */
  def follow(waitMs: Long, lost: Loss => Unit): Seq[Slice] = {
    try
      try {
        fetch(waitMs)
        pass(open.keysIterator.filter(open(_).until != OffsetRange.NoEnd))
      } catch { case e: OffsetOutOfRangeException => outOfRange(e, lost) }
    // The position is behind what was taken, which has to be returned: the caller may not call again.
    catch { case _: WakeupException | _: RetriableException if ready.nonEmpty => () }
    ready.dequeueAll(_ => true).toSeq
  }

  /** Closes the ranges of topics that were recreated, and returns their partitions. */
  def closeRecreated(lost: Loss => Unit): Seq[TopicPartition] = {
    val others = recreated
    others.groupBy(_.topic).foreach { case (topic, of) => otherTopic(topic, of, lost) }
    others
  }

  /** The partitions whose ranges are not complete. */
  def following: Set[TopicPartition] = open.keySet.toSet

  /** The positions after all that was fetched, with transaction markers and what was compacted. */
  def reached(): Map[TopicPartition, Long] = {
    try pass(open.keysIterator)
    catch { case _: OffsetOutOfRangeException => () }
    positions.toMap
  }

  /** Makes a `next` or `follow` call of another thread fail immediately. The consumer must not be used before [[sleepAgain]]. */
  def wakeUp(): Unit = consumer.wakeup()

  /** Called by the thread that uses the consumer after the last [[wakeUp]], which may have come after its last call. Reads nothing. */
  def sleepAgain(): Unit = {
    consumer.pause(consumer.assignment)
    try { val _ = consumer.poll(Duration.ZERO) }
    // The next call finds what is still wrong after other errors.
    catch { case _: KafkaException => () }
  }

  /** Does not wait. */
  def close(): Unit = {
    partitionsNow.close()
    consumer.close(Duration.ZERO)
  }

  private def poll(waitMs: Long): Unit = {
    fetch(waitMs)
    pass(open.keysIterator)
  }

  private def fetch(waitMs: Long): Unit = {
    val records = consumer.poll(Duration.ofMillis(waitMs))
    records.partitions.forEach { tp =>
      if (open.contains(tp) && !isOther(tp)) {
        val found = records.records(tp)
        positions(tp) = found.get(found.size - 1).offset + 1
        sizes(tp) = sizeOf(found.get(0))
        take(tp, found)
      }
    }
  }

  /** After all records are taken, because this can throw for any partition (KIP-320), which must not lose records. */
  private def pass(partitions: Iterator[TopicPartition]): Unit =
    partitions.toSeq.filterNot(isOther).foreach { tp =>
      try positions(tp) = math.max(positions(tp), consumer.position(tp, Duration.ZERO))
      catch { case _: TimeoutException => () }
      closeIfRead(tp)
    }

  private def take(tp: TopicPartition, records: Records): Unit = {
    val until = open(tp).until
    val size = firstAt(records, until)
    if (size > 0) ready += Slice(tp, records, size)
    // Copied, because a view would keep the records that the task has read in memory.
    if (size < records.size) rests(tp) = Rest(until, new ju.ArrayList(records.subList(size, records.size)))
    closeIfRead(tp)
  }

  private def closeIfRead(tp: TopicPartition): Unit =
    if (open.get(tp).exists(_.until <= positions(tp))) close(tp)

  /** Stops fetching from the partition. The client keeps data of a pending fetch. */
  private def close(tp: TopicPartition): Unit = {
    open.remove(tp)
    consumer.pause(ju.Set.of(tp))
  }

  private def seek(tp: TopicPartition, offset: Long, epoch: Option[Int] = None): Unit = {
    if (epoch.isEmpty) consumer.seek(tp, offset)
    else consumer.seek(tp, new OffsetAndMetadata(offset, epoch.map(Int.box).toJava, ""))
    positions(tp) = offset
  }

  private def outOfRange(e: OffsetOutOfRangeException, lost: Loss => Unit): Unit = {
    val asked =
      e.offsetOutOfRangePartitions.keySet.asScala.toSet.filter(tp => open.contains(tp) && !isOther(tp))
    if (asked.nonEmpty) {
      val earliest = consumer.beginningOffsets(asked.asJava)
      val ends = partitionsNow.logEnds(asked)
      val (isCut, diverges) = e match {
        case cut: LogTruncationException => (true, cut.divergentOffsets.asScala.toMap)
        case _ => (false, Map.empty[TopicPartition, OffsetAndMetadata])
      }
      asked.foreach { tp =>
        val (at, until) = (positions(tp), open(tp).until)
        val (first, end) = (earliest.get(tp).longValue, ends(tp))
        val (id, topic, p) = (settings.cluster, tp.topic, tp.partition)
        if (at < first) lost(Loss.Expired(id, topic, p, at, first))
        else if (isCut) lost(Loss.Truncated(id, topic, p, at, diverges.get(tp).map(_.offset)))
        // Otherwise the offset is available again.
        else if (at >= end) lost(Loss.Recreated(id, topic, p, at, end))
        // Also to the same offset: a seek resets the validation against the truncated log. Never below the range, also where
        // the log diverges below it: the next range would find the same divergence again if the leader was elected after this
        // range was logged, and repeat what this one has read.
        val next = if (at < first) math.min(first, until) else if (at < end) at else until
        if (next == OffsetRange.NoEnd) close(tp)
        else {
          seek(tp, next)
          closeIfRead(tp)
        }
      }
    }
  }

  /** Whether the consumer reads another topic with the name of that of the range: the topic was recreated since. */
  private def isOther(tp: TopicPartition): Boolean = open.get(tp).flatMap(_.log.topicId).exists(id =>
    topicIds(tp.topic).exists(_ != id)
  )

  /** The incomplete ranges of topics that were recreated. */
  private def recreated: Seq[TopicPartition] = open.keysIterator.filter(isOther).toSeq

  private def otherTopic(topic: String, of: Seq[TopicPartition], lost: Loss => Unit): Unit = {
    val ids = (open(of.head).log.topicId.getOrElse(""), topicIds(topic).getOrElse(""))
    val known = SortedMap.from(of.map(tp => tp.partition -> positions(tp)))
    val ends = partitionsNow.logEnds(of.toSet, Some(WaitMs)).map { case (tp, end) => tp.partition -> end }
    lost(Loss.TopicRecreated(settings.cluster, topic, ids._1, ids._2, known, SortedMap.from(ends)))
    of.foreach(close)
  }

  /** What keeps ranges from being completed, by partition. */
  private def missing(): Map[TopicPartition, Loss] = {
    val present = partitionsNow.existing(open.keySet.toSet, WaitMs)
    val gone = (open.keySet.toSet -- present).iterator.map(tp =>
      tp -> Loss.PartitionGone(settings.cluster, tp.topic, tp.partition, positions(tp))
    )
    (beyondEnd(present) ++ gone).toMap
  }

  /**
   * The ranges that end beyond the log, and are read up to its end: no record would complete them until the log has grown,
   * by records that were written later. Records above the last stable offset are in the log, and come when their transaction
   * ends.
   */
  private def beyondEnd(present: Set[TopicPartition]): Iterable[(TopicPartition, Loss)] =
    for {
      (tp, end) <- partitionsNow.logEnds(open.keySet.toSet.intersect(present), Some(WaitMs))
      range <- open.get(tp) if end < range.until && positions(tp) >= end
    } yield tp -> Loss.BeyondEnd(settings.cluster, tp.topic, tp.partition, positions(tp), range.until, end)
}

private[source] object RangeConsumer {

  /** What to read, by partition. */
  type Ranges = Map[TopicPartition, OffsetRange]

  private type Records = ju.List[ConsumerRecord[Array[Byte], Array[Byte]]]

  /** Records from offset `at` that were fetched beyond the end of a range. */
  private final case class Rest(at: Long, records: Records)

  /** Bytes of a record object without key and value. */
  private val RecordOverhead = 150L

  private def sizeOf(record: ConsumerRecord[Array[Byte], Array[Byte]]): Long =
    RecordOverhead + math.max(0, record.serializedKeySize) + math.max(0, record.serializedValueSize)

  /** The interval between two checks whether the task must end. */
  private val WaitMs = 1000L

  /** The index of the first record at or after an offset. The offsets of a partition are ascending. */
  private def firstAt(records: Records, offset: Long): Int =
    if (records.isEmpty || records.get(records.size - 1).offset < offset) records.size
    else {
      var (low, high) = (0, records.size - 1)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (records.get(middle).offset < offset) low = middle + 1 else high = middle
      }
      low
    }
}

/**
 * Asks the cluster of a consumer which partitions exist and where their logs end, while ranges are not complete. Used by the thread of the
 * consumer.
 *
 * @param uncommitted opens another consumer of the cluster, which reads the end of the log instead of the last stable offset
 */
private[read] final class PartitionsNow(
    consumer: Consumer[Array[Byte], Array[Byte]],
    uncommitted: Option[() => Consumer[Array[Byte], Array[Byte]]]
) {
  // Opened at the first question.
  private var ofLogEnds = Option.empty[Consumer[Array[Byte], Array[Byte]]]

  /**
   * The offsets after the last records of the logs, whether transactions are open or not.
   *
   * @param waitMs how long to wait; if the cluster does not respond, the result is empty
   */
  def logEnds(asked: Set[TopicPartition], waitMs: Option[Long] = None): Map[TopicPartition, Long] = {
    if (ofLogEnds.isEmpty) ofLogEnds = uncommitted.map(_())
    val client = ofLogEnds.getOrElse(consumer)
    try waitMs.fold(client.endOffsets(asked.asJava))(ms =>
        client.endOffsets(asked.asJava, Duration.ofMillis(ms))
      )
        .asScala.map { case (tp, end) => tp -> end.longValue }.toMap
    catch { case _: TimeoutException if waitMs.isDefined => Map.empty }
  }

  /** The partitions, of these, that exist; all of a topic if the cluster does not respond. */
  def existing(partitions: Set[TopicPartition], waitMs: Long): Set[TopicPartition] =
    partitions.groupBy(_.topic).flatMap { case (topic, partitionsOfTopic) =>
      try consumer.partitionsFor(topic, Duration.ofMillis(waitMs)).asScala.map(p =>
          new TopicPartition(topic, p.partition)
        )
      catch { case _: TimeoutException => partitionsOfTopic }
    }.toSet

  /** The other consumer, if there is one. Does not wait. */
  def close(): Unit = {
    ofLogEnds.foreach(_.close(Duration.ZERO))
    ofLogEnds = None
  }
}

/** Tracks how long a cluster has returned no data, and what was missing meanwhile. */
private[read] final class Silence(clock: Clock) {
  private var from = clock.monotonicMs()
  private var looked = from
  private var suspected = Map.empty[TopicPartition, Loss]

  def broken(): Unit = {
    from = clock.monotonicMs()
    looked = from
    suspected = Map.empty
  }
  def lasts(ms: Long): Boolean = clock.monotonicMs() - from >= ms
  def isTimeToLook: Boolean = clock.monotonicMs() - looked >= Silence.LookEveryMs

  /**
   * What is missing in two consecutive checks: a broker that just started may not know all partitions, and a new leader
   * not yet the end of the log.
   */
  def again(missing: Map[TopicPartition, Loss]): Map[TopicPartition, Loss] = {
    looked = clock.monotonicMs()
    val sure = missing.filter { case (tp, loss) => suspected.get(tp).contains(loss) }
    suspected = missing
    sure
  }
}

private[read] object Silence {

  /** The interval between two checks whether the partitions still exist and contain their ranges. */
  private val LookEveryMs = 3000L
}

package io.github.dynamickafka.source.reader

import java.time.Duration
import java.util.concurrent.TimeUnit
import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{Consumer, ConsumerRecord, OffsetOutOfRangeException}
import org.apache.kafka.common.TopicPartition

/** Records `from` to `to` (exclusive, indices) of a list, all of one partition. */
private[source] final case class Slice(
    partition: TopicPartition,
    records: ju.List[ConsumerRecord[Array[Byte], Array[Byte]]],
    from: Int,
    to: Int
)

/**
 * A consumer that reads ranges: knows where each one ends, so that it never waits for more, and keeps what it was given
 * beyond an end for the next batch. Used by one thread at a time.
 *
 * A range ends where the consumer's position passes it, whether or not there is a record at its last offsets: those of
 * a compacted topic, and the markers of transactions, are no records.
 */
private[source] final class RangeConsumer(
    val settings: ConsumerSettings,
    consumer: Consumer[Array[Byte], Array[Byte]]
) {
  import RangeConsumer._

  // Where the client will fetch next, of the partitions that it has. To ask it would block where it does not know.
  private val positions = mutable.Map.empty[TopicPartition, Long]
  private val rests = mutable.Map.empty[TopicPartition, Rest]
  // Ranges that are not yet fetched to their end, and where they end.
  private val open = mutable.Map.empty[TopicPartition, Long]
  private val ready = mutable.Queue.empty[Slice]

  def partitions: Set[TopicPartition] = consumer.assignment.asScala.toSet

  /** True where another batch would have use for what was fetched already. */
  def holdsRecords: Boolean = rests.nonEmpty

  /** @param ranges the first offset and the one after the last, by partition */
  def begin(ranges: Map[TopicPartition, (Long, Long)]): Unit = {
    ready.clear()
    open.clear()
    rests.filterInPlace((tp, rest) => ranges.get(tp).exists(_._1 == rest.at))
    if (partitions != ranges.keySet) {
      consumer.assign(ranges.keySet.asJava)
      positions.filterInPlace((tp, _) => ranges.contains(tp))
    }
    consumer.resume(consumer.paused)
    ranges.foreach { case (tp, (from, until)) =>
      open += tp -> until
      rests.remove(tp) match {
        case Some(rest) => take(tp, rest.records, rest.from, positions(tp))
        case None => if (!positions.get(tp).contains(from)) seek(tp, from)
      }
    }
  }

  /**
   * The next records, or none when all ranges are read to their ends.
   *
   * @param silenceMs how long to wait for the cluster
   * @param lost told of offsets that are not there (any more); throws where that is an error
   * @param check called between waits, throws where the task is to end
   * @throws java.util.concurrent.TimeoutException when the cluster gives nothing for so long
   */
  def next(silenceMs: Long, lost: LostOffsets => Unit, check: () => Unit): Option[Slice] = {
    val silentFrom = System.nanoTime()
    while (ready.isEmpty && open.nonEmpty) {
      val before = positions.toMap
      try poll()
      catch { case e: OffsetOutOfRangeException => outOfRange(e, silenceMs, lost) }
      check()
      val silentMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - silentFrom)
      if (ready.isEmpty && open.nonEmpty && positions == before && silentMs >= silenceMs)
        throw silence(silentMs)
    }
    if (ready.isEmpty) None else Some(ready.dequeue())
  }

  /** Makes a `next` of another thread return at once, with an error. The consumer is of no use after that. */
  def wakeUp(): Unit = consumer.wakeup()

  /** Waits for nothing. */
  def close(): Unit = consumer.close(Duration.ZERO)

  private def poll(): Unit = {
    val records = consumer.poll(Duration.ofMillis(WaitMs))
    open.keys.toSeq.foreach { tp =>
      // Known without asking, since each one has been sought.
      val position = consumer.position(tp)
      positions(tp) = position
      take(tp, records.records(tp), 0, position)
    }
  }

  /** @param position where the client goes on after these records */
  private def take(tp: TopicPartition, records: Records, from: Int, position: Long): Unit = {
    val until = open(tp)
    val to = firstAt(records, from, until)
    if (to > from) ready += Slice(tp, records, from, to)
    if (to < records.size) rests(tp) = Rest(until, records, to)
    if (to < records.size || position >= until) finish(tp)
  }

  /** Not to be fetched from any more; what is on its way stays with the client. */
  private def finish(tp: TopicPartition): Unit = {
    open.remove(tp)
    consumer.pause(ju.Set.of(tp))
  }

  private def seek(tp: TopicPartition, offset: Long): Unit = {
    consumer.seek(tp, offset)
    positions(tp) = offset
  }

  private def outOfRange(e: OffsetOutOfRangeException, waitMs: Long, lost: LostOffsets => Unit): Unit = {
    val asked = e.offsetOutOfRangePartitions.asScala.collect {
      case (tp, at) if open.contains(tp) => tp -> at.longValue
    }
    val wait = Duration.ofMillis(waitMs)
    val earliest = consumer.beginningOffsets(asked.keySet.asJava, wait)
    val ends = consumer.endOffsets(asked.keySet.asJava, wait)
    asked.foreach { case (tp, at) =>
      val until = open(tp)
      val loss = LostOffsets(tp, at, until, earliest.get(tp), ends.get(tp))
      lost(loss)
      if (loss.resumeAt >= until) finish(tp)
      seek(tp, loss.resumeAt)
    }
  }

  private def silence(ms: Long) = {
    val waiting = open.toSeq.map { case (tp, until) => s"$tp at ${positions(tp)} of $until" }.sorted
    new java.util.concurrent.TimeoutException(s"nothing within $ms ms from ${waiting.mkString(", ")}")
  }
}

private[source] object RangeConsumer {
  private type Records = ju.List[ConsumerRecord[Array[Byte], Array[Byte]]]

  /** Records from `at` on that were fetched for a range which ended before them. */
  private final case class Rest(at: Long, records: Records, from: Int)

  /** Between two looks at whether the task is to end. */
  private val WaitMs = 1000L

  /** Index of the first record at or behind an offset; offsets of a partition only grow. */
  private def firstAt(records: Records, from: Int, offset: Long): Int =
    if (from >= records.size || records.get(records.size - 1).offset < offset) records.size
    else {
      var (low, high) = (from, records.size - 1)
      while (low < high) {
        val middle = (low + high) >>> 1
        if (records.get(middle).offset < offset) low = middle + 1 else high = middle
      }
      low
    }
}

/**
 * Offsets that a range names and the cluster does not have.
 *
 * @param at the next one to read
 * @param until the end of the range
 * @param earliest the first that is there
 * @param end the one after the last that is there
 */
private[source] final case class LostOffsets(
    partition: TopicPartition,
    at: Long,
    until: Long,
    earliest: Long,
    end: Long
) {

  /** Expired: where records are still there. Made anew, or cut: there is nothing of this range. */
  def resumeAt: Long = if (at < earliest) math.min(earliest, until) else until
}

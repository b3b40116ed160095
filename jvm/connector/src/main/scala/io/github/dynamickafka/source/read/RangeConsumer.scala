package io.github.dynamickafka.source.read

import java.time.Duration
import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{
  Consumer,
  ConsumerRecord,
  LogTruncationException,
  OffsetOutOfRangeException
}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.time.Clock

/** The first `size` of these records, all of one partition. */
private[source] final case class Slice(
    partition: TopicPartition,
    records: ju.List[ConsumerRecord[Array[Byte], Array[Byte]]],
    size: Int
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
    consumer: Consumer[Array[Byte], Array[Byte]],
    clock: Clock = Clock.System
) {
  import RangeConsumer._

  // Where the client goes on, of the partitions that it has; behind that by no record.
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
    end()
    consumer.resume(consumer.paused)
    rests.filterInPlace((tp, rest) => ranges.get(tp).exists(_._1 == rest.at))
    if (partitions != ranges.keySet) {
      consumer.assign(ranges.keySet.asJava)
      positions.filterInPlace((tp, _) => ranges.contains(tp))
    }
    ranges.foreach { case (tp, (from, until)) =>
      open += tp -> until
      rests.remove(tp) match {
        case Some(rest) => take(tp, rest.records)
        case None => if (!positions.get(tp).contains(from)) seek(tp, from)
      }
      closeIfRead(tp)
    }
  }

  /** Leaves off, wherever it is: what was not taken is not kept. */
  def end(): Unit = {
    ready.clear()
    open.clear()
  }

  /**
   * The next records, or none when all ranges are read to their ends.
   *
   * @param silenceMs how long to wait for the cluster
   * @param lost told of offsets that are not there (any more); throws where that is an error
   * @param check called between waits, throws where the task is to end
   * @throws java.util.concurrent.TimeoutException when the cluster gives nothing for so long
   */
  def next(silenceMs: Long, lost: Lost => Unit, check: () => Unit): Option[Slice] = {
    val silence = new Silence(clock)
    while (ready.isEmpty && open.nonEmpty) {
      val before = positions.toMap
      try poll()
      catch { case e: OffsetOutOfRangeException => outOfRange(e, lost) }
      check()
      if (ready.nonEmpty || positions != before) silence.broken()
      else if (silence.lasts(silenceMs)) {
        val waiting = open.toSeq.map { case (tp, until) => s"$tp at ${positions(tp)} of $until" }.sorted
        throw new ju.concurrent.TimeoutException(
          s"nothing within $silenceMs ms from ${waiting.mkString(", ")}"
        )
      } else if (silence.isTimeToLook) {
        silence.gone(open.keySet.toSet -- there()).foreach { tp =>
          lost(LostPartition(tp, positions(tp)))
          close(tp)
        }
      }
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
      val found = records.records(tp)
      if (!found.isEmpty) {
        positions(tp) = found.get(found.size - 1).offset + 1
        take(tp, found)
      }
    }
    // Only when all records are taken: this can throw of any partition (KIP-320), and none may be lost by it.
    open.keys.toSeq.foreach { tp =>
      try positions(tp) = math.max(positions(tp), consumer.position(tp, Duration.ZERO))
      catch { case _: TimeoutException => () }
      closeIfRead(tp)
    }
  }

  private def take(tp: TopicPartition, records: Records): Unit = {
    val until = open(tp)
    val size = firstAt(records, until)
    if (size > 0) ready += Slice(tp, records, size)
    // Copied: the list would keep what the task has read in memory.
    if (size < records.size) rests(tp) = Rest(until, new ju.ArrayList(records.subList(size, records.size)))
    closeIfRead(tp)
  }

  private def closeIfRead(tp: TopicPartition): Unit =
    if (open.get(tp).exists(_ <= positions(tp))) close(tp)

  /** Not to be fetched from any more; what is on its way stays with the client. */
  private def close(tp: TopicPartition): Unit = {
    open.remove(tp)
    consumer.pause(ju.Set.of(tp))
  }

  private def seek(tp: TopicPartition, offset: Long): Unit = {
    consumer.seek(tp, offset)
    positions(tp) = offset
  }

  private def outOfRange(e: OffsetOutOfRangeException, lost: Lost => Unit): Unit = {
    val asked = e.offsetOutOfRangePartitions.keySet.asScala.toSet.filter(open.contains)
    if (asked.nonEmpty) {
      val earliest = consumer.beginningOffsets(asked.asJava)
      val ends = consumer.endOffsets(asked.asJava)
      asked.foreach { tp =>
        val loss = LostOffsets(
          tp,
          positions(tp),
          open(tp),
          earliest.get(tp),
          ends.get(tp),
          e.isInstanceOf[LogTruncationException]
        )
        if (!loss.isBack) lost(loss)
        // To the same place too: that ends the comparison with the log that was cut.
        seek(tp, loss.resumeAt)
        closeIfRead(tp)
      }
    }
  }

  /** Of what is still to be read, the partitions that the cluster has; all of them where it does not say. */
  private def there(): Set[TopicPartition] =
    open.keySet.toSet.groupBy((tp: TopicPartition) => tp.topic).flatMap { case (topic, of) =>
      try consumer.partitionsFor(topic, Duration.ofMillis(WaitMs)).asScala.map(p =>
          new TopicPartition(topic, p.partition)
        )
      catch { case _: TimeoutException => of }
    }.toSet
}

private[source] object RangeConsumer {
  private type Records = ju.List[ConsumerRecord[Array[Byte], Array[Byte]]]

  /** Records from `at` on that were fetched for a range which ended before them. */
  private final case class Rest(at: Long, records: Records)

  /** Between two looks at whether the task is to end. */
  private val WaitMs = 1000L

  /** Between two looks at whether the partitions are still there. */
  private val LookEveryMs = 3000L

  /** Index of the first record at or behind an offset; offsets of a partition only grow. */
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

  /** For how long a cluster has given nothing, and what has been found out about it meanwhile. */
  private final class Silence(clock: Clock) {
    private var from = clock.monotonicMs()
    private var looked = from
    private var suspected = Set.empty[TopicPartition]

    def broken(): Unit = {
      from = clock.monotonicMs()
      looked = from
      suspected = Set.empty
    }
    def lasts(ms: Long): Boolean = clock.monotonicMs() - from >= ms
    def isTimeToLook: Boolean = clock.monotonicMs() - looked >= LookEveryMs

    /** What is missing at two looks: a broker that has just started may not know of everything. */
    def gone(missing: Set[TopicPartition]): Set[TopicPartition] = {
      looked = clock.monotonicMs()
      val sure = missing.intersect(suspected)
      suspected = missing
      sure
    }

  }
}

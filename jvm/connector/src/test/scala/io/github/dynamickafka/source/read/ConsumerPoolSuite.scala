package io.github.dynamickafka.source.read

import java.{util => ju}

import org.apache.kafka.clients.consumer.ConsumerRecord
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.header.internals.RecordHeaders
import org.apache.kafka.common.record.TimestampType

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.LogIdentity
import io.github.dynamickafka.testkit.TimeLimit

/** Consumers between two tasks, with Kafka's mock consumer. */
class ConsumerPoolSuite extends MockClients with TimeLimit {

  private def sized(tp: TopicPartition, offset: Long, bytes: Int) = new ConsumerRecord(
    tp.topic,
    tp.partition,
    offset,
    0L,
    TimestampType.CREATE_TIME,
    ConsumerRecord.NULL_SIZE,
    bytes,
    null: Array[Byte],
    new Array[Byte](bytes),
    new RecordHeaders,
    ju.Optional.empty[Integer]
  )

  test("a consumer with records left serves its own partitions, others any of their cluster") {
    val clock = new ManualClock
    var opened = 0
    val pool = new ConsumerPool(
      s => { opened += 1; new RangeConsumer(s, new Client) },
      capacity = 2,
      idleMs = 100L,
      clock
    )
    def used(tp: TopicPartition, of: ConsumerSettings = settings): RangeConsumer = {
      val c = pool.acquire(of, ranges(tp -> (0L -> 0L)))
      c.begin(ranges(tp -> (0L -> 0L)))
      c
    }
    val first = used(p0)
    pool.release(first)
    assert(used(p1) eq first)
    val second = used(p0)
    assert(opened == 2 && (second ne first))
    pool.release(first)
    pool.release(second)
    assert(pool.acquire(settings, ranges(p1 -> (0L -> 10L))) eq first)
    assert(used(p0, new ConsumerSettings("blue", Map("bootstrap.servers" -> "elsewhere:1"))) ne second)
    assert(used(p0, new ConsumerSettings("green", settings.properties)) ne second)
    pool.release(first)
    assert(pool.size == 2)
    pool.release(used(p0, new ConsumerSettings("green", settings.properties)))
    assert(pool.size == 2, "the capacity")
    clock.advanceMs(100L)
    pool.sweep()
    assert(pool.size == 0)
  }

  test(
    "of several consumers of a partition, the one that has prefetched from the offset is chosen"
  ) {
    val pool = new ConsumerPool(
      s => new RangeConsumer(s, new Client),
      capacity = 9,
      idleMs = 100L,
      new ManualClock
    )
    // As with maxRecordsPerPartition: each task of a batch reads a part of the range.
    val readers = Seq(0L, 2L, 4L).map { from =>
      val client = new Client
      val c = new RangeConsumer(settings, client)
      bounds(client, p0, 0L, 10L)
      c.begin(ranges(p0 -> (from -> (from + 2L))))
      add(client, p0, (from until 10L): _*)
      assert(drain(c).size == 2)
      c
    }
    readers.foreach(pool.release)
    assert(pool.acquire(settings, ranges(p0 -> (6L -> 10L))) eq readers(2))
    assert(pool.acquire(settings, ranges(p0 -> (2L -> 10L))) eq readers(0))
    assert(pool.acquire(settings, ranges(p0 -> (9L -> 10L))) eq readers(1))
  }

  test("a consumer that has read another log of a partition is not chosen, whatever it reads now") {
    val pool =
      new ConsumerPool(s => new RangeConsumer(s, new Client), capacity = 9, idleMs = 100L, new ManualClock)
    def of(tp: TopicPartition, id: String, epoch: Long) = ranges(tp -> (0L -> 1L)).map { case (tp, range) =>
      tp -> range.copy(log = LogIdentity(Some(id), Some(epoch)))
    }
    val first = pool.create(settings)
    first.begin(of(p0, "former", 0L))
    first.begin(of(p1, "former", 0L))
    pool.release(first)
    Seq(of(p0, "new", 0L), of(p0, "former", 1L), ranges(p0 -> (0L -> 1L))).foreach(other =>
      assert(pool.acquire(settings, other) ne first)
    )
    assert(pool.acquire(settings, of(p0, "former", 0L)) eq first)
  }

  test(
    "what a consumer holds: records beyond its range, and buffers of what is left of the log, within the limits"
  ) {
    def reads(size: Int, end: Long, limits: (String, String)*) = {
      val client = new Client
      val c = new RangeConsumer(
        new ConsumerSettings("blue", Map("bootstrap.servers" -> "h:1") ++ limits),
        client
      )
      bounds(client, p0, 0L, end)
      c.begin(ranges(p0 -> (0L -> 1L)))
      (0 until 3).foreach(i => client.addRecord(sized(p0, i.toLong, size)))
      assert(drain(c) == Seq(0 -> 0L))
      c
    }
    val atEnd = reads(10000, 3L)
    assert(atEnd.measure() == 2 * (10000 + 150) && atEnd.heldBytes == atEnd.measure())
    val lags = reads(10000, 1003L)
    assert(lags.measure() == 2 * 10150 + (8 << 20), "8 MiB is the default of max.partition.fetch.bytes")
    assert(reads(10000, 13L).measure() == (2 + 10) * 10150)
    assert(reads(10000, 1003L, "max.partition.fetch.bytes" -> "9000").measure() == 2 * 10150 + 9000)
    assert(reads(10000, 1003L, "fetch.max.bytes" -> "5000").measure() == 2 * 10150 + 5000)
    lags.forget()
    assert(lags.heldBytes == 0L && lags.measure() == 0L && !lags.holdsRecords && lags.partitions.isEmpty)
  }

  test(
    "consumers whose records do not fit into its memory are kept without them, and read them again"
  ) {
    val pool =
      new ConsumerPool(
        _ => fail("none is opened"),
        capacity = 9,
        idleMs = 100L,
        new ManualClock,
        maxBytes = 25000L
      )
    val used = Seq(p0, p1).map { tp =>
      val client = new Client
      val c = new RangeConsumer(settings, client)
      bounds(client, tp, 0L, 3L)
      c.begin(ranges(tp -> (0L -> 1L)))
      (0 until 3).foreach(i => client.addRecord(sized(tp, i.toLong, 10000)))
      assert(drain(c).size == 1 && c.holdsRecords)
      pool.release(c)
      c -> client
    }
    assert(pool.size == 2 && used.map(_._1.holdsRecords) == Seq(true, false))
    val (again, client) = used(1)
    assert(pool.acquire(settings, ranges(p1 -> (1L -> 10L))) eq again)
    again.begin(ranges(p1 -> (1L -> 3L)))
    (1 until 3).foreach(i => client.addRecord(sized(p1, i.toLong, 10000)))
    assert(drain(again) == Seq(1 -> 1L, 1 -> 2L))
  }
}

package io.github.dynamickafka.source.reader

import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.collection.mutable

import org.apache.kafka.clients.consumer.{ConsumerRecord, MockConsumer, OffsetResetStrategy}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

/** Where ranges end, and what is kept for the next batch, on Kafka's own mock of a consumer. */
class RangeConsumerSuite extends AnyFunSuite {

  private val (p0, p1) = (new TopicPartition("t", 0), new TopicPartition("t", 1))
  private val settings = new ConsumerSettings("blue", Map("bootstrap.servers" -> "h:1"))

  /** Tells how often it was asked for records. */
  private final class Client extends MockConsumer[Array[Byte], Array[Byte]](OffsetResetStrategy.NONE) {
    var polls = 0
    override def poll(timeout: java.time.Duration) = {
      polls += 1
      super.poll(timeout)
    }
  }

  private def add(client: Client, tp: TopicPartition, offsets: Long*): Unit = offsets.foreach { offset =>
    client.addRecord(new ConsumerRecord(tp.topic, tp.partition, offset, null, Array[Byte](offset.toByte)))
  }

  private def bounds(client: Client, tp: TopicPartition, first: Long, end: Long): Unit = {
    client.updateBeginningOffsets(ju.Map.of(tp, Long.box(first)))
    client.updateEndOffsets(ju.Map.of(tp, Long.box(end)))
  }

  private val noLoss: LostOffsets => Unit = lost => fail(lost.toString)

  private def offsets(slice: Slice): Seq[(Int, Long)] =
    (slice.from until slice.to).map(i => slice.partition.partition -> slice.records.get(i).offset)

  private def drain(c: RangeConsumer, lost: LostOffsets => Unit = noLoss): Seq[(Int, Long)] =
    Iterator.continually(c.next(0L, lost, () => ())).takeWhile(_.isDefined).flatten.flatMap(offsets).toSeq

  test("a range is read to its end, and what came beyond it is the next batch's, without asking again") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(Map(p0 -> (0L -> 4L)))
    add(client, p0, 0L, 1L, 2L, 3L, 4L, 5L, 6L)
    assert(drain(c) == (0L until 4L).map(0 -> _))
    assert(c.holdsRecords && client.polls == 1)
    c.begin(Map(p0 -> (4L -> 6L)))
    assert(drain(c) == Seq(0 -> 4L, 0 -> 5L) && client.polls == 1)
    c.begin(Map(p0 -> (6L -> 8L)))
    add(client, p0, 7L)
    assert(drain(c) == Seq(0 -> 6L, 0 -> 7L))
    assert(!c.holdsRecords)
  }

  test("another start than where the last batch ended is sought") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(Map(p0 -> (0L -> 2L)))
    add(client, p0, 0L, 1L, 2L, 3L)
    assert(drain(c) == Seq(0 -> 0L, 0 -> 1L))
    c.begin(Map(p0 -> (1L -> 3L)))
    add(client, p0, 1L, 2L)
    assert(drain(c) == Seq(0 -> 1L, 0 -> 2L), "a batch that is read again")
  }

  test("several partitions: each to its own end; one that has reached it is not fetched from any more") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    bounds(client, p1, 0L, 10L)
    c.begin(Map(p0 -> (0L -> 1L), p1 -> (5L -> 7L)))
    add(client, p0, 0L)
    add(client, p1, 5L)
    val first = c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets) ++
      c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets)
    assert(first.toSet == Set(0 -> 0L, 1 -> 5L))
    assert(client.paused == ju.Set.of(p0))
    add(client, p1, 6L)
    assert(drain(c) == Seq(1 -> 6L))
    c.begin(Map(p0 -> (1L -> 2L), p1 -> (7L -> 8L)))
    assert(client.paused.isEmpty)
  }

  test("records that are not there are no reason to wait: the position passes the end of the range") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(Map(p0 -> (0L -> 4L)))
    // 1 to 4 are gone, as after a compaction.
    add(client, p0, 0L, 5L)
    assert(drain(c) == Seq(0 -> 0L))
    c.begin(Map(p0 -> (4L -> 6L)))
    assert(drain(c) == Seq(0 -> 5L))
  }

  test("expired offsets: told, then on with what is there; a topic made anew has nothing of the range") {
    val told = mutable.Buffer.empty[LostOffsets]
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 3L, 5L)
    bounds(client, p1, 0L, 2L)
    c.begin(Map(p0 -> (1L -> 5L), p1 -> (8L -> 9L)))
    client.setOffsetsException(null)
    client.setPollException(
      new org.apache.kafka.clients.consumer.OffsetOutOfRangeException(
        ju.Map.of(p0, Long.box(1L), p1, Long.box(8L))
      )
    )
    val found = Iterator.continually {
      if (told.size == 2 && client.position(p0) == 3L) add(client, p0, 3L, 4L)
      c.next(0L, lost => { told += lost; () }, () => ())
    }
    client.schedulePollTask(() => add(client, p0, 3L, 4L))
    assert(found.takeWhile(_.isDefined).flatten.flatMap(offsets).toSeq.distinct == Seq(0 -> 3L, 0 -> 4L))
    assert(told.toSet == Set(LostOffsets(p0, 1L, 5L, 3L, 5L), LostOffsets(p1, 8L, 9L, 0L, 2L)))
  }

  test("silence is an error that tells where") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(Map(p0 -> (0L -> 4L)))
    val e = intercept[TimeoutException](c.next(0L, noLoss, () => ()))
    assert(e.getMessage.contains("t-0 at 0 of 4"), e.getMessage)
  }

  test("a task that is to end does not wait for the cluster") {
    val c = new RangeConsumer(settings, new Client)
    c.begin(Map(p0 -> (0L -> 4L)))
    intercept[InterruptedException](c.next(Long.MaxValue, noLoss, () => throw new InterruptedException))
  }

  test("the pool: who has records left waits for its own partitions, others serve any of their cluster") {
    var now = 0L
    var opened = 0
    val pool = new ConsumerPool(
      s => { opened += 1; new RangeConsumer(s, new Client) },
      capacity = 2,
      idleMs = 100L,
      () => now
    )
    def used(tp: TopicPartition, of: ConsumerSettings = settings): RangeConsumer = {
      val c = pool.acquire(of, Set(tp))
      c.begin(Map(tp -> (0L -> 0L)))
      c
    }
    val first = used(p0)
    pool.release(first)
    assert(used(p1) eq first)
    val second = used(p0)
    assert(opened == 2 && (second ne first))
    pool.release(first)
    pool.release(second)
    assert(pool.acquire(settings, Set(p1)) eq first)
    assert(used(p0, new ConsumerSettings("blue", Map("bootstrap.servers" -> "elsewhere:1"))) ne second)
    assert(used(p0, new ConsumerSettings("green", settings.properties)) ne second)
    pool.release(first)
    assert(pool.size == 2)
    pool.release(used(p0, new ConsumerSettings("green", settings.properties)))
    assert(pool.size == 2, "the capacity")
    now = 100L
    pool.sweep()
    assert(pool.size == 0)
  }

  test("settings print no secret") {
    val s = new ConsumerSettings("blue", Map("sasl.jaas.config" -> "hush-hush", "client.id" -> "me"))
    assert(!s.toString.contains("hush-hush") && s.toString.contains("client.id=me"))
    assert(s.forConsumer.get("client.id") == "me" && s.forConsumer.get("auto.offset.reset") == "none")
  }
}

package io.github.dynamickafka.source.read

import java.time.Duration
import java.util.concurrent.TimeoutException
import java.{util => ju}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{
  LogTruncationException,
  OffsetAndMetadata,
  OffsetOutOfRangeException
}
import org.apache.kafka.common.errors.{DisconnectException, WakeupException}
import org.apache.kafka.common.{KafkaException, PartitionInfo, TopicPartition}

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{LogIdentity, Loss, OffsetRange}
import io.github.dynamickafka.testkit.TimeLimit

/** Where ranges end, and which records are kept for the next batch, with Kafka's mock consumer. */
class RangeConsumerSuite extends MockClients with TimeLimit {

  test("a range is read to its end; records beyond it are kept for the next batch, without another poll") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> 4L)))
    add(client, p0, 0L, 1L, 2L, 3L, 4L, 5L, 6L)
    assert(drain(c) == (0L until 4L).map(0 -> _))
    assert(c.holdsRecords && client.polls == 1)
    c.begin(ranges(p0 -> (4L -> 6L)))
    assert(drain(c) == Seq(0 -> 4L, 0 -> 5L) && client.polls == 1)
    c.begin(ranges(p0 -> (6L -> 8L)))
    add(client, p0, 7L)
    assert(drain(c) == Seq(0 -> 6L, 0 -> 7L))
    assert(!c.holdsRecords)
  }

  test("a consumer that is woken up after its last call reads further in the next batch, and loses nothing") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> OffsetRange.NoEnd)))
    add(client, p0, 0L, 1L)
    assert(c.follow(0L, noLoss).flatMap(offsets) == Seq(0 -> 0L, 0 -> 1L))
    add(client, p0, 2L)
    c.wakeUp()
    c.sleepAgain()
    assert(c.reached() == Map(p0 -> 2L))
    c.begin(ranges(p0 -> (2L -> OffsetRange.NoEnd)))
    assert(c.follow(0L, noLoss).flatMap(offsets) == Seq(0 -> 2L))
  }

  for (failure <- Seq(new WakeupException, new DisconnectException))
    test(
      s"${failure.getClass.getSimpleName} after a poll: what was taken is returned, as the position is behind it"
    ) {
      var fails = false
      val client = new Client {
        override def position(tp: TopicPartition, timeout: Duration): Long =
          if (fails) throw failure else super.position(tp, timeout)
      }
      val c = new RangeConsumer(settings, client)
      bounds(client, p0, 0L, 10L)
      c.begin(ranges(p0 -> (0L -> 5L)))
      add(client, p0, 0L, 1L)
      fails = true
      assert(c.follow(0L, noLoss).flatMap(offsets) == Seq(0 -> 0L, 0 -> 1L))
      assertThrows[KafkaException](c.follow(0L, noLoss))
      fails = false
      assert(c.reached() == Map(p0 -> 2L))
    }

  test("a start other than the end of the last batch is sought") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> 2L)))
    add(client, p0, 0L, 1L, 2L, 3L)
    assert(drain(c) == Seq(0 -> 0L, 0 -> 1L))
    c.begin(ranges(p0 -> (1L -> 3L)))
    add(client, p0, 1L, 2L)
    assert(drain(c) == Seq(0 -> 1L, 0 -> 2L), "a repeated batch")
  }

  test("several partitions: each one to its own end, then it is paused") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    bounds(client, p1, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> 1L), p1 -> (5L -> 7L)))
    add(client, p0, 0L)
    add(client, p1, 5L)
    val first = c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets) ++
      c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets)
    assert(first.toSet == Set(0 -> 0L, 1 -> 5L))
    assert(client.paused == ju.Set.of(p0))
    add(client, p1, 6L)
    assert(drain(c) == Seq(1 -> 6L))
    c.begin(ranges(p0 -> (1L -> 2L), p1 -> (7L -> 8L)))
    assert(client.paused.isEmpty)
  }

  test("missing records are not waited for: the position passes the end of the range") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> 4L)))
    // 1 to 4 are missing, as after a compaction.
    add(client, p0, 0L, 5L)
    assert(drain(c) == Seq(0 -> 0L))
    c.begin(ranges(p0 -> (4L -> 6L)))
    assert(drain(c) == Seq(0 -> 5L))
  }

  /** The losses and records that `c` returns after its client has found these offsets out of range. */
  private def afterLoss(client: Client, c: RangeConsumer, e: OffsetOutOfRangeException)(records: => Unit) = {
    val losses = mutable.Buffer.empty[Loss]
    client.setPollException(e)
    client.schedulePollTask(() => ())
    client.schedulePollTask(() => records)
    val found = Iterator.continually(c.next(60000L, loss => { losses += loss; () }, () => ()))
      .takeWhile(_.isDefined).flatten.flatMap(offsets).toList
    (losses.toSet, found)
  }

  private def outOfRange(at: (TopicPartition, Long)*) =
    new OffsetOutOfRangeException(at.map { case (tp, o) => tp -> Long.box(o) }.toMap.asJava)

  test("expired offsets: reported, then reading continues; a recreated topic has no record of the range") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 3L, 5L)
    bounds(client, p1, 0L, 2L)
    c.begin(ranges(p0 -> (1L -> 5L), p1 -> (8L -> 9L)))
    val (losses, found) = afterLoss(client, c, outOfRange(p0 -> 1L, p1 -> 8L))(add(client, p0, 3L, 4L))
    assert(found == Seq(0 -> 3L, 0 -> 4L))
    assert(losses == Set(Loss.Expired("blue", "t", 0, 1L, 3L), Loss.Recreated("blue", "t", 1, 8L, 2L)))
  }

  test("offsets that exist when they are looked up are not lost") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 5L)
    c.begin(ranges(p0 -> (3L -> 5L)))
    val (losses, found) = afterLoss(client, c, outOfRange(p0 -> 3L))(add(client, p0, 3L, 4L))
    assert(found == Seq(0 -> 3L, 0 -> 4L) && losses.isEmpty)
  }

  test("a truncated log that has grown again (KIP-320): reported, and reading continues at the same offset") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 5L)
    c.begin(ranges(p0 -> (3L -> 5L)))
    val cut = new LogTruncationException(ju.Map.of(p0, Long.box(3L)), ju.Map.of())
    val (losses, found) = afterLoss(client, c, cut)(add(client, p0, 3L, 4L))
    assert(found == Seq(0 -> 3L, 0 -> 4L))
    assert(losses == Set(Loss.Truncated("blue", "t", 0, 3L)))
  }

  /** As Kafka's: a position with an epoch is compared with the log, which diverges at this offset, before it is read. */
  private class Comparing(diverges: Long) extends Client {
    val compared = mutable.Buffer.empty[(TopicPartition, Long, Int)]
    override def seek(tp: TopicPartition, to: OffsetAndMetadata): Unit = {
      super.seek(tp, to)
      val epoch = to.leaderEpoch.orElseThrow()
      compared += ((tp, to.offset, epoch))
      if (to.offset > diverges)
        setPollException(
          new LogTruncationException(
            ju.Map.of(tp, Long.box(to.offset)),
            ju.Map.of(tp, new OffsetAndMetadata(diverges, ju.Optional.of(Int.box(epoch)), ""))
          )
        )
    }
  }

  test(
    "a start with a leader epoch is compared with the log; where that diverges, the range is read from its start"
  ) {
    val client = new Comparing(diverges = 2L)
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 9L)
    bounds(client, p1, 0L, 9L)
    c.begin(compared(7L, ranges(p0 -> (3L -> 5L))) ++ ranges(p1 -> (4L -> 5L)))
    add(client, p1, 4L)
    val losses = mutable.Buffer.empty[Loss]
    client.schedulePollTask(() => ())
    client.schedulePollTask(() => add(client, p0, 3L, 4L))
    val found = Iterator.continually(c.next(60000L, loss => { losses += loss; () }, () => ()))
      .takeWhile(_.isDefined).flatten.flatMap(offsets).toSeq
    assert(client.compared.toSeq == Seq((p0, 3L, 7)))
    assert(losses.toSeq == Seq(Loss.Truncated("blue", "t", 0, 3L, diverges = Some(2L))))
    assert(found.toSet == Set(1 -> 4L, 0 -> 3L, 0 -> 4L))
    val text = losses.head.text
    assert(text.contains("offset 3") && text.contains("from offset 2 on"), text)
  }

  test("records that were fetched before are dropped if their log has to be compared, others are not") {
    val client = new Comparing(diverges = 9L)
    val c = new RangeConsumer(settings, client)
    val both = ranges(p0 -> (0L -> 2L), p1 -> (0L -> 2L))
    both.keys.foreach(bounds(client, _, 0L, 9L))
    c.begin(both)
    both.keys.foreach(add(client, _, 0L, 1L, 2L, 3L))
    assert(drain(c).size == 4 && c.holdsRecords)
    c.begin(compared(7L, ranges(p0 -> (2L -> 4L))) ++ ranges(p1 -> (2L -> 4L)))
    assert(client.compared.toSeq == Seq((p0, 2L, 7)))
    assert(
      c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets) == Seq(1 -> 2L, 1 -> 3L),
      "p1 is not fetched again"
    )
    add(client, p0, 2L, 3L)
    assert(drain(c) == Seq(0 -> 2L, 0 -> 3L))
    // The own position of the consumer is compared as well, also before the records are fetched ahead.
    client.schedulePollTask(() => add(client, p0, 4L))
    c.prefetch(compared(8L, ranges(p0 -> (4L -> 5L))), 1L, () => true)
    assert(client.compared.toSeq == Seq((p0, 2L, 7), (p0, 4L, 8)))
  }

  test("an error about one partition after a poll loses no record of another") {
    val client = new Client {
      var cut = true
      // The client compares logs when it is asked for a position, and then reports any partition.
      override def position(tp: TopicPartition, timeout: java.time.Duration): Long =
        if (cut) {
          cut = false
          throw new LogTruncationException(ju.Map.of(p1, Long.box(9L)), ju.Map.of())
        } else super.position(tp, timeout)
    }
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 9L)
    c.begin(ranges(p0 -> (0L -> 4L)))
    add(client, p0, 0L, 1L)
    assert(c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets) == Seq(0 -> 0L, 0 -> 1L))
    add(client, p0, 2L, 3L)
    assert(drain(c) == Seq(0 -> 2L, 0 -> 3L))
  }

  test("no data within the time limit: the error names partition and offset") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    c.begin(ranges(p0 -> (0L -> 4L)))
    val e = intercept[TimeoutException](c.next(0L, noLoss, () => ()))
    assert(e.getMessage.contains("t-0 at offset 0 of 4"), e.getMessage)
  }

  private val silent = Loss.TopicGone("blue", "silent")

  /** The losses of a range to 9 while the log ends at `end`, with time passing in each poll. */
  private def inSilence(end: Long, records: Seq[Long]): Seq[Loss] = {
    val clock = new ManualClock
    val client = new Client {
      override def poll(timeout: java.time.Duration) = {
        clock.advanceMs(1000L)
        super.poll(timeout)
      }
    }
    val c = new RangeConsumer(settings, client, clock)
    bounds(client, p0, 0L, end)
    client.updatePartitions("t", ju.List.of(new PartitionInfo("t", 0, null, null, null)))
    c.begin(ranges(p0 -> (2L -> 9L)))
    add(client, p0, records: _*)
    val losses = mutable.Buffer.empty[Loss]
    def next() = c.next(30000L, loss => { losses += loss; () }, () => ())
    try Iterator.continually(next()).takeWhile(_.isDefined).foreach(_ => ())
    catch { case _: TimeoutException => losses += silent }
    assert(clock.monotonicMs() <= 31000L)
    losses.toSeq
  }

  test("a range that ends beyond the log is judged within seconds, when the log is read to its end") {
    assert(inSilence(5L, Seq(2L, 3L, 4L)) == Seq(Loss.BeyondEnd("blue", "t", 0, 5L, 9L, 5L)))
    assert(inSilence(2L, Nil) == Seq(Loss.BeyondEnd("blue", "t", 0, 2L, 9L, 2L)))
  }

  test("a range within the log is waited for, however long the cluster is silent") {
    Seq(9L, 12L).foreach(end => assert(inSilence(end, Seq(2L)) == Seq(silent)))
    assert(inSilence(5L, Seq(2L, 3L)) == Seq(silent), "the rest of the log may still come")
  }

  /** A client that reads up to the last stable offset, and another one for the end of the log. */
  private def readingCommitted(stable: Long, end: Long): (Client, RangeConsumer) = {
    val clock = new ManualClock
    val client = new Client {
      override def poll(timeout: java.time.Duration) = {
        clock.advanceMs(1000L)
        super.poll(timeout)
      }
    }
    def log() = {
      val other = new Client
      bounds(other, p0, 0L, end)
      other
    }
    bounds(client, p0, 0L, stable)
    client.updatePartitions("t", ju.List.of(new PartitionInfo("t", 0, null, null, null)))
    (client, new RangeConsumer(settings, client, clock, uncommitted = Some(() => log())))
  }

  test("a range beyond the last stable offset is waited for: its records come when the transaction ends") {
    val (client, c) = readingCommitted(stable = 5L, end = 9L)
    c.begin(ranges(p0 -> (5L -> 9L)))
    (1 to 8).foreach(_ => client.schedulePollTask(() => ()))
    client.schedulePollTask { () =>
      bounds(client, p0, 0L, 9L)
      add(client, p0, 5L, 6L, 7L, 8L)
    }
    assert(c.next(30000L, noLoss, () => ()).toSeq.flatMap(offsets) == (5L until 9L).map(0 -> _))
    assert(c.next(30000L, noLoss, () => ()).isEmpty && client.polls == 9)
  }

  test("a range beyond the end of the log is lost, also with read_committed") {
    val (_, c) = readingCommitted(stable = 3L, end = 5L)
    c.begin(ranges(p0 -> (5L -> 9L)))
    val losses = mutable.Buffer.empty[Loss]
    assert(c.next(30000L, loss => { losses += loss; () }, () => ()).isEmpty)
    assert(losses.toSeq == Seq(Loss.BeyondEnd("blue", "t", 0, 5L, 9L, 5L)))
  }

  test("an offset that is out of range and is in range again within an open transaction is not lost") {
    val (client, c) = readingCommitted(stable = 2L, end = 9L)
    c.begin(ranges(p0 -> (3L -> 5L)))
    val (losses, found) = afterLoss(client, c, outOfRange(p0 -> 3L)) {
      bounds(client, p0, 0L, 9L)
      add(client, p0, 3L, 4L)
    }
    assert(found == Seq(0 -> 3L, 0 -> 4L) && losses.isEmpty)
  }

  test("a topic that is recreated before it is read: no record of the new one, and one loss for its ranges") {
    val client = new Client
    var id = "former"
    val c = new RangeConsumer(settings, client, topicIds = _ => Some(id))
    val both = ranges(p0 -> (0L -> 4L), p1 -> (0L -> 4L)).map { case (tp, range) =>
      tp -> range.copy(log = LogIdentity(Some("former"), Some(0L)))
    }
    both.keys.foreach(bounds(client, _, 0L, 9L))
    c.begin(both)
    add(client, p0, 0L, 1L)
    assert(c.next(0L, noLoss, () => ()).toSeq.flatMap(offsets) == Seq(0 -> 0L, 0 -> 1L))
    id = "new"
    both.keys.foreach(add(client, _, 2L, 3L, 4L))
    val losses = mutable.Buffer.empty[Loss]
    assert(drain(c, loss => { losses += loss; () }).isEmpty)
    losses.toSeq match {
      case Seq(loss: Loss.TopicRecreated) =>
        assert(loss.known.toMap == Map(0 -> 2L, 1 -> 0L) && loss.ends.toMap == Map(0 -> 9L, 1 -> 9L))
        assert((loss.oldId, loss.newId) == (("former", "new")))
      case other => fail(other.toString)
    }
    assert(!c.holdsRecords, "nor is any kept for the next range")
    assert(!c.fits(both.map { case (tp, range) => tp -> range.copy(log = LogIdentity(Some("new"))) }))
  }

  test("an interrupted task does not wait for the cluster") {
    val c = new RangeConsumer(settings, new Client)
    c.begin(ranges(p0 -> (0L -> 4L)))
    intercept[InterruptedException](c.next(Long.MaxValue, noLoss, () => throw new InterruptedException))
  }

  test("records that are fetched ahead are kept for their range, and for no other start") {
    val client = new Client
    val c = new RangeConsumer(settings, client)
    bounds(client, p0, 0L, 10L)
    client.schedulePollTask(() => ())
    client.schedulePollTask(() => add(client, p0, 0L, 1L, 2L, 3L, 4L))
    c.prefetch(ranges(p0 -> (0L -> 3L)), 1L, () => true)
    assert(client.polls == 2, "the first poll returned nothing")
    assert(c.prefetched(ranges(p0 -> (0L -> 3L))) == 1 && c.prefetched(ranges(p0 -> (3L -> 5L))) == 0)
    c.begin(ranges(p0 -> (0L -> 3L)))
    assert(drain(c) == (0L until 3L).map(0 -> _) && client.polls == 2)
    c.begin(ranges(p0 -> (3L -> 5L)))
    assert(drain(c) == Seq(0 -> 3L, 0 -> 4L) && client.polls == 2)
    c.prefetch(ranges(p0 -> (5L -> 6L)), 1L, () => false)
    assert(!c.holdsRecords && client.polls == 2, "it is not waited for")
    add(client, p0, 5L)
    c.prefetch(ranges(p0 -> (5L -> 6L)), 1L, () => true)
    c.begin(ranges(p0 -> (2L -> 4L)))
    add(client, p0, 2L, 3L)
    assert(drain(c) == Seq(0 -> 2L, 0 -> 3L), "a repeated batch")
  }

  test("the text of settings contains no secret") {
    val s = new ConsumerSettings("blue", Map("sasl.jaas.config" -> "hush-hush", "client.id" -> "me"))
    assert(!s.toString.contains("hush-hush") && s.toString.contains("client.id=me"))
    assert(s.forConsumer.get("client.id") == "me" && s.forConsumer.get("auto.offset.reset") == "none")
  }
}

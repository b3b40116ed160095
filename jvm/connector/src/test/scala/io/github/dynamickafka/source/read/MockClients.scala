package io.github.dynamickafka.source.read

import java.{util => ju}

import org.apache.kafka.clients.consumer.{ConsumerRecord, MockConsumer, OffsetResetStrategy}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.{Loss, OffsetRange}

/** Kafka's mock consumer for suites of [[RangeConsumer]] and of its pool, with two partitions of one topic. */
private[read] trait MockClients extends AnyFunSuite {

  protected val (p0, p1) = (new TopicPartition("t", 0), new TopicPartition("t", 1))
  protected val settings = new ConsumerSettings("blue", Map("bootstrap.servers" -> "h:1"))

  /** Counts its polls. */
  protected class Client extends MockConsumer[Array[Byte], Array[Byte]](OffsetResetStrategy.NONE) {
    var polls = 0
    override def poll(timeout: java.time.Duration) = {
      polls += 1
      super.poll(timeout)
    }
  }

  protected def add(client: Client, tp: TopicPartition, offsets: Long*): Unit = offsets.foreach { offset =>
    client.addRecord(new ConsumerRecord(tp.topic, tp.partition, offset, null, Array[Byte](offset.toByte)))
  }

  protected def bounds(client: Client, tp: TopicPartition, first: Long, end: Long): Unit = {
    client.updateBeginningOffsets(ju.Map.of(tp, Long.box(first)))
    client.updateEndOffsets(ju.Map.of(tp, Long.box(end)))
  }

  protected def ranges(all: (TopicPartition, (Long, Long))*): RangeConsumer.Ranges =
    all.map { case (tp, (from, until)) => tp -> OffsetRange(tp.topic, tp.partition, from, until) }.toMap

  /** Their starts are compared with the log. */
  protected def compared(epoch: Long, all: RangeConsumer.Ranges): RangeConsumer.Ranges =
    all.map { case (tp, range) => tp -> range.copy(epoch = Some(epoch)) }

  protected val noLoss: Loss => Unit = lost => fail(lost.toString)

  protected def offsets(slice: Slice): Seq[(Int, Long)] =
    (0 until slice.size).map(i => slice.partition.partition -> slice.records.get(i).offset)

  protected def drain(c: RangeConsumer, lost: Loss => Unit = noLoss): Seq[(Int, Long)] =
    Iterator.continually(c.next(0L, lost, () => ())).takeWhile(_.isDefined).flatten.flatMap(offsets).toSeq
}

package io.github.dynamickafka.metadata.watch

import java.util.concurrent.CountDownLatch
import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/** Answers by what the test has set last, and counts. */
private[metadata] class ScriptedService(initial: () => Seq[KafkaStream]) extends KafkaMetadataService {
  private val answer = new AtomicReference(initial)
  val calls = new AtomicInteger
  val atOnce = new AtomicInteger
  val mostAtOnce = new AtomicInteger
  val closed = new CountDownLatch(1)
  @volatile var inactive: Set[String] = Set.empty

  def answers(streams: KafkaStream*): Unit = answer.set(() => streams)
  def throws(e: => Throwable): Unit = answer.set(() => throw e)

  /** Calls hang, deaf to interrupts as a call into Python is, until the latch is opened. */
  def hangs(): CountDownLatch = {
    val latch = new CountDownLatch(1)
    answer.set { () =>
      while (latch.getCount > 0)
        try latch.await()
        catch { case _: InterruptedException => () }
      Seq.empty
    }
    latch
  }

  override def getAllStreams(): ju.Set[KafkaStream] = counted(answer.get.apply()).toSet.asJava

  override def describeStreams(streamIds: ju.Collection[String]): ju.Map[String, KafkaStream] = {
    val streams = counted(answer.get.apply())
    if (streams == null) null
    else streams.filter(s => streamIds.contains(s.streamId)).map(s => s.streamId -> s).toMap.asJava
  }

  override def isClusterActive(clusterId: String): Boolean = !inactive(clusterId)
  override def close(): Unit = closed.countDown()

  private def counted[A](body: => A): A = {
    calls.incrementAndGet()
    mostAtOnce.accumulateAndGet(atOnce.incrementAndGet(), (a, b) => math.max(a, b))
    try body
    finally { atOnce.decrementAndGet(); () }
  }
}

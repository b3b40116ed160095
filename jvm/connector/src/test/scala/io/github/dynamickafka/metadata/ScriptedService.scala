package io.github.dynamickafka.metadata

import java.util.concurrent.atomic.{AtomicInteger, AtomicReference}
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch}
import java.{util => ju}

import scala.jdk.CollectionConverters._

/** A metadata service that returns the answer that the test has set last, and records its calls. */
class ScriptedService(initial: () => Seq[KafkaStream]) extends KafkaMetadataService {
  protected val answer = new AtomicReference(initial)
  val calls = new AtomicInteger
  val atOnce = new AtomicInteger
  val mostAtOnce = new AtomicInteger

  /** The threads that have called. */
  val threads = new ConcurrentLinkedQueue[Thread]
  val closed = new CountDownLatch(1)
  @volatile var inactive: Set[String] = Set.empty
  @volatile private var hanging = false

  def answers(streams: KafkaStream*): Unit = answer.set(() => streams)
  def throws(e: => Throwable): Unit = answer.set(() => throw e)

  /** Calls hang until the latch is opened, and ignore interrupts like a call into Python does. */
  def hangs(): CountDownLatch = {
    val latch = new CountDownLatch(1)
    answer.set { () =>
      hanging = true
      while (latch.getCount > 0)
        try latch.await()
        catch { case _: InterruptedException => () }
      hanging = false
      Seq.empty
    }
    latch
  }

  /** Whether a call is hanging at the moment. */
  def isHanging: Boolean = hanging

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
    threads.add(Thread.currentThread)
    try body
    finally { atOnce.decrementAndGet(); () }
  }
}

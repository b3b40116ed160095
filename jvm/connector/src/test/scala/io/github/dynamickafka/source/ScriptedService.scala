package io.github.dynamickafka.source

import java.util.concurrent.ConcurrentLinkedQueue
import java.util.concurrent.atomic.AtomicInteger
import java.{util => ju}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.metadata.{KafkaMetadataService, KafkaStream}

/** A metadata service that says what a test wants it to say, at once from the next call on. */
final class ScriptedService extends KafkaMetadataService {
  @volatile var streams: Map[String, Seq[Entry]] = Map.empty
  @volatile var inactive: Set[String] = Set.empty

  /** Run in each call, before it answers: to fail, or to take its time. */
  @volatile var behave: () => Unit = () => ()
  @volatile var closed = false

  private val calls = new AtomicInteger
  private val inside = new AtomicInteger
  val mostAtOnce = new AtomicInteger
  val threads = new ConcurrentLinkedQueue[Thread]

  def callCount: Int = calls.get

  /** Whether a call is under way. */
  def isBusy: Boolean = inside.get > 0

  /** Returns when the connector has taken over what the service says now. */
  def awaitAnswers(): Unit = {
    // The first call may have begun before; the third one begins after the second one's answer was taken.
    val enough = calls.get + 3
    val deadline = System.nanoTime() + 300000000000L
    while (calls.get < enough) {
      if (System.nanoTime() > deadline) throw new AssertionError("the service is not asked any more")
      Thread.sleep(5)
    }
  }

  override def getAllStreams(): ju.Set[KafkaStream] = answer(all.values.toSet.asJava)

  override def describeStreams(ids: ju.Collection[String]): ju.Map[String, KafkaStream] =
    answer(all.filter { case (id, _) => ids.contains(id) }.asJava)

  override def isClusterActive(id: String): Boolean = !inactive(id)

  override def close(): Unit = closed = true

  private def all = streams.map { case (id, entries) =>
    id -> new KafkaStream(id, entries.map(e => e.id -> e.metadata).toMap.asJava)
  }

  private def answer[A](value: => A): A = {
    calls.incrementAndGet()
    mostAtOnce.accumulateAndGet(inside.incrementAndGet(), math.max(_, _))
    threads.add(Thread.currentThread)
    try {
      behave()
      value
    } finally {
      inside.decrementAndGet()
      ()
    }
  }
}

package io.github.dynamickafka.latency

import java.util.concurrent.atomic.AtomicInteger

import com.fasterxml.jackson.databind.node.ObjectNode

/** When the records of a measurement were sent, and how long after that they were seen. Any number of threads add. */
private[latency] final class Latencies {
  import Latencies._

  private val sent = new Array[Long](Capacity)
  private val took = new Array[Long](Capacity)
  private val clusters = new Array[Int](Capacity)
  private val next = new AtomicInteger
  private val added = new AtomicInteger

  /** Called by the thread that has got the record. */
  def add(value: Array[Byte]): Unit = {
    val now = SentRecord.now()
    val i = next.getAndIncrement()
    sent(i) = SentRecord.sent(value)
    took(i) = now - sent(i)
    clusters(i) = SentRecord.cluster(value)
    // After the writes, which a thread that reads the number sees.
    val _ = added.incrementAndGet()
  }

  def count: Int = added.get

  /** Milliseconds, of the records of these clusters that were sent in the period. While no thread adds. */
  def percentiles(from: Long, until: Long, of: Set[Int]): ObjectNode = {
    val sorted = (0 until count).iterator
      .filter(i => sent(i) >= from && sent(i) < until && of(clusters(i))).map(took).toArray.sorted
    val found = Conversation.answer().put("records", sorted.length)
    Shares.foreach { case (name, share) =>
      val at = (math.ceil(share * sorted.length).toInt - 1).max(0)
      if (sorted.nonEmpty) found.put(name, sorted(at) / 1e6)
    }
    found
  }
}

private[latency] object Latencies {

  /** More records than a measurement has. */
  private val Capacity = 1 << 20

  private val Shares =
    Seq("p50_ms" -> 0.5, "p90_ms" -> 0.9, "p99_ms" -> 0.99, "p999_ms" -> 0.999, "max_ms" -> 1.0)

  /** The latencies of the running measurement: tasks, in the same JVM, have no other way to them. */
  @volatile var running: Latencies = new Latencies
}

package io.github.dynamickafka.source.read

import java.time.Duration
import java.util.concurrent.atomic.AtomicInteger

import org.apache.kafka.clients.consumer.KafkaConsumer

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.source.Queries
import io.github.dynamickafka.testkit.KafkaCluster

/** Readers of tasks, called without Spark's tasks. */
trait ReaderTest extends Queries {

  /** Counts the consumers that a pool opens and closes. */
  private[source] final class Consumers {
    private val made, ended = new AtomicInteger
    def opened: Int = made.get
    def closed: Int = ended.get

    def open(settings: ConsumerSettings): RangeConsumer = {
      made.incrementAndGet()
      val client = new KafkaConsumer[Array[Byte], Array[Byte]](settings.forConsumer) {
        override def close(timeout: Duration): Unit = {
          ended.incrementAndGet()
          super.close(timeout)
        }
      }
      RangeConsumers.of(settings, client)
    }
  }

  /**
   * Runs the body with a pool of its own, and checks that all of its consumers are closed.
   *
   * @param before called when a consumer is opened
   */
  private[source] def withPoolThat(before: () => Unit)(body: (ConsumerPool, Consumers) => Unit): Unit = {
    val consumers = new Consumers
    val clock = new ManualClock
    val pool = new ConsumerPool(
      settings => {
        before()
        consumers.open(settings)
      },
      capacity = 8,
      idleMs = 3600000L,
      clock
    )
    try body(pool, consumers)
    finally {
      clock.advanceMs(3600000L)
      pool.sweep()
    }
    // A consumer that is still being opened is closed by the thread that opens it.
    eventually(assert(consumers.closed == consumers.opened, "a consumer is neither in the pool nor closed"))
    ()
  }

  private[source] def withPool(body: (ConsumerPool, Consumers) => Unit): Unit = withPoolThat(() => ())(body)

  /** Ranges of a topic as (partition, from, until), read from a cluster of this id. */
  private[source] def bundleOf(
      id: String,
      cluster: KafkaCluster,
      topic: String,
      silenceMs: Long,
      ranges: (Int, Long, Long)*
  ): RangeBundle =
    RangeBundle(
      new ConsumerSettings(id, Map("bootstrap.servers" -> cluster.bootstrapServers)),
      ranges.map { case (p, from, until) => StreamRange("orders", OffsetRange(topic, p, from, until)) },
      ReadSettings(includeHeaders = false, failOnDataLoss = true, silenceMs),
      Nil
    )

  private[source] def bundle(
      cluster: KafkaCluster,
      topic: String,
      silenceMs: Long,
      ranges: (Int, Long, Long)*
  ): RangeBundle =
    bundleOf("red", cluster, topic, silenceMs, ranges: _*)

  private[source] def readerOf(bundle: RangeBundle, pool: ConsumerPool): BundleReader =
    new BundleReader(bundle, pool, aheadOf(pool), new ReaderMetrics)

  private[source] def aheadOf(pool: ConsumerPool): ReadAhead =
    new ReadAhead(pool, SharedTaskReader.threads, Clock.System)
}

package io.github.dynamickafka.source.read

import java.time.Duration
import java.util.concurrent.{ConcurrentLinkedQueue, CountDownLatch, Executor}
import java.{util => ju}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.{ConsumerRecord, MockConsumer, OffsetResetStrategy}
import org.apache.kafka.common.KafkaException
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.kafka.ConsumerSettings
import io.github.dynamickafka.offset.OffsetRange
import io.github.dynamickafka.testkit.TimeLimit

/** Fetches for tasks that start later, with Kafka's mock consumer. */
class ReadAheadSuite extends AnyFunSuite with TimeLimit with Eventually {

  implicit override def patienceConfig: PatienceConfig = PatienceConfig(Span(60, Seconds), Span(5, Millis))

  private val bundle = RangeBundle(
    new ConsumerSettings("blue", Map("bootstrap.servers" -> "h:1")),
    Seq(StreamRange("orders", OffsetRange("t", 0, 0L, 2L))),
    ReadSettings(includeHeaders = false, failOnDataLoss = true, 1000L),
    Nil
  )

  /** Its records arrive with the first poll. */
  private final class Client(records: Int)
      extends MockConsumer[Array[Byte], Array[Byte]](OffsetResetStrategy.NONE) {
    @volatile var polls = 0
    override def poll(timeout: Duration) = {
      polls += 1
      if (polls == 1) (0 until records).foreach(i =>
        addRecord(new ConsumerRecord("t", 0, i.toLong, Array.empty[Byte], Array(i.toByte)))
      )
      else Thread.sleep(1L)
      super.poll(timeout)
    }
  }

  private class Scene(client: => Client, capacity: Int = 8) {
    val opened = new ConcurrentLinkedQueue[Client]
    val pool = new ConsumerPool(
      settings => {
        val made = client
        opened.add(made)
        made.updateBeginningOffsets(ju.Map.of(bundle.byPartition.keys.head, Long.box(0L)))
        new RangeConsumer(settings, made)
      },
      capacity,
      3600000L,
      new ManualClock
    )
    def threads: Executor = task => new Thread(task).start()
    lazy val ahead = new ReadAhead(pool, threads, Clock.System)
    val noCheck: () => Unit = () => ()

    def rows(): Seq[Byte] = {
      val reader = new BundleReader(bundle, pool, ahead, new ReaderMetrics)
      val found = Iterator.continually(reader).takeWhile(_.next()).map(_.get().getBinary(1).head).toList
      reader.close()
      found
    }
  }

  test("a task finds the consumer that was opened for it, with its first records") {
    val s = new Scene(new Client(records = 2))
    s.ahead.begin(Seq(bundle))
    eventually(assert(s.pool.size == 1))
    assert(s.rows() == Seq(0, 1) && s.opened.asScala.map(_.polls).toSeq == Seq(1))
  }

  test("a fetch that cannot be started is not waited for") {
    val s = new Scene(new Client(records = 2)) {
      override def threads: Executor = _ => throw new OutOfMemoryError("unable to create native thread")
    }
    intercept[OutOfMemoryError](s.ahead.begin(Seq(bundle)))
    s.ahead.handOver(bundle, () => fail("it waits"))
  }

  test("a range is fetched once, however many tasks name it") {
    val s = new Scene(new Client(records = 0))
    (1 to 5).foreach(_ => s.ahead.begin(Seq(bundle, bundle)))
    eventually(assert(s.opened.size == 1 && s.opened.peek.polls > 3))
    s.ahead.handOver(bundle, s.noCheck)
    assert(s.opened.size == 1 && s.pool.size == 1)
  }

  test("a task that starts before the records arrive takes the consumer over") {
    val s = new Scene(new Client(records = 0))
    s.ahead.begin(Seq(bundle))
    eventually(assert(s.opened.size == 1 && s.opened.peek.polls > 3))
    s.opened.peek.schedulePollTask { () =>
      Seq(0, 1).foreach(i =>
        s.opened.peek.addRecord(new ConsumerRecord("t", 0, i.toLong, null, Array(i.toByte)))
      )
    }
    assert(s.rows() == Seq(0, 1) && s.opened.size == 1)
  }

  test("an error is left to the task, and the consumer that had it is not used") {
    @volatile var fails = true
    val failed = new CountDownLatch(1)
    val s = new Scene({
      if (fails) {
        failed.countDown()
        throw new KafkaException("no log-in")
      }
      new Client(records = 2)
    })
    s.ahead.begin(Seq(bundle))
    failed.await()
    s.ahead.handOver(bundle, s.noCheck)
    assert(s.pool.size == 0)
    fails = false
    assert(s.rows() == Seq(0, 1))
  }

  test("a task that is cancelled does not wait for a consumer that is being opened") {
    val opening, opened = new CountDownLatch(1)
    val s = new Scene({
      opening.countDown()
      opened.await()
      new Client(records = 2)
    })
    s.ahead.begin(Seq(bundle))
    // A task that comes before the thread has started does not let it open anything.
    opening.await()
    intercept[IllegalStateException](s.ahead.handOver(
      bundle,
      () => throw new IllegalStateException("cancelled")
    ))
    opened.countDown()
    eventually(assert(s.pool.size == 1))
  }

  test("nothing is opened ahead that a full pool would close") {
    val s = new Scene(new Client(records = 2), capacity = 1)
    s.ahead.begin(Seq(bundle))
    eventually(assert(s.pool.size == 1))
    s.ahead.begin(Seq(bundle.copy(ranges = Seq(StreamRange("orders", OffsetRange("t", 1, 0L, 2L))))))
    assert(s.rows() == Seq(0, 1) && s.opened.size == 1)
  }
}

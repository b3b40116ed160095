package io.github.dynamickafka.kafka

import java.util.concurrent.atomic.AtomicReference
import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.producer.{MockProducer, ProducerRecord}
import org.apache.kafka.common.errors.{
  InvalidTimestampException,
  RecordTooLargeException,
  SaslAuthenticationException,
  TimeoutException,
  TopicAuthorizationException
}
import org.apache.kafka.common.serialization.ByteArraySerializer
import org.apache.kafka.common.{InvalidRecordException, KafkaException}
import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.sink.RecordRouting
import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

/** Producers that several tasks share, and that fail. */
class SharedProducersSuite extends AnyFunSuite with TimeLimit with Eventually {
  implicit override val patienceConfig: PatienceConfig =
    PatienceConfig(timeout = Span(60, Seconds), interval = Span(5, Millis))

  private type Mock = MockProducer[Array[Byte], Array[Byte]]

  private def newMock() = new Mock(false, null, new ByteArraySerializer, new ByteArraySerializer)

  private val blue = new ProducerSettings("blue", Map("bootstrap.servers" -> "x:1"))
  private val green = new ProducerSettings("green", Map("bootstrap.servers" -> "y:1"))

  /** A client that splits batches: `flush` does not wait for the parts, and answers one record. */
  private final class Splitting
      extends Mock(false, null, new ByteArraySerializer, new ByteArraySerializer) {
    override def flush(): Unit = { val _ = completeNext() }
  }

  private final class Scene(opens: ProducerSettings => Unit = _ => (), mock: () => Mock = () => newMock()) {
    val clock = new ManualClock
    val opened = new AtomicReference(Vector.empty[Mock])
    val producers = new SharedProducers(
      settings => {
        opens(settings)
        val opening = mock()
        val _ = opened.updateAndGet(_ :+ opening)
        opening
      },
      60000L,
      clock
    )

    def send(sender: SharedSender): Unit =
      sender.send("blue", new ProducerRecord("t", Array[Byte](1), Array[Byte](2)))

    def sender(waits: Boolean = true): SharedSender = new SharedSender(_ => blue, producers, waits, clock)
  }

  private def failing(error: RuntimeException): Scene = {
    val scene = new Scene
    val sender = scene.sender()
    scene.send(sender)
    val _ = scene.opened.get.head.errorNext(error)
    intercept[RuntimeException](sender.commit())
    sender.close()
    scene
  }

  test(
    "a producer whose credentials are refused, that times out, or in an error state, is closed, and the next task opens another one"
  ) {
    Seq(
      new SaslAuthenticationException("refused"),
      // What a producer with outdated credentials reports.
      new TimeoutException("Expiring 1 record(s) for t-0: 120000 ms has passed since batch creation"),
      new KafkaException("Cannot execute transactional method because we are in an error state")
    ).foreach { error =>
      val scene = failing(error)
      eventually(assert(scene.opened.get.head.closed() && scene.producers.size == 0))
      scene.send(scene.sender())
      assert(scene.opened.get.size == 2 && !scene.opened.get.last.closed())
    }
  }

  test("records that expire: the error names a broker that does not answer, not only the size of batches") {
    def hint(why: String) = SendFailures.error(blue, "t", new TimeoutException(why)).getMessage
    val expired = hint("Expiring 1 record(s) for t-0:120000 ms has passed since batch creation")
    assert(expired.contains("frozen or unreachable") && expired.contains("'max.message.bytes'"), expired)
    val other = hint("Topic t not present in metadata after 60000 ms.")
    assert(!other.contains("'max.message.bytes'"), other)
  }

  test("an error that is about a record or a topic does not close the producer") {
    Seq(new RecordTooLargeException("large"), new TopicAuthorizationException("t")).foreach { error =>
      val scene = failing(error)
      scene.send(scene.sender())
      assert(scene.opened.get.size == 1 && !scene.opened.get.head.closed())
    }
  }

  test(
    "a task waits until its records are acknowledged; with none it does not, and a lost record is a warning"
  ) {
    Seq(true, false).foreach { waits =>
      val scene = new Scene
      val sender = scene.sender(waits)
      scene.send(sender)
      val _ = sender.commit()
      assert(scene.opened.get.head.flushed == waits)
    }
    val scene = new Scene
    val sender = scene.sender(waits = false)
    val logged = Logs.during(classOf[SharedSender]) {
      scene.send(sender)
      val _ = scene.opened.get.head.errorNext(new RecordTooLargeException("large"))
      sender.commit()
    }
    assert(logged.exists(line => line.contains("is lost") && line.contains("large")), logged)
  }

  test("a task is done when each of its records is answered, not when flush() returns") {
    val scene = new Scene(mock = () => new Splitting)
    val sender = scene.sender()
    (1 to 5).foreach(_ => scene.send(sender))
    val _ = sender.commit()
    val producer = scene.opened.get.head
    assert(producer.history.size == 5 && !producer.completeNext())
  }

  test("a record that brokers refuse becomes a dead letter, and the rest of its batch is sent again") {
    val scene = new Scene
    def letter(to: String, record: TaskSender.Record, reason: String) =
      RecordRouting.letter("dead", (_, _) => None)(to, record, reason)
    val sender = new SharedSender(_ => blue, scene.producers, waits = true, scene.clock, Some(letter _))
    (1 to 3).foreach(_ => scene.send(sender))
    val producer = scene.opened.get.head
    val others =
      "Failed to append record because it was part of a batch which had one more more invalid records"
    producer.errorNext(new KafkaException(others))
    producer.errorNext(new InvalidTimestampException("Timestamp 7 is out of range"))
    val _ = sender.commit()
    assert(producer.history.asScala.map(_.topic).toSeq == Seq("t", "t", "t", "t", "dead"))
    val headers = producer.history.asScala.last.headers.asScala.map(h => h.key -> new String(h.value)).toMap
    assert(headers("dynamic-kafka-reason").contains("out of range") && headers("dynamic-kafka-topic") == "t")
    // A dead letter that is refused fails the task.
    scene.send(sender)
    producer.errorNext(new InvalidRecordException("no key"))
    sender.send("blue", new ProducerRecord("t", Array[Byte](1), Array[Byte](2)))
    assert(producer.history.asScala.map(_.topic).drop(5).toSeq == Seq("t", "dead", "t"))
    producer.errorNext(new InvalidRecordException("no key"))
    val e = intercept[DynamicKafkaRuntimeException](sender.commit())
    assert(e.getMessage.contains("topic dead"))
  }

  test("a producer that no task has used for a while is closed") {
    val scene = new Scene
    val lease = scene.producers.acquire(blue)
    scene.clock.advanceMs(100000L)
    scene.producers.sweep()
    assert(!scene.opened.get.head.closed())
    scene.producers.release(lease)
    scene.clock.advanceMs(59999L)
    scene.producers.sweep()
    assert(!scene.opened.get.head.closed() && scene.producers.size == 1)
    scene.clock.advanceMs(1L)
    scene.producers.sweep()
    assert(scene.producers.size == 0)
    eventually(assert(scene.opened.get.head.closed()))
  }

  test("other tasks keep a retired producer until they end, and it is closed then") {
    val scene = new Scene
    val (first, second) = (scene.producers.acquire(blue), scene.producers.acquire(blue))
    assert(first.producer eq second.producer)
    scene.producers.retire(first)
    scene.producers.release(first)
    val third = scene.producers.acquire(blue)
    assert((third.producer ne second.producer) && !scene.opened.get.head.closed())
    scene.producers.release(second)
    eventually(assert(scene.opened.get.head.closed()))
    assert(!scene.opened.get.last.closed())
    scene.producers.release(third)
    assert(scene.producers.acquire(blue).producer eq third.producer)
  }

  test("a producer that takes long to open delays only its own cluster") {
    val (opening, proceed) = (new CountDownLatch(1), new CountDownLatch(1))
    val scene = new Scene(settings =>
      if (settings.cluster == "blue") {
        opening.countDown()
        val _ = proceed.await(60L, TimeUnit.SECONDS)
      }
    )
    val slow = new Thread(() => { val _ = scene.producers.acquire(blue) })
    slow.start()
    assert(opening.await(60L, TimeUnit.SECONDS))
    scene.producers.acquire(green)
    assert(slow.isAlive && scene.opened.get.size == 1)
    proceed.countDown()
    slow.join(60000L)
    assert(scene.opened.get.size == 2)
  }

  test("a producer that cannot be opened is tried again by the next task") {
    var attempts = 0
    val scene = new Scene(_ => {
      attempts += 1
      if (attempts == 1) throw new KafkaException("no such file")
    })
    intercept[KafkaException](scene.producers.acquire(blue))
    assert(scene.producers.size == 0)
    val lease = scene.producers.acquire(blue)
    assert(lease.producer eq scene.opened.get.head)
  }

  test("a producer that hangs while it is opened is an error in time, and no other one is opened meanwhile") {
    val (proceed, done) = (new CountDownLatch(1), new CountDownLatch(1))
    val hasty = blue.and("max.block.ms" -> "100")
    val scene = new Scene(_ => { val _ = proceed.await(60L, TimeUnit.SECONDS) })
    def send(): Unit = new SharedSender(_ => hasty, scene.producers, waits = true, scene.clock)
      .send("blue", new ProducerRecord("t", Array[Byte](2)))
    (1 to 2).foreach { _ =>
      val e = intercept[DynamicKafkaRuntimeException](send())
      assert(e.getCondition == "DYNAMIC_KAFKA.WRITE_FAILED" && e.getMessage.contains("cluster 'blue'"), e)
      assert(e.getMessage.contains("not open within 100 ms"), e)
    }
    assert(scene.producers.size == 1)
    proceed.countDown()
    val patient = blue.and("max.block.ms" -> "100")
    while (done.getCount > 0)
      try {
        scene.producers.release(scene.producers.acquire(patient))
        done.countDown()
      } catch { case _: TimeoutException => () }
    assert(scene.opened.get.size == 1)
  }
}

package io.github.dynamickafka.kafka

import org.apache.kafka.clients.producer.{ProducerRecord, RecordMetadata}
import org.apache.kafka.common.errors.{DisconnectException, SerializationException, TimeoutException}
import org.apache.kafka.common.protocol.Errors
import org.apache.kafka.common.{KafkaException, TopicPartition}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

/** What a task knows of records that were not written. */
class SendFailuresSuite extends AnyFunSuite with TimeLimit {

  private val settings =
    new ProducerSettings("blue", Map("bootstrap.servers" -> "x:1", "ssl.key.password" -> "a secret"))
  private val metadata = new RecordMetadata(new TopicPartition("orders", 0), 0L, 0, 0L, 0, 0)

  test("the first failure counts, with its cluster and topic and without secrets") {
    val failures = new SendFailures
    failures.check()
    val callback = new SentRecords(settings, failures, new ManualClock)
    callback.onCompletion(metadata, null)
    failures.check()
    callback.onCompletion(metadata, new TimeoutException("Expiring 1 record(s): a secret is too slow"))
    callback.onCompletion(metadata, new TimeoutException("another one"))
    val text = intercept[Exception](failures.check()).getMessage
    assert(text.contains("lower 'kafka.batch.size'"))
    assert(text.contains("'blue'") && text.contains("topic orders") && text.contains("is too slow"))
    assert(!text.contains("a secret"))

    // Only what has expired can be a batch that is too large.
    val others = new SendFailures
    new SentRecords(
      settings,
      others,
      new ManualClock
    ).onCompletion(metadata, new TimeoutException("not in time"))
    assert(!intercept[Exception](others.check()).getMessage.contains("batch.size"))
  }

  test(
    "whatever Kafka answers: cluster and topic, and a size only as the second cause of a time-out that may have two"
  ) {
    val ofBrokers = Errors.values.toSeq.map(_.exception).filter(_ != null)
    val ofClient = Seq(
      new TimeoutException("Expiring 3 record(s) for orders-0:120001 ms has passed since batch creation"),
      new TimeoutException("Expiring 1 record(s) for orders-0:5 ms has passed since last append"),
      new TimeoutException("Topic orders not present in metadata after 60000 ms."),
      new DisconnectException(),
      new SerializationException("x"),
      new KafkaException("Cannot perform send because at least one previous transactional request has failed")
    )
    for {
      e <- ofBrokers ++ ofClient
      size <- Seq(None, Some("batch.size" -> "16384"))
      text = SendFailures.error(settings.and(size.toSeq: _*), "orders", e).getMessage
    } {
      assert(text.contains("'blue'") && text.contains("topic orders"), text)
      assert(text.contains(e.getClass.getSimpleName) && !text.contains("a secret"), text)
      val (frozen, large) =
        (text.indexOf("frozen"), text.indexOf("'max.message.bytes' of the topic is lower"))
      if (String.valueOf(e.getMessage).startsWith("Expiring")) {
        assert(frozen > 0 && frozen < large && text.contains("'delivery.timeout.ms'"), text)
        assert(text.contains(size.fold("262144 bytes")(_._2 + " bytes")), text)
      } else assert(frozen < 0 && large < 0, text)
    }
  }

  test("a failure is not lost if it cannot be described") {
    Seq[RecordMetadata](metadata, null).foreach { of =>
      val failures = new SendFailures
      val odd = new TimeoutException("odd") {
        override def toString: String = throw new IllegalStateException("no text")
      }
      // The producer catches what its callbacks throw.
      try new SentRecords(settings, failures, new ManualClock).onCompletion(of, odd)
      catch { case _: RuntimeException => () }
      intercept[RuntimeException](failures.check())
    }
  }

  test("a record that the producer never answers fails the task after the producer's time limit") {
    val clock = new ManualClock
    val sent = new SentRecords(settings.and("delivery.timeout.ms" -> "60000"), new SendFailures, clock)
    (1 to 3).foreach(n =>
      sent.send(new ProducerRecord("t", Array[Byte](1)))((_, answer) =>
        if (n == 2) answer.onCompletion(metadata, null)
      )
    )
    var flushes = 0
    val e = intercept[TimeoutException](sent.awaitAnswers { () =>
      flushes += 1
      clock.advanceMs(10000L)
    })
    assert(e.getMessage.startsWith("2 of 3 records were not answered") && flushes == 10)
  }
}

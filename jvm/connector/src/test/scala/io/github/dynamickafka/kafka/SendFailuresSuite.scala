package io.github.dynamickafka.kafka

import org.apache.kafka.clients.producer.{ProducerRecord, RecordMetadata}
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException
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

package io.github.dynamickafka.sink.producer

import org.apache.kafka.clients.producer.RecordMetadata
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.TimeoutException
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.testkit.TimeLimit

/** What a task knows of records that were not written. */
class SendFailuresSuite extends AnyFunSuite with TimeLimit {

  private val settings =
    new ProducerSettings("blue", Map("bootstrap.servers" -> "x:1", "ssl.key.password" -> "a secret"))
  private val metadata = new RecordMetadata(new TopicPartition("orders", 0), 0L, 0, 0L, 0, 0)

  test("the first failure counts, with its cluster and topic and without secrets") {
    val failures = new SendFailures
    failures.check()
    val callback = failures.callback(settings)
    callback.onCompletion(metadata, null)
    failures.check()
    callback.onCompletion(metadata, new TimeoutException("a secret is too slow"))
    callback.onCompletion(metadata, new TimeoutException("another one"))
    val text = intercept[Exception](failures.check()).getMessage
    assert(text.contains("'blue'") && text.contains("topic orders") && text.contains("is too slow"))
    assert(!text.contains("a secret"))
  }

  test("a failure is not lost if it cannot be described") {
    Seq[RecordMetadata](metadata, null).foreach { of =>
      val failures = new SendFailures
      val odd = new TimeoutException("odd") {
        override def toString: String = throw new IllegalStateException("no text")
      }
      // The producer catches what its callbacks throw.
      try failures.callback(settings).onCompletion(of, odd)
      catch { case _: RuntimeException => () }
      intercept[RuntimeException](failures.check())
    }
  }
}

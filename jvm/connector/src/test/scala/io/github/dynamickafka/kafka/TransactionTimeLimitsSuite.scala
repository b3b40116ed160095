package io.github.dynamickafka.kafka

import java.time.Duration

import org.apache.kafka.clients.producer.KafkaProducer
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class TransactionTimeLimitsSuite extends AnyFunSuite with TimeLimit {
  import TransactionTimeLimits._

  private def settings(chosen: (String, String)*) =
    new ProducerSettings("blue", chosen.toMap + ("bootstrap.servers" -> "127.0.0.1:1"))

  private def request(failures: Int, mostMs: Long = 60000L): Long =
    ofDriver(Map.empty, failures, mostMs)("request.timeout.ms").toLong

  test(
    "two requests of a task outlast the session of a broker, and with one of the driver they take less than 15 s"
  ) {
    val task = ofTasks(settings()).number("request.timeout.ms").get
    assert(2 * task > 9000L && 2 * task + request(0) < 15000L)
  }

  test("another attempt of a task has Kafka's time limit, unless the user has set one") {
    def limit(chosen: (String, String)*): Option[String] =
      ofRetry(ofTasks(settings(chosen: _*))).value("request.timeout.ms")
    assert(limit().contains("30000"))
    // Also if it is the one of first attempts.
    Seq("20000", "6000").foreach(mine => assert(limit("request.timeout.ms" -> mine).contains(mine)))
  }

  test(
    "a request is not longer than the delivery.timeout.ms of the user, in any attempt, or Kafka would refuse both"
  ) {
    Seq("3000", "6000", "20000", "30000").foreach { delivery =>
      val mine = settings("delivery.timeout.ms" -> delivery)
      Seq(ofTasks(mine), ofRetry(ofTasks(mine))).foreach(attempt =>
        new KafkaProducer(attempt.forProducer).close(Duration.ZERO)
      )
    }
  }

  test(
    "after a failure the driver waits longer, up to Kafka's default, and never longer than a call may take"
  ) {
    assert((0 to 4).map(request(_)) == Seq(2500L, 10000L, 30000L, 30000L, 30000L))
    assert(request(100) == 30000L && request(2, mostMs = 7000L) == 7000L)
    assert(attemptMs(0) == 15000L && attemptMs(1) == 60000L)
  }

  test("a property of the user is kept, for each client") {
    val chosen = Map("request.timeout.ms" -> "20000", "socket.connection.setup.timeout.ms" -> "3000")
    val ofTask = ofTasks(settings(chosen.toSeq: _*))
    assert(chosen.forall { case (name, value) => ofTask.value(name).contains(value) })
    assert(ofDriver(chosen, 0, 60000L).isEmpty)
    assert(ofDriver(chosen.take(1), 0, 60000L).keySet == Set("socket.connection.setup.timeout.ms"))
  }
}

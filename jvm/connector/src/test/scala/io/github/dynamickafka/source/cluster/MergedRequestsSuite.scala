package io.github.dynamickafka.source.cluster

import java.lang.management.ManagementFactory
import java.util.concurrent.atomic.AtomicInteger
import java.util.concurrent.{CompletableFuture, CompletionException, CountDownLatch, TimeUnit}

import org.apache.kafka.clients.admin.OffsetSpec
import org.apache.kafka.common.{IsolationLevel, TopicPartition}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.MergedRequests
import io.github.dynamickafka.testkit.TimeLimit

class MergedRequestsSuite extends AnyFunSuite with TimeLimit {

  private final class Cluster {
    var sent = Vector.empty[Map[String, CompletableFuture[Int]]]
    var waits = Vector.empty[CompletableFuture[Unit]]
    val requests = new MergedRequests[String, Int](
      keys => {
        sent :+= keys.iterator.map(_ -> new CompletableFuture[Int]).toMap
        sent.last
      },
      waits :+= _
    )
    def ask(keys: String*): Map[String, CompletableFuture[Int]] = requests(keys.toSet)
    def keys: Seq[Set[String]] = sent.map(_.keySet)
  }

  test("requests that come while one is pending are sent as one, and each user gets what it asked for") {
    val c = new Cluster
    val first = c.ask("a")
    val (one, other) = (c.ask("a", "b"), c.ask("b", "c"))
    assert(c.keys == Seq(Set("a")))
    c.sent(0)("a").complete(1)
    assert(
      first("a").join() == 1 && !one("a").isDone,
      "a response to an earlier request is not one to a later request"
    )
    assert(c.keys == Seq(Set("a"), Set("a", "b", "c")))
    c.sent(1).foreach { case (key, answer) => answer.complete(key.head.toInt) }
    assert(one.view.mapValues(_.join()).toMap == Map("a" -> 97, "b" -> 98))
    assert(other.view.mapValues(_.join()).toMap == Map("b" -> 98, "c" -> 99))
    c.ask("d")
    assert(c.keys.last == Set("d"), "nothing is pending")
  }

  test("the response of one broker ends the wait for another one") {
    val c = new Cluster
    val both = c.ask("a", "frozen")
    c.ask("b")
    c.sent(0)("a").complete(1)
    assert(c.keys.last == Set("b") && !both("frozen").isDone)
    c.sent(0)("frozen").complete(2)
    assert(both("frozen").join() == 2 && c.keys.size == 2)
  }

  test("a broker that does not respond delays others once, for a limited time") {
    val c = new Cluster
    c.ask("frozen")
    val b = c.ask("b")
    assert(c.keys.size == 1)
    c.waits(0).complete(())
    c.sent(1)("b").complete(1)
    assert(b("b").join() == 1)
    c.ask("c")
    c.waits.foreach(_.complete(()))
    assert(c.keys == Seq(Set("frozen"), Set("b"), Set("c")), "a timer is for its own request")
  }

  // CompletableFuture runs what is asynchronous on a new thread where the JVM has at most two processors.
  test("a request that is responded to leaves no timer and starts no thread") {
    def started = ManagementFactory.getThreadMXBean.getTotalStartedThreadCount
    val requests =
      new MergedRequests[Int, Int](_.iterator.map(key => key -> CompletableFuture.completedFuture(key)).toMap)
    requests(Set(0))
    val before = started
    (1 to 1000).foreach(key => requests(Set(key)))
    // The thread of all timers runs the earlier ones first.
    new CompletableFuture[Unit].completeOnTimeout(
      (),
      MergedRequests.LongestWaitMs,
      TimeUnit.MILLISECONDS
    ).join()
    assert(started - before < 500)
  }

  test("a user that waits no longer completes only its own future") {
    val c = new Cluster
    c.ask("first")
    val (one, other) = (c.ask("a"), c.ask("a"))
    one("a").complete(-1)
    c.sent(0)("first").complete(1)
    c.sent(1)("a").complete(2)
    assert(one("a").join() == -1 && other("a").join() == 2)
  }

  test("errors reach the users of the key, and a client that is closed fails all") {
    val c = new Cluster
    val asked = c.ask("a", "b")
    c.sent(0)("a").completeExceptionally(new IllegalArgumentException("a"))
    c.sent(0)("b").complete(1)
    assert(
      intercept[CompletionException](asked("a").join()).getCause.getMessage == "a" && asked("b").join() == 1
    )
    val closed = new MergedRequests[String, Int](_ => throw new IllegalStateException("closed"))
    (1 to 2).foreach { _ =>
      val error = intercept[CompletionException](closed(Set("a"))("a").join())
      assert(error.getCause.getMessage == "closed")
    }
  }

  test("each of many users gets its responses, whichever request has them") {
    val sends = new AtomicInteger
    val requests = new MergedRequests[Int, Int](keys => {
      sends.incrementAndGet()
      keys.iterator.map(key => key -> CompletableFuture.supplyAsync(() => key * 2)).toMap
    })
    val (users, rounds) = (16, 200)
    val wrong = new AtomicInteger
    val done = new CountDownLatch(users)
    (0 until users).foreach { user =>
      new Thread(() => {
        (0 until rounds).foreach { round =>
          val keys = Set(user, users + round, round % 3)
          val found = requests(keys).view.mapValues(_.get(60, TimeUnit.SECONDS)).toMap
          if (found != keys.map(key => key -> key * 2).toMap) wrong.incrementAndGet()
        }
        done.countDown()
      }).start()
    }
    assert(done.await(120, TimeUnit.SECONDS) && wrong.get == 0)
    assert(sends.get < users * rounds, "some are merged")
  }

  test("many users that ask for the id of the cluster at the same time send two requests") {
    val kafka = ScriptedCluster.led(1)
    var sent = Vector.empty[CompletableFuture[String]]
    kafka.id = () => {
      sent :+= new CompletableFuture[String]
      sent.last
    }
    val client = kafka.connect()
    val answers = Seq.fill(32)(client.clusterId)
    assert(sent.size == 1)
    sent(0).complete("kafka-id")
    sent(1).complete("kafka-id")
    assert(answers.forall(_.join() == "kafka-id") && sent.size == 2)
    assert(client.topics.join() == Set("t"))
  }

  test("latest and earliest offsets are different requests, and offsets by time are asked for as they are") {
    val kafka = ScriptedCluster.led(1, 1)
    kafka.earliest = Map(("t", 0) -> 3L)
    kafka.byTime = Map(("t", 0) -> 5L)
    val client = kafka.connect()
    val (zero, one) = (new TopicPartition("t", 0), new TopicPartition("t", 1))
    val both = client.offsets(
      Map(zero -> OffsetSpec.earliest, one -> OffsetSpec.latest),
      IsolationLevel.READ_COMMITTED
    )
    assert(both(zero).join().offset == 3L && both(one).join().offset == 10L)
    val byTime = client.offsets(Map(zero -> OffsetSpec.forTimestamp(1L)), IsolationLevel.READ_COMMITTED)
    assert(byTime(zero).join().offset == 5L)
    assert(client.describe(Set("t"))("t").join().leaders == Map(0 -> Some(1), 1 -> Some(1)))
  }
}

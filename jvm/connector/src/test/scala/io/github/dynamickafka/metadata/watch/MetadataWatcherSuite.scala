package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}
import java.util.concurrent.{ConcurrentLinkedQueue, TimeUnit}

import scala.collection.immutable.SortedMap
import scala.jdk.CollectionConverters._

import org.scalatest.concurrent.Eventually
import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Seconds, Span}

import io.github.dynamickafka.config.{DiscoveryOptions, Subscription}
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.metadata.KafkaStream
import io.github.dynamickafka.metadata.ScriptedService
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.time.ManualClock
import io.github.dynamickafka.topology.{Topology, TopologyCluster, TopologyTopic}

class MetadataWatcherSuite extends AnyFunSuite with TimeLimit with Eventually {

  implicit override val patienceConfig: PatienceConfig = PatienceConfig(Span(100, Seconds), Span(5, Millis))

  private val Soon = 20L
  private val Never = 3600 * 1000L
  private val one = stream("orders", "blue" -> cluster("a"))
  private val two = stream("orders", "blue" -> cluster("a"), "green" -> cluster("a"))

  private def watching[A](
      service: ScriptedService,
      intervalMs: Long = Soon,
      threshold: Int = 3,
      callTimeoutMs: Long = Never,
      subscription: Subscription = Subscription.Ids(Seq("orders")),
      timing: WatcherTiming = WatcherTiming(retryCapMs = 1, spacingWithoutPollingMs = 1, confirmMs = 1),
      confirmations: Int = 2
  )(body: MetadataWatcher[Topology] => A): A = {
    val discovery = DiscoveryOptions(
      intervalMs,
      threshold,
      callTimeoutMs,
      allowMissingStreams = false,
      removalConfirmations = confirmations
    )
    val watcher = MetadataWatcher(service, subscription, discovery, "scripted", timing)
    val result =
      try body(watcher)
      finally watcher.close()
    assert(service.mostAtOnce.get <= 1, "two calls ran concurrently")
    result
  }

  private def ids(topology: Topology) = topology.clusters.keys.toSeq
  private def current(watcher: MetadataWatcher[Topology]) = watcher.current.topology.toSeq.flatMap(ids)

  private def unavailable(body: => Any) = {
    val e = intercept[DynamicKafkaRuntimeException](body)
    assert(e.getCondition == "DYNAMIC_KAFKA.METADATA_UNAVAILABLE")
    e
  }

  test("no call before the start, and awaitFirst returns the first answer") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      assert(watcher.current.copy(ageMs = 0) == MetadataState(None, 0, 0, 0, None))
      assert(service.calls.get == 0)
      assert(ids(watcher.awaitFirst()) == Seq("blue"))
      assert(watcher.current.version == 1)
    }
  }

  test("a change is noticed, and only a change increments the version") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      watcher.awaitFirst()
      eventually(assert(service.calls.get > 5))
      assert(watcher.current.version == 1)
      service.answers(stream("orders", "blue" -> cluster("a").withWrite(false)))
      val asked = service.calls.get
      eventually(assert(service.calls.get > asked + 2))
      assert(watcher.current.version == 1)
      service.answers(two)
      eventually(assert(current(watcher) == Seq("blue", "green")))
      assert(watcher.current.version == 2)
      service.inactive = Set("blue")
      eventually(assert(current(watcher) == Seq("green")))
      service.answers(stream("orders", "green" -> cluster(Map("x" -> "1"), "a")))
      eventually(assert(watcher.current.version == 4))
    }
  }

  test("a first start retries up to the threshold, then fails with the last cause") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("no database", new RuntimeException("no route")))
    watching(service, intervalMs = Never) { watcher =>
      val e = unavailable(watcher.awaitFirst())
      Seq("'scripted'", "4 consecutive times", "no database", "no route").foreach(s =>
        assert(e.getMessage.contains(s))
      )
      assert(e.getCause.getMessage == "no database")
      // Polling continues, which shows whether the failure is over.
      assert(service.calls.get >= 4)
      assert(watcher.current.fatal.exists(_.getMessage.contains("no database")))
    }
  }

  test("a first start tolerates failures within the threshold") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws {
      if (service.calls.get == 3) service.answers(one)
      new IllegalStateException("not yet")
    }
    watching(service, intervalMs = Never) { watcher =>
      assert(ids(watcher.awaitFirst()) == Seq("blue"))
      assert(watcher.current.consecutiveFailures == 0)
    }
  }

  test("an invalid answer is a failure, and its text is kept") {
    val service = new ScriptedService(() => Seq(stream("orders", "b/lue" -> cluster("a"))))
    watching(service) { watcher =>
      val e = unavailable(watcher.awaitFirst())
      assert(e.getMessage.contains("stream 'orders', cluster 'b/lue': the cluster id is invalid"))
      assert(e.getCause.getMessage.contains("METADATA_INVALID"))
    }
  }

  test("without polling a first start makes five attempts, and no call follows") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service, intervalMs = -1, threshold = 100) { watcher =>
      assert(unavailable(watcher.awaitFirst()).getMessage.contains("5 consecutive times"))
      assert(service.calls.get == 5)
    }
    val well = new ScriptedService(() => Seq(one))
    watching(well, intervalMs = -1)(watcher => assert(ids(watcher.awaitFirst()) == Seq("blue")))
    assert(well.calls.get == 1)
  }

  test("a restart waits for the first attempt, whatever its result") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(watcher.current.consecutiveFailures >= 1)
      service.answers(one)
      eventually(assert(current(watcher) == Seq("blue")))
      assert(watcher.awaitFirstAttempt().map(ids).contains(Seq("blue")))
    }
  }

  private def before(ids: String*) = Topology(
    SortedMap.from(ids.map(id =>
      id -> TopologyCluster(
        id,
        SortedMap("a" -> TopologyTopic("orders")),
        Map("bootstrap.servers" -> "b:9092")
      )
    ))
  )

  for (intervalMs <- Seq(Never, -1L))
    test(
      s"interval $intervalMs: a restart whose first answer removes something waits until it is confirmed"
    ) {
      val service = new ScriptedService(() => Seq(one))
      watching(service, intervalMs, confirmations = 4) { watcher =>
        assert(watcher.awaitFirstAttempt(Some(before("blue", "green"))).map(ids).contains(Seq("blue")))
        assert(service.calls.get == 4)
      }
    }

  test("a restart whose first answer lacks too many clusters uses the checkpoint, up to the threshold") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt(Some(before("blue", "green", "red", "white"))).isEmpty)
      eventually(assert(watcher.current.fatal.isDefined))
      val text = watcher.current.fatal.map(_.getMessage).getOrElse("")
      Seq("METADATA_UNAVAILABLE", "green, red, white", "maxRemovedClustersPerChange").foreach(s =>
        assert(text.contains(s), text)
      )
    }
  }

  test("while a query runs, three of four clusters that drop out of one answer are not retired") {
    val all = Seq("blue", "green", "red", "white")
    val service =
      new ScriptedService(() => Seq(stream("orders", all.map(_ -> cluster("a")): _*)))
    watching(service, threshold = 1000) { watcher =>
      watcher.awaitFirst()
      service.answers(one)
      eventually(assert(watcher.current.consecutiveFailures >= 3))
      assert(current(watcher) == all)
      service.answers(stream("orders", all.take(3).map(_ -> cluster("a")): _*))
      eventually(assert(current(watcher) == all.take(3)))
      service.answers(stream(
        "orders",
        "blue" -> cluster("a"),
        "green" -> stated("removed", null, "a"),
        "red" -> stated("removed", null, "a")
      ))
      eventually(assert(current(watcher) == Seq("blue")))
    }
  }

  test("the time limit holds for each call of a poll, not for all of them together") {
    val slow =
      new ScriptedService(() => Seq(stream("orders", (1 to 12).map(i => s"c$i" -> cluster("a")): _*))) {
        override def isClusterActive(id: String): Boolean = { Thread.sleep(100); true }
      }
    watching(slow, callTimeoutMs = 1000, intervalMs = Never, threshold = 0) { watcher =>
      assert(watcher.awaitFirst().clusters.size == 12)
      assert(slow.calls.get == 1)
    }
  }

  test("failures at a restart count towards the threshold") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      eventually(assert(watcher.current.fatal.isDefined))
      assert(watcher.current.consecutiveFailures >= 4)
    }
  }

  test("a restart without polling makes five attempts, and their failure is not fatal") {
    val service = new ScriptedService(() => Seq.empty)
    service.throws(new IllegalStateException("down"))
    watching(service, intervalMs = -1) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(service.calls.get == 5)
      assert(watcher.current.fatal.isEmpty)
    }
  }

  test("the last good topology stays in use during failures; the threshold is exact; success resets") {
    val service = new ScriptedService(() => Seq(two))
    watching(service, threshold = 3) { watcher =>
      watcher.awaitFirst()
      val seen = new ConcurrentLinkedQueue[(Int, Boolean)]
      service.throws {
        val state = watcher.current
        seen.add(state.consecutiveFailures -> state.fatal.isDefined)
        new IllegalStateException("down")
      }
      eventually(assert(watcher.current.fatal.isDefined))
      assert(current(watcher) == Seq("blue", "green"))
      eventually(assert(seen.size > 5))
      seen.asScala.foreach { case (failures, fatal) =>
        assert(fatal == (failures > 3), s"after $failures failures")
      }
      service.answers(two)
      eventually(assert(watcher.current.fatal.isEmpty))
      assert(watcher.current.consecutiveFailures == 0)
      assert(watcher.current.version == 1)
    }
  }

  test("a service that fails every other time never reaches the threshold") {
    val calls = new AtomicLong
    val service = new ScriptedService(() =>
      if (calls.incrementAndGet() % 2 == 1) throw new IllegalStateException("flap") else Seq(one)
    )
    watching(service, threshold = 1) { watcher =>
      watcher.awaitFirst()
      eventually(assert(calls.get > 20))
      assert(watcher.current.fatal.isEmpty)
      assert(watcher.current.version == 1)
    }
  }

  Seq[(String, () => Seq[KafkaStream])](
    "empty" -> (() => Seq.empty),
    "null" -> (() => null),
    "without the subscribed stream" -> (() => Seq(stream("other", "blue" -> cluster("a")))),
    "without clusters" -> (() => Seq(stream("orders"))),
    "an error instead of an exception" -> (() => throw new NoClassDefFoundError("org/example/Driver"))
  ).foreach { case (title, garbage) =>
    test(s"an answer that is $title removes nothing") {
      val answer = new AtomicReference[() => Seq[KafkaStream]](() => Seq(two))
      val service = new ScriptedService(() => answer.get.apply())
      watching(service) { watcher =>
        watcher.awaitFirst()
        answer.set(garbage)
        eventually(assert(watcher.current.fatal.isDefined))
        assert(current(watcher) == Seq("blue", "green"))
      }
    }
  }

  test(
    "a hung call is abandoned at the limit, counts once per interval, and delays the next call until it ends"
  ) {
    val service = new ScriptedService(() => Seq(one))
    watching(service, callTimeoutMs = 200, threshold = 1000) { watcher =>
      watcher.awaitFirst()
      val hung = service.hangs()
      eventually(assert(service.atOnce.get == 1))
      eventually(assert(watcher.current.consecutiveFailures >= 3))
      val calls = service.calls.get
      eventually(assert(watcher.current.consecutiveFailures >= 6))
      assert(service.calls.get == calls)
      assert(current(watcher) == Seq("blue"))
      service.answers(two)
      hung.countDown()
      eventually(assert(current(watcher) == Seq("blue", "green")))
      assert(watcher.current.consecutiveFailures == 0)
    }
  }

  test("a call that hangs at a first start and at a restart") {
    val first = new ScriptedService(() => Seq(one))
    val hung = first.hangs()
    watching(first, intervalMs = Never, callTimeoutMs = 20) { watcher =>
      assert(unavailable(watcher.awaitFirst()).getMessage.contains("4 consecutive times"))
    }
    hung.countDown()
    val again = new ScriptedService(() => Seq(one))
    val hungAgain = again.hangs()
    watching(again, intervalMs = Never, callTimeoutMs = 20) { watcher =>
      assert(watcher.awaitFirstAttempt().isEmpty)
      assert(watcher.current.consecutiveFailures == 1)
    }
    hungAgain.countDown()
  }

  test("an interrupt ends the wait of the waiting thread at once") {
    val service = new ScriptedService(() => Seq(one))
    val hung = service.hangs()
    watching(service) { watcher =>
      val thrown = new AtomicReference[Throwable]
      val waiting = new Thread(() =>
        try { watcher.awaitFirst(); () }
        catch { case e: Throwable => thrown.set(e) }
      )
      waiting.start()
      eventually(assert(service.atOnce.get == 1))
      waiting.interrupt()
      waiting.join(60000)
      assert(thrown.get.isInstanceOf[InterruptedException])
    }
    hung.countDown()
  }

  test("close does not wait for a hung call, and closes the service after the call") {
    val service = new ScriptedService(() => Seq(one))
    val hung = service.hangs()
    watching(service, callTimeoutMs = 20) { watcher =>
      watcher.awaitFirstAttempt()
      val before = System.nanoTime()
      watcher.close()
      assert(System.nanoTime() - before < TimeUnit.SECONDS.toNanos(10))
      assert(service.closed.getCount == 1)
      hung.countDown()
      assert(service.closed.await(100, TimeUnit.SECONDS))
      watcher.close()
    }
  }

  test("close closes an idle service, and its threads terminate") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      watcher.awaitFirst()
      watcher.close()
      assert(service.closed.getCount == 0)
      eventually(assert(!threads.exists(_.getName.startsWith("dynamic-kafka-metadata-scripted"))))
    }
  }

  test("the threads are daemons and are named after the service") {
    val inCall = new AtomicReference[Thread]
    val service = new ScriptedService(() => { inCall.set(Thread.currentThread); Seq(one) })
    watching(service) { watcher =>
      watcher.awaitFirst()
      assert(inCall.get.isDaemon)
      assert(inCall.get.getName == "dynamic-kafka-metadata-scripted-call")
    }
  }

  test("the age is that of the last good answer") {
    val clock = new ManualClock
    val service = new ScriptedService(() => Seq(one))
    watching(service, intervalMs = Never, timing = WatcherTiming(clock = clock)) { watcher =>
      clock.advanceMs(3000)
      assert(watcher.current.ageMs == 3000)
      watcher.awaitFirst()
      assert(watcher.current.ageMs == 0)
      clock.advanceMs(2000)
      assert(watcher.current.ageMs == 2000)
    }
  }

  test("a subscription by pattern follows streams that are added and removed") {
    val service = new ScriptedService(() => Seq(stream("orders-a", "blue" -> cluster("a"))))
    watching(service, subscription = Subscription.Pattern("orders-.*".r)) { watcher =>
      assert(ids(watcher.awaitFirst()) == Seq("blue"))
      service.answers(stream("orders-b", "green" -> cluster("a")), stream("x", "red" -> cluster("a")))
      eventually(assert(current(watcher) == Seq("green")))
    }
  }

  test("reading the state never waits for a call") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      watcher.awaitFirst()
      val hung = service.hangs()
      eventually(assert(service.atOnce.get == 1))
      assert(current(watcher) == Seq("blue"))
      hung.countDown()
    }
  }

  private def threads: Seq[Thread] = {
    val found = new Array[Thread](Thread.activeCount() + 50)
    found.take(Thread.enumerate(found)).toSeq
  }
}

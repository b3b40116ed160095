package io.github.dynamickafka.metadata.watch

import java.util.concurrent.atomic.{AtomicLong, AtomicReference}
import java.util.concurrent.{ConcurrentLinkedQueue, TimeUnit}

import scala.jdk.CollectionConverters._

import io.github.dynamickafka.base.{Clock, ManualClock}
import io.github.dynamickafka.config.Subscription
import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.{KafkaStream, ScriptedService}

class MetadataWatcherSuite extends WatcherTest {

  test("no call before the start, and awaitFirst returns the first answer") {
    val service = new ScriptedService(() => Seq(one))
    watching(service) { watcher =>
      assert(watcher.current.copy(ageMs = 0) == MetadataState(None, 0, 0, 0, None, 0))
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

  test("the service is asked between two polls, and the answer is recognized by its number") {
    val service = new ScriptedService(() => Seq(one))
    watching(service, intervalMs = Never) { watcher =>
      watcher.awaitFirst()
      service.answers(two)
      val asked = watcher.ask().get
      eventually(assert(watcher.current.call > asked))
      assert(current(watcher) == Seq("blue", "green") && service.calls.get == 2)
    }
    watching(service, intervalMs = -1L)(watcher => assert(watcher.ask().isEmpty, "the metadata are final"))
  }

  test("an invalid answer is a failure, and its text is kept") {
    val service = new ScriptedService(() => Seq(stream("orders", "b/lue" -> cluster("a"))))
    watching(service) { watcher =>
      val e = unavailable(watcher.awaitFirst())
      assert(e.getMessage.contains("stream 'orders', cluster 'b/lue': the cluster id is invalid"))
      assert(e.getCause.getMessage.contains("METADATA_INVALID"))
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

  test("who waits for the first answer gets the error that ends the polling") {
    object Broken extends Clock {
      override def currentTimeMillis(): Long = 0L
      override def nanoTime(): Long =
        if (Thread.currentThread.getName.startsWith("dynamic-kafka-metadata"))
          throw new NoClassDefFoundError("Gone")
        else 0L
      override def pauseMs(ms: Long): Unit = ()
    }
    watching(new ScriptedService(() => Seq(one)), timing = WatcherTiming(clock = Broken)) { watcher =>
      val e = unavailable(watcher.awaitFirst())
      assert(e.getMessage.contains("Gone") && watcher.current.fatal.isDefined)
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
    watching(service, subscription = Subscription.Pattern("orders-.*")) { watcher =>
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

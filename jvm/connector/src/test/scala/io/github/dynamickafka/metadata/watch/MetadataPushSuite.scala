package io.github.dynamickafka.metadata.watch

import java.util.concurrent.CopyOnWriteArrayList

import io.github.dynamickafka.metadata.Streams._
import io.github.dynamickafka.metadata.{KafkaStream, ScriptedService}

/** A service that runs a listener when its answers change. */
class MetadataPushSuite extends WatcherTest {

  private class Pushing(first: KafkaStream) extends ScriptedService(() => Seq(first)) {
    val listeners = new CopyOnWriteArrayList[Runnable]
    override def onChange(changed: Runnable): AutoCloseable = {
      assert(calls.get == 0)
      listeners.add(changed)
      () => {
        val _ = listeners.remove(changed)
      }
    }
    def push(streams: KafkaStream*): Unit = {
      answers(streams: _*)
      listeners.forEach(_.run())
    }
  }

  test("a change is applied at once, whatever the interval, and the listener is removed at the end") {
    Seq(Never, -1L).foreach { interval =>
      val service = new Pushing(one)
      watching(service, interval) { watcher =>
        assert(ids(watcher.awaitFirst()) == Seq("blue"))
        service.push(two)
        eventually(assert(current(watcher) == Seq("blue", "green")))
      }
      eventually(assert(service.listeners.isEmpty))
    }
  }

  test("changes during a call are applied after it") {
    val service = new Pushing(one) {
      override def isClusterActive(id: String): Boolean = { Thread.sleep(20); true }
    }
    // With confirmations, an answer that lacks what two earlier ones had would lack too many clusters.
    watching(service, Never, confirmations = 1) { watcher =>
      watcher.awaitFirst()
      val names = (1 to 20).map(i => s"c$i")
      names.foreach(name => service.push(stream("orders", "blue" -> cluster("a"), name -> cluster("a"))))
      eventually(assert(current(watcher) == Seq("blue", names.last)))
    }
  }

  test("a removal that was pushed is confirmed without waiting for the interval") {
    val service = new Pushing(two)
    watching(service, Never) { watcher =>
      watcher.awaitFirst()
      service.push(one)
      eventually(assert(current(watcher) == Seq("blue")))
    }
  }

  test("the same invalid answer is one failure of a poll, however often it is pushed; each poll counts") {
    val bad = stream("orders", "b/lue" -> cluster("a"))
    val service = new Pushing(one)
    watching(service, Never) { watcher =>
      watcher.awaitFirst()
      for (_ <- 1 to 10) {
        val asked = service.calls.get
        service.push(bad)
        eventually(assert(service.calls.get > asked))
      }
      eventually(assert(watcher.current.consecutiveFailures == 1))
      service.push(stream("orders", "r/ed" -> cluster("a")))
      eventually(assert(watcher.current.consecutiveFailures == 2))
      assert(watcher.current.fatal.isEmpty)
      service.push(two)
      eventually(assert(watcher.current.consecutiveFailures == 0 && current(watcher) == Seq("blue", "green")))
    }
    def ends(failing: Pushing)(fail: => Unit): Unit = watching(failing) { watcher =>
      watcher.awaitFirst()
      fail
      eventually(assert(watcher.current.fatal.isDefined))
    }
    val (unreachable, invalid) = (new Pushing(one), new Pushing(one))
    ends(unreachable)(unreachable.throws(new java.io.IOException("down")))
    ends(invalid)(invalid.push(bad))
  }

  test("a first start with an invalid answer ends at the threshold") {
    watching(new Pushing(stream("orders", "b/lue" -> cluster("a")))) { watcher =>
      val _ = unavailable(watcher.awaitFirst())
    }
  }
}

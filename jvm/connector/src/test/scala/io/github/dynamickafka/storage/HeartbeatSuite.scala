package io.github.dynamickafka.storage

import java.io.IOException
import java.util.concurrent.Semaphore
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.sink.commit.Heartbeat
import io.github.dynamickafka.testkit.TimeLimit

class HeartbeatSuite extends AnyFunSuite with TimeLimit {

  private final class Counted(fails: Boolean) {
    val beats, ends = new AtomicInteger
    private val beaten = new Semaphore(0)

    def awaitBeats(count: Int): Unit = beaten.acquire(count)

    def during[A](everyMs: Long)(body: => A): A =
      Heartbeat.during(everyMs, () => beat(), () => count(ends))(body)

    private def beat(): Unit =
      try count(beats)
      finally beaten.release()

    private def count(what: AtomicInteger): Unit = {
      val _ = what.incrementAndGet()
      if (fails) throw new IOException("full")
    }
  }

  test("what takes less than an interval has no heartbeat, and nothing to clean up") {
    val counted = new Counted(fails = false)
    assert(counted.during(60000L)(7) == 7)
    assert(counted.beats.get == 0 && counted.ends.get == 0)
  }

  test("heartbeats at intervals, with errors or not, until the end, also after an exception") {
    Seq(false, true).foreach { fails =>
      val counted = new Counted(fails)
      val thrown = intercept[IllegalStateException] {
        counted.during(5L) {
          counted.awaitBeats(3)
          throw new IllegalStateException("body")
        }
      }
      assert(thrown.getMessage == "body" && counted.ends.get == 1)
      val beats = counted.beats.get
      // Heartbeats share a thread: the ended one would have had as many turns as this one.
      val other = new Counted(fails = false)
      other.during(5L)(other.awaitBeats(5))
      assert(counted.beats.get == beats)
    }
  }
}

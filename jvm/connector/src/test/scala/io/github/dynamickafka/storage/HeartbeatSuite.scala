package io.github.dynamickafka.storage

import java.io.IOException
import java.util.concurrent.atomic.AtomicInteger

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class HeartbeatSuite extends AnyFunSuite with TimeLimit {

  private final class Counted(fails: Boolean) {
    val beats, ends = new AtomicInteger

    def during[A](everyMs: Long)(body: => A): A =
      Heartbeat.during(everyMs, () => count(beats), () => count(ends))(body)

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
          while (counted.beats.get < 3) Thread.sleep(5L)
          throw new IllegalStateException("body")
        }
      }
      assert(thrown.getMessage == "body" && counted.ends.get == 1)
      val beats = counted.beats.get
      Thread.sleep(50L)
      assert(counted.beats.get == beats)
    }
  }
}

package io.github.dynamickafka.metadata.service

import java.util.concurrent.{LinkedBlockingQueue, TimeUnit}

import scala.util.Using

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.testkit.TimeLimit

class ChangeWatchSuite extends AnyFunSuite with TimeLimit {
  test("waits that return at once begin a moment apart") {
    val begun = new LinkedBlockingQueue[Long]
    val clock = new ManualClock {
      override def pauseMs(ms: Long): Unit = advanceMs(ms)
    }
    Using.resource(new ChangeWatch("it", clock)(_ => begun.put(clock.monotonicMs()))) { _ =>
      val times = Seq.fill(5)(begun.poll(60, TimeUnit.SECONDS))
      assert(times.zip(times.tail).forall { case (a, b) => b - a >= ChangeWatch.LeastMs }, times)
    }
  }
}

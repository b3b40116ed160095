package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.time.ManualClock

/** What is committed when, without a broker. */
class GroupCommitQueueSuite extends AnyFunSuite with TimeLimit {

  private def at(offset: Long) = Positions.from(Seq(("t", 0, offset)))

  private final class Cluster {
    val clock = new ManualClock
    var sent = Vector.empty[Positions]
    var answers = Vector.empty[CompletableFuture[Unit]]
    var told = Vector.empty[Boolean]

    val lane = new GroupCommitQueue(
      positions => {
        sent :+= positions
        answers :+= new CompletableFuture[Unit]
        answers.last
      },
      error => told :+= error.isEmpty,
      clock
    )

    def at(ms: Long): Unit = clock.advanceMs(ms - clock.monotonicMs())
    def takes(): Unit = { val _ = answers.last.complete(()) }
    def refuses(): Unit = { val _ = answers.last.completeExceptionally(new IllegalStateException("no")) }
  }

  test("one at a time, and of those that come meanwhile only the newest") {
    val c = new Cluster
    Seq(1L, 2L, 3L).foreach(o => c.lane.offer(at(o)))
    assert(c.sent == Vector(at(1)))
    c.takes()
    assert(c.sent == Vector(at(1), at(3)))
    c.takes()
    assert(c.told == Vector(true, true))
  }

  test("what is committed, or under way, is not committed again") {
    val c = new Cluster
    c.lane.offer(at(1))
    c.lane.offer(at(1))
    c.takes()
    c.lane.offer(at(1))
    c.lane.offer(Positions.empty)
    assert(c.sent == Vector(at(1)))
  }

  test("after a failure it waits, for longer each time, and then commits the newest") {
    val c = new Cluster
    def refusedAt(time: Long): Unit = {
      c.at(time)
      c.lane.offer(at(time))
      c.refuses()
    }
    refusedAt(0L)
    c.at(499L)
    c.lane.offer(at(7))
    assert(c.sent.size == 1)
    refusedAt(500L)
    c.at(1499L)
    c.lane.offer(at(8))
    assert(c.sent.size == 2)
    c.at(1500L)
    c.lane.offer(at(9))
    assert(c.sent.last == at(9) && c.told == Vector(false, false))
    c.takes()
    c.lane.offer(at(10))
    assert(c.sent.last == at(10), "the pause ends with the failures")
  }

  test("a cluster that cannot even be asked has failed, and nothing is thrown") {
    var told = 0
    val lane =
      new GroupCommitQueue(_ => throw new IllegalStateException("no"), _ => told += 1, new ManualClock)
    lane.offer(at(1))
    assert(told == 1 && lane.finish().isDone)
  }

  test("at the end what waits is sent, and then nothing is taken any more") {
    val c = new Cluster
    assert(new Cluster().lane.finish().isDone, "nothing is under way")
    c.lane.offer(at(1))
    c.lane.offer(at(2))
    assert(c.lane.isBusy)
    val end = c.lane.finish()
    c.takes()
    assert(!end.isDone && c.sent.last == at(2))
    c.takes()
    assert(end.isDone && !c.lane.isBusy)
    c.lane.offer(at(3))
    assert(c.sent.size == 2)
  }

  test("at the end a cluster that refuses commits is not asked again, and not waited for") {
    val c = new Cluster
    c.lane.offer(at(1))
    c.refuses()
    c.at(500L)
    c.lane.offer(at(2))
    c.lane.offer(at(3))
    assert(!c.lane.isBusy)
    val end = c.lane.finish()
    c.refuses()
    assert(end.isDone && c.sent == Vector(at(1), at(2)))
  }
}

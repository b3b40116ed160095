package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.offset.Positions
import io.github.dynamickafka.testkit.TimeLimit

/** Which offsets are committed, and when, without a broker. */
class GroupCommitQueueSuite extends AnyFunSuite with TimeLimit {

  private def at(offset: Long) = Positions.from(Seq(("t", 0, offset)))

  private final class Cluster {
    val clock = new ManualClock
    var sent = Vector.empty[Positions]
    var answers = Vector.empty[CompletableFuture[Unit]]
    var reported = Vector.empty[Boolean]

    val queue = new GroupCommitQueue(
      positions => {
        sent :+= positions
        answers :+= new CompletableFuture[Unit]
        answers.last
      },
      error => reported :+= error.isEmpty,
      clock
    )

    def at(ms: Long): Unit = clock.advanceMs(ms - clock.monotonicMs())
    def takes(): Unit = { val _ = answers.last.complete(()) }
    def refuses(): Unit = { val _ = answers.last.completeExceptionally(new IllegalStateException("no")) }
  }

  test("one commit at a time, and of the offsets offered meanwhile only the newest") {
    val c = new Cluster
    Seq(1L, 2L, 3L).foreach(o => c.queue.offer(at(o)))
    assert(c.sent == Vector(at(1)))
    c.takes()
    assert(c.sent == Vector(at(1), at(3)))
    c.takes()
    assert(c.reported == Vector(true, true))
  }

  test("offsets that are committed, or whose commit is running, are not committed again") {
    val c = new Cluster
    c.queue.offer(at(1))
    c.queue.offer(at(1))
    c.takes()
    c.queue.offer(at(1))
    c.queue.offer(Positions.empty)
    assert(c.sent == Vector(at(1)))
  }

  test("after failures it waits, longer each time, and then commits the newest offsets") {
    val c = new Cluster
    def refusedAt(time: Long): Unit = {
      c.at(time)
      c.queue.offer(at(time))
      c.refuses()
    }
    refusedAt(0L)
    c.at(499L)
    c.queue.offer(at(7))
    assert(c.sent.size == 1)
    refusedAt(500L)
    c.at(1499L)
    c.queue.offer(at(8))
    assert(c.sent.size == 2)
    c.at(1500L)
    c.queue.offer(at(9))
    assert(c.sent.last == at(9) && c.reported == Vector(false, false))
    c.takes()
    c.queue.offer(at(10))
    assert(c.sent.last == at(10), "no pause after a success")
  }

  test("a commit that cannot even be sent is a failure, and nothing is thrown") {
    var failures = 0
    val queue =
      new GroupCommitQueue(_ => throw new IllegalStateException("no"), _ => failures += 1, new ManualClock)
    queue.offer(at(1))
    assert(failures == 1 && queue.finish().isDone)
  }

  test("finish sends the waiting offsets, and no more are accepted") {
    val c = new Cluster
    assert(new Cluster().queue.finish().isDone, "no commit is running")
    c.queue.offer(at(1))
    c.queue.offer(at(2))
    val end = c.queue.finish()
    c.takes()
    assert(!end.isDone && c.sent.last == at(2))
    c.takes()
    assert(end.isDone)
    c.queue.offer(at(3))
    assert(c.sent.size == 2)
  }

  test("finish does not retry and does not wait for a cluster that refuses commits") {
    val c = new Cluster
    c.queue.offer(at(1))
    c.refuses()
    c.at(500L)
    c.queue.offer(at(2))
    c.queue.offer(at(3))
    assert(c.queue.finish().isDone)
    c.refuses()
    assert(c.sent == Vector(at(1), at(2)))
  }
}

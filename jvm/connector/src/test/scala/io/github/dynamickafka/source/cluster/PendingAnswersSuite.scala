package io.github.dynamickafka.source.cluster

import java.util.concurrent.CompletableFuture

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** What is done while clusters have not responded. */
class PendingAnswersSuite extends AnyFunSuite with TimeLimit {

  test("an unreachable cluster is retried with growing pauses, and never waited for") {
    val first = Outage.begin(Outage.Request.Offsets, now = 1000L, new RuntimeException("gone"))
    var asked = 0
    var answer = new CompletableFuture[String]
    val ask = () => { asked += 1; answer }
    assert(first.after(1100L, ask) == Some(first) && asked == 0, "not before the pause is over")
    val probing = first.after(first.nextAt, ask).get
    assert(asked == 1)
    assert(probing.after(first.nextAt + 60000L, ask) == Some(probing), "one request at a time")
    answer.completeExceptionally(new RuntimeException("still gone"))
    val later = probing.after(first.nextAt + 1L, ask).get
    assert(later.cause.getMessage == "still gone" && later.since == 1000L)
    assert(later.nextAt - (first.nextAt + 1L) > first.nextAt - first.since, "the pause grows")
    answer = CompletableFuture.completedFuture("id")
    val again = later.after(later.nextAt, ask).get
    assert(again.after(later.nextAt, ask).isEmpty)
  }

  test("answers that are superseded are ignored, even if one of them has arrived") {
    val (moved, other) = (new CompletableFuture[String], new CompletableFuture[String])
    // The answer arrives after it was superseded, and before the rest is cancelled.
    def superseded(pending: Set[String]): Boolean = {
      assert(pending == Set("moved", "other"))
      moved.complete("too late")
    }
    assert(!Futures.await(Map("moved" -> moved, "other" -> other), superseded))
    assert(other.isCancelled)
    val failed = CompletableFuture.failedFuture[String](new RuntimeException("refused"))
    assert(Futures.await(
      Map("moved" -> moved, "failed" -> failed),
      _ => fail("no answer is waited for")
    ))
  }
}

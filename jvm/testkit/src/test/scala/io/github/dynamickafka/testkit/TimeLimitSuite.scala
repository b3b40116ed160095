package io.github.dynamickafka.testkit

import org.scalatest.funsuite.AnyFunSuite
import org.scalatest.time.{Millis, Minutes, Span}
import org.scalatest.{Failed, Outcome, Succeeded}

class TimeLimitSuite extends AnyFunSuite {

  private def message(outcome: Outcome) = outcome match {
    case Failed(e) => e.getMessage
    case other => fail(s"not failed: $other")
  }

  test("a test that takes too long is interrupted and fails") {
    val outcome = TimeLimit.within(Span(50, Millis), "long") {
      try {
        Thread.sleep(60000)
        Succeeded
      } catch { case e: InterruptedException => Failed(e) }
    }
    assert(message(outcome) == "'long' took longer than 50 milliseconds")
  }

  test("a test that swallows the interrupt also fails, and the next one is not interrupted") {
    val outcome = TimeLimit.within(Span(50, Millis), "long") {
      try Thread.sleep(60000)
      catch { case _: InterruptedException => Thread.currentThread.interrupt() }
      Succeeded
    }
    assert(message(outcome) == "'long' took longer than 50 milliseconds")
    assert(!Thread.currentThread.isInterrupted)
  }

  test("a test within its time limit is not affected") {
    assert(TimeLimit.within(Span(1, Minutes), "quick")(Succeeded) == Succeeded)
  }
}

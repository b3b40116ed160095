package io.github.dynamickafka

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** The time limit of a test interrupts it, and ends the JVM only if that has no effect. */
class RandomHistoriesSuite extends AnyFunSuite with TimeLimit {

  /** Runs histories, of which the third one is interrupted. */
  private def run(search: (Long => Option[String]) => Any): Int = {
    var count = 0
    val _ = intercept[InterruptedException](search { _ =>
      count += 1
      if (count == 3) Thread.currentThread.interrupt()
      None
    })
    count
  }

  test("an interrupt ends the search for a wrong history, and the check of many") {
    assert(run(FirstWrong(1000)(_)) == 3)
    assert(run(NoneWrong(0 until 1000)(_)) == 3)
  }
}

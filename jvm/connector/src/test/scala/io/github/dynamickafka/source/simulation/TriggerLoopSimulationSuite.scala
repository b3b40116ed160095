package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

/** Random histories, and the same with former defects. `make simulation` runs more of them. */
class TriggerLoopSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  test(
    "20,000 histories: every record once, no loss that is not true, all replays alike, and no end to progress",
    NotInFast
  ) {
    val first = TestSeed()
    (first until first + 20000).foreach(seed => History.failure(seed).foreach(fail(_)))
  }

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}") {
    val first = TestSeed()
    val found = Iterator.from(0).take(MostForADefect).map(i =>
      (i, History.wrong(first + i, defect))
    ).collectFirst { case (i, Some(what)) => (i, what) }
    found match {
      case Some((i, what)) => info(s"in history ${i + 1}: ${what.take(200)}")
      case None => fail(s"not found in $MostForADefect histories")
    }
  }
}

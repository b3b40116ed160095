package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories, and the same with former defects. `make simulation` runs more of them. */
class TriggerLoopSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  test(
    "1,000 histories: every record once, no loss that is not true, all replays alike, and no end to progress",
    NotInFast
  ) {
    val first = TestSeed()
    (first until first + 1000).foreach(seed => History.failure(seed).foreach(fail(_)))
  }

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect, defect.skipped)(History.wrong(_, defect)))
  }
}

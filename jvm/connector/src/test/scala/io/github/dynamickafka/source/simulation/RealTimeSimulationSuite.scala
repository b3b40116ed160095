package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories in real-time mode, and the same with defects. */
class RealTimeSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  test(
    "2,000 histories: every record, duplicates only of batches that were not logged, no loss that is not true, and no end to progress",
    NotInFast
  ) {
    val first = TestSeed()
    (first until first + 2000).foreach(seed => RealTimeHistory.failure(seed).foreach(fail(_)))
  }

  for (defect <- RealTimeDefect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect)(RealTimeHistory.wrong(_, defect)))
  }
}

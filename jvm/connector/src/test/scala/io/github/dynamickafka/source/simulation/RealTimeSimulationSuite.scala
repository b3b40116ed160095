package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, NoneWrong}

/** Random histories in real-time mode, and the same with defects. */
class RealTimeSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  test(
    "random histories: every record, duplicates only of batches that were not logged, no loss that is not true, and no end to progress",
    NotInFast
  )(NoneWrong(0 until 75)(RealTimeHistory.failure))

  test("further random histories", TestAll)(NoneWrong(75 until 2000)(RealTimeHistory.failure))

  for (defect <- RealTimeDefect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect, defect.skipped)(RealTimeHistory.wrong(_, defect)))
  }
}

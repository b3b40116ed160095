package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, NoneWrong}

/** Random histories, and the same with former defects. `make extra NAME=simulation` runs more of them. */
class TriggerLoopSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  test(
    "random histories: every record once, no loss that is not true, all replays alike, and no end to progress",
    NotInFast
  )(NoneWrong(0 until 75)(History.failure))

  test("further random histories", TestAll)(NoneWrong(75 until 1000)(History.failure))

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect, defect.skipped)(History.wrong(_, defect)))
  }
}

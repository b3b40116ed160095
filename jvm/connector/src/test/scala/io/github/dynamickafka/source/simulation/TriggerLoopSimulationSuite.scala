package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories, and the same with former defects. `make simulation` runs more of them. */
class TriggerLoopSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  private def right(histories: Range): Unit = {
    val first = TestSeed()
    histories.foreach(i => History.failure(first + i).foreach(fail(_)))
  }

  test(
    "random histories: every record once, no loss that is not true, all replays alike, and no end to progress",
    NotInFast
  )(right(0 until 300))

  test("further random histories", TestAll)(right(300 until 1000))

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect, defect.skipped)(History.wrong(_, defect)))
  }
}

package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories in real-time mode, and the same with defects. */
class RealTimeSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 100000

  private def right(histories: Range): Unit = {
    val first = TestSeed()
    histories.foreach(i => RealTimeHistory.failure(first + i).foreach(fail(_)))
  }

  test(
    "random histories: every record, duplicates only of batches that were not logged, no loss that is not true, and no end to progress",
    NotInFast
  )(right(0 until 300))

  test("further random histories", TestAll)(right(300 until 2000))

  for (defect <- RealTimeDefect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect)(RealTimeHistory.wrong(_, defect)))
  }
}

package io.github.dynamickafka.sink.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories of the commit protocol, and the same with former defects. `make extra NAME=simulation` runs more of them. */
class CommitSimulationSuite extends AnyFunSuite with TimeLimit {
  // More than any defect needs.
  private val MostForADefect = 5000

  private def right(histories: Range): Unit = {
    val first = TestSeed()
    var ends = Map.empty[String, Int].withDefaultValue(0)
    histories.map(first + _).foreach { seed =>
      History.end(seed, Defect.None) match {
        case Right(end) => ends += end -> (ends(end) + 1)
        case Left(_) => History.failure(seed).foreach(fail(_))
      }
    }
    info(ends.toSeq.sortBy(-_._2).map { case (end, n) => s"$n $end" }.mkString(", "))
    // A query that fails with a condition shows little else.
    assert(ends(Driver.Stopped) > histories.size * 3 / 4)
  }

  test("random histories: each record visible once, or a condition that names why not", NotInFast)(
    right(0 until 25)
  )

  test("further random histories", TestAll)(right(25 until 250))

  for (defect <- Defect.all) test(s"it finds the defect: ${defect.name}", NotInFast) {
    info(FirstWrong(MostForADefect, defect.skipped)(History.wrong(_, defect)))
  }
}

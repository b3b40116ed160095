package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, NoneWrong}

/** Random histories of queries whose Kafka clusters are replaced by copies. */
class CopiesSimulationSuite extends AnyFunSuite with TimeLimit {

  private val MostForADefect = 20000

  test("histories of copies: the sink has what the policy promises")(
    NoneWrong(0 until 75)(CopiesHistory.failure(_))
  )

  test("further histories of copies", TestAll)(NoneWrong(75 until 2000)(CopiesHistory.failure(_)))

  for (defect <- Defect.ofCopies) test(s"it finds the defect: ${defect.name}") {
    // A history that is wrong without the defect shows nothing of it.
    info(FirstWrong(MostForADefect, defect.skipped)(seed =>
      CopiesHistory.wrong(seed, defect).filter(_ => CopiesHistory.failure(seed).isEmpty)
    ))
  }
}

package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.{FirstWrong, NoneWrong}

/** Random histories of queries whose Kafka clusters are replaced by copies. */
class CopiesSimulationSuite extends AnyFunSuite with TimeLimit {

  private val MostForADefect = 20000

  test("histories of copies: the sink has what the policy promises")(
    NoneWrong(0 until 400)(CopiesHistory.failure(_))
  )

  for (defect <- Defect.ofCopies) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(MostForADefect)(CopiesHistory.wrong(_, defect)))
  }
}

package io.github.dynamickafka.source.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.NoneWrong
import io.github.dynamickafka.testkit.TimeLimit

/** Random histories of queries whose Kafka clusters are replaced by copies. */
class CopiesSimulationSuite extends AnyFunSuite with TimeLimit {

  test("histories of copies: the sink has what the policy promises")(NoneWrong(0 until 400)(CopiesHistory.failure))
}

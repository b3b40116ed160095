package io.github.dynamickafka.source.read

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.{FirstWrong, TestSeed}

/** Random histories of consumers that outlive the batches, queries and topics that they read, and the same with former defects. */
class ReaderHistorySuite extends AnyFunSuite with TimeLimit {
  private def wrong(defect: ReaderDefect)(seed: Long) = new ReaderHistory(seed, defect).failure()

  test("500 histories: each range has its records, or a loss, and never those of another log") {
    val first = TestSeed()
    (first until first + 500).foreach(seed => wrong(ReaderDefect.Nothing)(seed).foreach(fail(_)))
  }

  for (defect <- ReaderDefect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(100000)(wrong(defect)))
  }
}

package io.github.dynamickafka.source.read

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{TestAll, TimeLimit}
import io.github.dynamickafka.{FirstWrong, NoneWrong}

/** Random histories of consumers that outlive the batches, queries and topics that they read, and the same with former defects. */
class ReaderHistorySuite extends AnyFunSuite with TimeLimit {
  private def wrong(defect: ReaderDefect)(seed: Long) = new ReaderHistory(seed, defect).failure()

  test("random histories: each range has its records, or a loss, and never those of another log") {
    NoneWrong(0 until 75)(wrong(ReaderDefect.Nothing))
  }

  test("further random histories", TestAll)(NoneWrong(75 until 1000)(wrong(ReaderDefect.Nothing)))

  for (defect <- ReaderDefect.all) test(s"it finds the defect: ${defect.name}") {
    info(FirstWrong(100000)(wrong(defect)))
  }
}

package io.github.dynamickafka.sink.simulation

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TimeLimit}

/** All interleavings of two runs, instead of random ones. */
class ExplorationSuite extends AnyFunSuite with TimeLimit {

  private def explored(isDeferred: Boolean): Unit = {
    val counts = new Exploration(isDeferred, Defect.None).run().fold(fail(_), identity)
    info(
      s"${counts.states} states, ${counts.transitions} steps between them, ${counts.left} states that are left when the runs " +
        s"die, ${counts.starts} starts after them"
    )
    // Fewer are not all.
    assert(counts.states > 1000 && counts.transitions > counts.states)
  }

  test("all interleavings of two runs of a batch, and all points at which they can crash", NotInFast) {
    explored(isDeferred = false)
  }

  test("... of which the second run defers a part", NotInFast) {
    explored(isDeferred = true)
  }

  private def finds(defect: Defect, isDeferred: Boolean = false): Unit =
    test(s"it finds the defect: ${defect.name}", NotInFast) {
      val wrong = new Exploration(isDeferred, defect).run().left.toOption
      info(wrong.getOrElse(fail("not found")))
    }

  finds(Defect.BatchesByNumber)
  finds(Defect.UnknownIsLost)
  finds(Defect.RollsForwardBlindly)
  finds(Defect.SweepsAllOthers)
  finds(Defect.RunsShareIds)
  finds(Defect.PlansAreIgnored, isDeferred = true)
}

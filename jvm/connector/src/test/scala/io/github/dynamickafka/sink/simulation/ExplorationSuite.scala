package io.github.dynamickafka.sink.simulation

import org.scalatest.Tag
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.{NotInFast, TestAll, TimeLimit}

/** The interleavings of two runs with few switches between them, instead of random ones. `RunExploration` takes more switches. */
class ExplorationSuite extends AnyFunSuite with TimeLimit {

  private def explores(switches: Int, fewest: Int, isDeferred: Boolean): Unit = {
    val deferral = if (isDeferred) ", of which the second one defers a part" else ""
    test(
      s"two runs of a batch$deferral, $switches switches, and all points at which they can crash",
      TestAll
    ) {
      val counts = new Exploration(switches, isDeferred, Defect.None).run().fold(fail(_), identity)
      info(
        s"${counts.states} states, ${counts.transitions} steps between them, ${counts.left} states that are left when the runs " +
          s"die, ${counts.starts} starts after them"
      )
      assert(counts.states > fewest)
    }
  }

  Seq(false, true).foreach(explores(switches = 1, fewest = 1000, _))
  Seq(false, true).foreach(explores(switches = 2, fewest = 10000, _))

  private def finds(defect: Defect, tag: Tag, isDeferred: Boolean = false): Unit =
    test(s"it finds the defect: ${defect.name}", tag) {
      info(new Exploration(2, isDeferred, defect).run().fold(identity, _ => fail("not found")))
    }

  finds(Defect.BatchesByNumber, NotInFast)
  finds(Defect.UnknownIsLost, NotInFast)
  finds(Defect.RollsForwardBlindly, NotInFast)
  finds(Defect.PlansAreIgnored, TestAll, isDeferred = true)
  finds(Defect.SweepsAllOthers, TestAll)
  finds(Defect.RunsShareIds, TestAll)
}

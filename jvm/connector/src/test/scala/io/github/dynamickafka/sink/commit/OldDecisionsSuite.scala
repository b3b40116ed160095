package io.github.dynamickafka.sink.commit

import java.util.UUID

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.storage.ObjectStore
import io.github.dynamickafka.storage.ObjectStore._
import io.github.dynamickafka.testkit.TimeLimit

/** What a driver leaves that dies while it deletes old decisions. */
class OldDecisionsSuite extends AnyFunSuite with TimeLimit {

  /** The last batch that is finished before the driver dies; it deletes those that are more than ten older. */
  private val Last = 12L

  test("at any step no mark is left without its decision, and the next batch deletes the rest") {
    Seq(ByFileContext, Conditional).foreach { kind =>
      val steps = atEachStep("a") { stepped =>
        val name = UUID.randomUUID().toString
        val store = ObjectStore.named(name)
        def journal(driver: String) =
          new Journal(s"objects://$name/checkpoint", of(driver, kind), () => CommitScene.Instance)
        def left = store.paths(s"/checkpoint/${Journal.Folder}/").map(_.split('/').last).toSet
        val before = journal("b")
        (0L to 1L).foreach(finished(before, _))
        before.decide(CommitScene.entry(Last, 0))
        stepped.dying(store)(journal("a").finish(CommitScene.entry(Last, 0)))
        val orphans = left.filter(_.endsWith(".done")).map(_.replace(".done", ".json")) -- left
        assert(orphans.isEmpty, s"$kind, ${stepped.where}")
        finished(journal("b"), Last + 1)
        assert(left.filter(_.matches("[01]-0.*")).isEmpty, s"$kind, ${stepped.where}")
      }
      assert(steps >= 10, s"$kind")
    }
  }

  private def finished(journal: Journal, batch: Long): Unit = {
    journal.decide(CommitScene.entry(batch, 0))
    journal.finish(CommitScene.entry(batch, 0))
  }
}

package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** What a job does about the decisions of earlier jobs with the same location. */
class EarlierJobsSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val two = prepared("green", 0)

  /** An earlier job that has decided, and died. */
  private def decided(): (CommitScene, Journal) = {
    val scene = new CommitScene
    val earlier = scene.newJournal("earlier")
    earlier.decide(entry(0L, 0, one, two))
    scene -> earlier
  }

  test("what it decided is committed, and its journal is deleted") {
    val (scene, earlier) = decided()
    scene.kafka.put(ONGOING, one, two)
    val job = scene.recovered("second", earlier = Some(Seq(earlier)))
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(one, two).map(_.transactionalId))
    assert(!scene.exists("earlier"))
    assert(job.lastCommitted.isEmpty, "the batch of this job has the same number and is another one")
  }

  test("what it finished is not asked for again") {
    val (scene, earlier) = decided()
    earlier.finish(entry(0L, 0, one, two))
    scene.recovered("second", earlier = Some(Seq(earlier)))
    assert(!scene.kafka.requests.exists(_.contains(" commit ")) && !scene.exists("earlier"))
  }

  test("nothing of it is committed: the journal is deleted") {
    val (scene, earlier) = decided()
    scene.kafka.put(COMPLETE_ABORT, one, two)
    val job = scene.recovered("second", earlier = Some(Seq(earlier)))
    assert(job.lastCommitted.isEmpty && !scene.exists("earlier"))
  }

  test("a part is lost and none is committed: the rest is aborted, and the journal is deleted") {
    val (scene, earlier) = decided()
    scene.kafka.put(ONGOING, one)
    scene.kafka.put(COMPLETE_ABORT, two)
    scene.recovered("second", earlier = Some(Seq(earlier)))
    assert(scene.kafka.in(COMPLETE_ABORT) == Set(one, two).map(_.transactionalId))
    assert(!scene.exists("earlier"))
  }

  test("an earlier job that still runs detects that its decision was taken over") {
    val (scene, earlier) = decided()
    val claim = scene.claim("first", earlier)
    scene.kafka.put(ONGOING, one, two)
    scene.kafka.setDown("blue")
    assert(failure(scene.start("second", earlier = Some(Seq(earlier))).recover())._1 == "COMMIT_INCOMPLETE")
    assert(failure(earlier.checkClaim(claim))._1 == "JOURNAL_CONFLICT")
  }

  test("a lost part is PARTIAL_COMMIT under each policy, because another job has other rows") {
    val (scene, earlier) = decided()
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(COMPLETE_ABORT, two)
    Seq(false, true).foreach { replayLost =>
      val (condition, text) = failure(scene.start("second", replayLost, Some(Seq(earlier))).recover())
      assert(condition == "PARTIAL_COMMIT" && text.contains(two.transactionalId))
      assert(
        text.contains(s"delete the directory '${earlier.path}'") && !text.contains("partialCommitPolicy")
      )
      assert(earlier.newest().contains(entry(0L, 0, one, two) -> false))
    }
  }
}

package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.sink.journal.{BatchInput, JobOrigin, Journal}
import io.github.dynamickafka.testkit.{TestAll, TimeLimit}

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
    val job = scene.recovered("second", earlier = Seq(earlier))
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(one, two).map(_.transactionalId))
    assert(!scene.exists("earlier"))
    assert(job.lastCommitted.isEmpty, "the batch of this job has the same number and is another one")
  }

  test("what it finished is not asked for again") {
    val (scene, earlier) = decided()
    earlier.finish(entry(0L, 0, one, two))
    scene.recovered("second", earlier = Seq(earlier))
    assert(!scene.kafka.requests.exists(_.contains(" commit ")) && !scene.exists("earlier"))
  }

  test("nothing of it is committed: the journal is deleted") {
    val (scene, earlier) = decided()
    scene.kafka.put(COMPLETE_ABORT, one, two)
    val job = scene.recovered("second", earlier = Seq(earlier))
    assert(job.lastCommitted.isEmpty && !scene.exists("earlier"))
  }

  test("a part is lost and none is committed: the rest is aborted, and the journal is deleted") {
    val (scene, earlier) = decided()
    scene.kafka.put(ONGOING, one)
    scene.kafka.put(COMPLETE_ABORT, two)
    scene.recovered("second", earlier = Seq(earlier))
    assert(scene.kafka.in(COMPLETE_ABORT) == Set(one, two).map(_.transactionalId))
    assert(!scene.exists("earlier"))
  }

  test("an earlier job that still runs detects that its decision was taken over") {
    val (scene, earlier) = decided()
    val claim = scene.claim("first", earlier)
    scene.kafka.put(ONGOING, one, two)
    scene.kafka.setDown("blue")
    assert(failure(scene.start("second", earlier = Seq(earlier)).recover())._1 == "COMMIT_INCOMPLETE")
    assert(failure(earlier.checkClaim(claim))._1 == "JOURNAL_CONFLICT")
  }

  /** A job with the name of the one whose journal this is. */
  private def again(scene: CommitScene, journal: Journal): TwoPhaseCommit = {
    val job = scene.start("second", job = Job, kept = Some(journal))
    job.recover()
    job
  }

  test(
    "a job of the same name: its rows are discarded if it is written, also after its commits were interrupted"
  ) {
    Seq(false, true).foreach { finished =>
      val (scene, named) = decided()
      scene.kafka.put(ONGOING, one, two)
      if (finished) named.finish(entry(0L, 0, one, two))
      assert(again(scene, named).lastCommitted.contains(0L))
      assert(scene.kafka.in(COMPLETE_COMMIT).size == (if (finished) 0 else 2) && scene.exists("earlier"))
    }
  }

  /** A job that was written with 20 rows, by this batch of a streaming query if there is one. */
  private def written(origin: JobOrigin): (CommitScene, Journal) = {
    val scene = new CommitScene
    val named = scene.newJournal("named")
    scene.kafka.put(ONGOING, one, two)
    val job = scene.start("first", job = Some(origin), kept = Some(named))
    job.recover()
    job.commit(0L, tasks(one, two), Rows, scene.clock.nanoTime(), TransactionTimeoutMs)
    scene -> named
  }

  private val ofQuery = JobOrigin(Some("a"), BatchInput.of("offsets/4" -> "v1"))

  private def runAgain(origin: JobOrigin, rows: Long, before: JobOrigin = ofQuery): (String, String) = {
    val (scene, named) = written(before)
    failure {
      val again = scene.start("second", job = Some(origin), kept = Some(named))
      again.recover()
      assert(again.lastCommitted.contains(0L))
      again.commit(0L, Nil, rows, scene.clock.nanoTime(), TransactionTimeoutMs)
    }
  }

  test("a job of the same name is discarded only if its rows are from the same batch, and as many", TestAll) {
    assert(runAgain(ofQuery, Rows)._1 == "none")
    // The checkpoint of the query may not be known.
    assert(runAgain(ofQuery.copy(input = BatchInput.Empty), Rows)._1 == "none")
    assert(runAgain(Job.get, Rows, before = Job.get)._1 == "none")
    Seq(
      (ofQuery.copy(query = Some("b")), Rows) -> "another streaming query, 'b'",
      (Job.get, Rows) -> "no streaming query",
      (ofQuery.copy(input = BatchInput.of("offsets/4" -> "v2")), Rows) -> "'offsets/4' had SHA-256",
      (
        ofQuery.copy(input = BatchInput.of("offsets/5" -> "v1")),
        Rows
      ) -> "'offsets/5' had SHA-256 no such file",
      (ofQuery, Rows + 1) -> "it had 20 rows, and now it has 21 rows",
      (ofQuery, 0L) -> "now it has 0 rows"
    ).foreach { case ((origin, rows), expected) =>
      val (condition, text) = runAgain(origin, rows)
      assert(condition == "JOURNAL_CONFLICT" && text.contains(expected), text)
    }
  }

  test("a job of the same name of which nothing is committed is written") {
    val (scene, named) = decided()
    scene.kafka.put(COMPLETE_ABORT, one, two)
    assert(again(scene, named).lastCommitted.isEmpty)
    assert(again(scene, scene.newJournal("new")).lastCommitted.isEmpty)
  }

  test("a lost part is PARTIAL_COMMIT under each policy, because another job has other rows") {
    val (scene, earlier) = decided()
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(COMPLETE_ABORT, two)
    Seq(false, true).foreach { replayLost =>
      val (condition, text) = failure(scene.start("second", replayLost, Seq(earlier)).recover())
      assert(condition == "PARTIAL_COMMIT" && text.contains(two.transactionalId))
      assert(
        text.contains(s"delete the directory '${earlier.path}'") && !text.contains("partialCommitPolicy")
      )
      assert(earlier.newest().contains(entry(0L, 0, one, two) -> false))
    }
  }
}

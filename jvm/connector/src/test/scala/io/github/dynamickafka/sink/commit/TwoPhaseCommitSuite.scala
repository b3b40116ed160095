package io.github.dynamickafka.sink.commit

import java.io.IOException
import java.util.concurrent.atomic.AtomicBoolean

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.sink.simulation.Coroutine
import io.github.dynamickafka.testkit.TimeLimit

/** What must not be decided, committed or aborted, also if two runs use one journal. */
class TwoPhaseCommitSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val of2 = prepared("blue", 0, "second")
  private val takeover = "run 'second' of the query started after this run"

  /** Batch 0 is logged, and each run has prepared a transaction. */
  private def planned(): CommitScene = {
    val scene = new CommitScene
    scene.plan(0L)
    scene.kafka.put(ONGOING, one, of2)
    scene
  }

  private def commit(scene: CommitScene, query: TwoPhaseCommit, run: String): (String, String) =
    failure(query.commit(
      0L,
      tasks(prepared("blue", 0, run)),
      scene.clock.nanoTime(),
      TransactionTimeoutMs
    ))

  /** The run of the newest decision, and whether it is finished. */
  private def newest(scene: CommitScene): Option[(String, Boolean)] =
    scene.journal.newest().map { case (entry, done) => entry.claim.run -> done }

  /** Whether nothing was committed or aborted. */
  private def onlyLooked(scene: CommitScene): Boolean = scene.kafka.requests
    .forall(r => r.contains(" connect ") || r.contains(" describe "))

  test(
    "a batch that Spark has not logged before writing is not decided"
  ) {
    val scene = new CommitScene
    val (condition, text) = commit(scene, scene.start("first"), "first")
    assert(condition == "EXACTLY_ONCE_REFUSED" && text.contains("not the checkpoint of the query"))
    assert(newest(scene).isEmpty && scene.kafka.requests.isEmpty)
  }

  test("transactions that are too old are not committed") {
    val scene = planned()
    scene.clock.advanceMs(31000L)
    val (condition, text) =
      failure(scene.start("first").commit(0L, tasks(one), 0L, TransactionTimeoutMs))
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("the transaction timeout is 60000 ms"))
    assert(newest(scene).isEmpty && scene.kafka.requests.isEmpty)
  }

  test("a driver that was taken for dead and wakes up gets the error that a later run has replaced it") {
    Seq[CommitScene => Unit](
      _.clock.advanceMs(31000L),
      _.kafka.put(COMPLETE_ABORT, one)
    ).foreach { meanwhile =>
      val scene = planned()
      val first = scene.start("first")
      scene.claim("second")
      meanwhile(scene)
      val (condition, text) = failure(first.commit(0L, tasks(one), 0L, TransactionTimeoutMs))
      assert(condition == "JOURNAL_CONFLICT" && text.contains(takeover), text)
      assert(newest(scene).isEmpty)
    }
  }

  test("if another run has started since, nothing is decided") {
    val scene = planned()
    val first = scene.start("first")
    scene.claim("second")
    val (condition, text) = commit(scene, first, "first")
    assert(condition == "JOURNAL_CONFLICT" && text.contains(takeover))
    assert(newest(scene).isEmpty && scene.kafka.requests.isEmpty)
  }

  test("if another run starts while this one decides, nothing is committed or aborted") {
    val scene = planned()
    val first = scene.start("first", steps = at("claimed") { val _ = scene.claim("second") })
    val (condition, text) = commit(scene, first, "first")
    assert(condition == "JOURNAL_CONFLICT" && text.contains(takeover))
    first.abort(0L, tasks(one))
    assert(newest(scene).contains("first" -> false) && onlyLooked(scene))
  }

  test("a decision made too late is replaced by the decision of the run that started afterwards") {
    val scene = planned()
    commit(scene, scene.start("first", steps = at("claimed") { val _ = scene.claim("second") }), "first")
    assert(commit(scene, scene.start("second"), "second")._1 == "none")
    assert(newest(scene).contains("second" -> true))
    assert(scene.kafka.in(COMPLETE_ABORT) == Set(one.transactionalId))
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(of2.transactionalId))
  }

  test("the decision of a later run is kept") {
    val scene = planned()
    val first = scene.start(
      "first",
      steps = at("claimed") {
        scene.claim("second")
        val second = scene.start("second", steps = at("decided")(scene.kafka.setDown("blue")))
        assert(commit(scene, second, "second")._1 == "COMMIT_INCOMPLETE")
      }
    )
    val (condition, text) = commit(scene, first, "first")
    assert(condition == "JOURNAL_CONFLICT" && text.contains(takeover))
    assert(newest(scene).contains("second" -> false))
    assert(!scene.kafka.requests.exists(r => r.contains(" fence") || r.contains(" abort")))
  }

  test("a decision made too late of which a part is committed is not dropped") {
    val scene = planned()
    scene.claim("second")
    scene.journal.decide(entry(0L, 0, one))
    scene.kafka.put(COMPLETE_COMMIT, one)
    val (condition, text) = commit(scene, scene.start("second"), "second")
    assert(condition == "JOURNAL_CONFLICT" && text.contains(one.transactionalId))
    assert(
      newest(scene).contains("first" -> false) && scene.kafka.in(COMPLETE_COMMIT) == Set(one.transactionalId)
    )
  }

  test("a batch without records needs no decision") {
    val scene = new CommitScene
    val query = scene.start("first")
    query.commit(
      0L,
      tasks(one).map(_.copy(prepared = Nil)),
      scene.clock.nanoTime(),
      TransactionTimeoutMs
    )
    assert(query.summary.transactions == 0 && newest(scene).isEmpty && query.lastCommitted.contains(0L))
  }

  test("a second attempt that is reported while a batch with one is committed counts for the next batch") {
    val scene = planned()
    val reported = new AtomicBoolean(true)
    val query = scene.start("first", steps = at("decided")(reported.set(true)))
    def setAfter(batch: Long, of: Seq[TaskTransactions]): Int = {
      query.commit(
        batch,
        of,
        scene.clock.nanoTime(),
        TransactionTimeoutMs,
        () => reported.getAndSet(false)
      )
      query.name.set
    }
    assert(setAfter(0L, tasks(one)) == 1 && reported.get)
    assert(setAfter(1L, Nil) == 2 && !reported.get)
  }

  test("a decision is marked while Spark logs the end of the batch, and the next batch waits for the mark") {
    Seq(true, false).foreach { isWritable =>
      val scene = planned()
      val query = scene.start("first", marking = new Coroutine.AtOnceOrLate(() => true))
      query.begin()
      assert(commit(scene, query, "first")._1 == "none")
      assert(newest(scene).contains("first" -> false) && scene.kafka.in(COMPLETE_COMMIT).nonEmpty)
      scene.plan(1L)
      if (isWritable) {
        query.begin()
        assert(newest(scene).contains("first" -> true))
      } else {
        scene.breakJournal()
        intercept[IOException](query.begin())
      }
    }
    val scene = planned()
    val query = scene.start("first", marking = new Coroutine.AtOnceOrLate(() => true))
    commit(scene, query, "first")
    query.close()
    assert(newest(scene).contains("first" -> true))
  }

  test("a commit that does not finish in time: the decision stays, the error lists it, nothing is aborted") {
    val scene = planned()
    val query = scene.start("first", steps = at("decided")(scene.kafka.setDown("blue")))
    val (condition, text) = commit(scene, query, "first")
    assert(condition == "COMMIT_INCOMPLETE")
    assert(text.contains(s"cluster 'blue', transaction '${one.transactionalId}' (task 0, 10 records"))
    assert(text.contains("--abandon-cluster"))
    assert(newest(scene).contains("first" -> false))
    val before = scene.kafka.requests
    query.abort(0L, tasks(one))
    assert(scene.kafka.requests == before)
  }
}

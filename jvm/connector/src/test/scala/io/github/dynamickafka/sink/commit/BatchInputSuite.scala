package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** A batch is known by what Spark has planned for it, not by its number alone. */
class BatchInputSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val two = prepared("green", 0)

  /** The first run has decided batch 4, and finished it or not. */
  private def decided(done: Boolean = true): CommitScene = {
    val scene = new CommitScene
    scene.plan(4L)
    scene.journal.decide(entry(4L, 0, one, two))
    if (done) scene.journal.finish(entry(4L, 0, one, two))
    scene
  }

  private def conflict(scene: CommitScene, replayLost: Boolean = false): String = {
    val query = scene.start("second", replayLost)
    val (condition, text) = failure(query.recover())
    assert(condition == "JOURNAL_CONFLICT", text)
    assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
    text
  }

  /** A run has deferred a part of batch 4, and then decided the batch. */
  private def decidedWithDeferral(): CommitScene = {
    val scene = new CommitScene
    scene.plan(4L)
    scene.defer(4L, "ranges")
    scene.kafka.put(ONGOING, one, two)
    val first = scene.start("first")
    first.begin()
    first.commit(4L, tasks(one, two), scene.clock.nanoTime(), TransactionTimeoutMs)
    scene
  }

  test("another run has decided a part of what this run has planned: its rows are not discarded") {
    val scene = decidedWithDeferral()
    scene.planTasks()
    val second = scene.recovered("second")
    second.begin()
    val (condition, text) =
      failure(second.commit(4L, Nil, scene.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "JOURNAL_CONFLICT" && text.contains("deferred/4.json"), text)
  }

  test("a run that was paused since it found the batch decided does not discard its rows") {
    val scene = decided()
    val paused = scene.recovered("second")
    scene.claim("third")
    val (condition, _) =
      failure(paused.commit(4L, Nil, scene.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "JOURNAL_CONFLICT")
  }

  test("Spark runs the decided batch again: its rows are discarded") {
    assert(decided().recovered("second").lastCommitted.contains(4L))
  }

  test("Spark runs a later batch: nothing is discarded, whatever is left of the decided batch") {
    val scene = decided()
    scene.plan(5L)
    assert(scene.recovered("second").lastCommitted.isEmpty)
    scene.forget(4L)
    assert(scene.recovered("third").lastCommitted.isEmpty)
  }

  test(
    "the batch was planned again with other offsets: JOURNAL_CONFLICT with batch, both digests and the remedy"
  ) {
    val scene = decided()
    scene.forget(4L)
    scene.plan(4L, "v1 of other ranges")
    val text = conflict(scene)
    assert(
      text.contains("batch 4") && text.contains("'offsets/4'") && text.contains("restore the checkpoint")
    )
    assert(
      text.contains(BatchInput.digest(Planned)) && text.contains(BatchInput.digest("v1 of other ranges"))
    )
  }

  test(
    "Spark's part of the checkpoint is one batch behind: JOURNAL_CONFLICT, and the earlier batch is not discarded"
  ) {
    val scene = decided()
    scene.forget(4L)
    scene.plan(3L)
    assert(conflict(scene).contains("ends with batch 3"))
  }

  test("Spark's offset log is empty: JOURNAL_CONFLICT") {
    val scene = decided()
    scene.forget(4L)
    assert(conflict(scene).contains("is empty"))
  }

  test("what is decided is committed before another plan is reported") {
    val scene = decided(done = false)
    scene.kafka.put(ONGOING, one, two)
    scene.plan(4L, "v1 of other ranges")
    conflict(scene)
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(one, two).map(_.transactionalId))
    assert(scene.journal.newest().exists(_._2))
  }

  test("nothing of the decided batch is committed: another plan is no conflict") {
    val scene = decided(done = false)
    scene.kafka.put(COMPLETE_ABORT, one, two)
    scene.plan(4L, "v1 of other ranges")
    assert(scene.recovered("second").lastCommitted.isEmpty && scene.journal.newest().isEmpty)
  }

  test(
    "nothing of the decided batch is committed, and Spark is one batch behind: that batch is discarded if it is written"
  ) {
    Seq(Planned -> true, "v1 of other ranges" -> false).foreach { case (offset, same) =>
      val scene = decided(done = false)
      scene.kafka.put(COMPLETE_ABORT, one, two)
      scene.journal.decide(entry(3L, 0, one))
      scene.journal.finish(entry(3L, 0, one))
      scene.forget(4L)
      scene.plan(3L, offset)
      if (same) assert(scene.recovered("second").lastCommitted.contains(3L))
      else assert(conflict(scene).contains("'offsets/3'"))
    }
  }

  test("a lost part is not written again from another plan") {
    val scene = decided(done = false)
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(COMPLETE_ABORT, two)
    scene.plan(4L, "v1 of other ranges")
    conflict(scene, replayLost = true)
  }

  test("a decision contains the digest of the plan, that of a job none") {
    val scene = new CommitScene
    scene.kafka.put(ONGOING, one)
    scene.plan(0L, "v1 of batch 0")
    scene.start("first").commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs)
    assert(scene.journal.newest().map(_._1.input).contains(BatchInput.of("offsets/0" -> "v1 of batch 0")))
    scene.kafka.put(ONGOING, one)
    val job = scene.newJournal("job")
    scene.start("second", earlier = Some(Nil), kept = job)
      .commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs)
    assert(job.newest().map(_._1.input).contains(BatchInput.Empty))
  }

  test("a part of the batch was deferred after its decision: JOURNAL_CONFLICT with the file and the remedy") {
    val scene = decided()
    scene.defer(4L, "ranges")
    val text = conflict(scene)
    assert(text.contains("'sources/0/dynamic-kafka/deferred/4.json' had SHA-256 no such file"))
    assert(text.contains("delete that file"))
  }

  test(
    "a part of a finished batch was deferred after its decision: JOURNAL_CONFLICT, as the next batch repeats it"
  ) {
    val scene = decided()
    scene.defer(4L, "ranges")
    scene.plan(5L)
    val text = conflict(scene)
    assert(text.contains("but records of the batch are deferred: 'sources/0/dynamic-kafka/deferred/4.json'"))
    assert(text.contains("offsets/5"))
  }

  test(
    "the plan of a finished batch was edited, or its deferral deleted after its records were read: nothing"
  ) {
    val scene = decidedWithDeferral()
    scene.plan(5L)
    scene.plan(4L, "v1 of edited positions")
    scene.undefer(4L)
    assert(scene.recovered("second").lastCommitted.isEmpty)
  }

  test("a part of the batch was deferred before its decision: its rows are discarded") {
    val scene = decidedWithDeferral()
    scene.defer(3L, "ranges of an earlier batch")
    assert(scene.recovered("second").lastCommitted.contains(4L))
    scene.defer(4L, "other ranges")
    conflict(scene)
  }

  test("another run plans the batch while its tasks run: nothing is decided") {
    Seq[CommitScene => Unit](_.defer(1L, "ranges"), _.plan(1L, "v1 of other ranges")).foreach { change =>
      val scene = new CommitScene
      scene.plan(0L)
      scene.kafka.put(ONGOING, one)
      val query = scene.start("first")
      query.begin()
      query.commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs)
      scene.plan(1L)
      query.begin()
      change(scene)
      scene.kafka.put(ONGOING, one)
      val (condition, text) =
        failure(query.commit(1L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs))
      assert(condition == "JOURNAL_CONFLICT" && text.contains("has planned batch 1 while"))
      assert(scene.journal.newest().exists(_._1.batch == 0L))
    }
  }

  test("another run defers a part of the batch after this run has planned its tasks: nothing is decided") {
    val scene = new CommitScene
    scene.plan(4L)
    scene.kafka.put(ONGOING, one)
    scene.planTasks(3L -> "ranges")
    scene.defer(4L, "ranges")
    val (condition, text) = written(scene, 4L)
    assert(
      condition == "JOURNAL_CONFLICT" && text.contains("'sources/0/dynamic-kafka/deferred/4.json'"),
      text
    )
    assert(scene.journal.newest().isEmpty)
  }

  test("the deferral with which this run has planned the tasks is no longer there: nothing is decided") {
    Seq[CommitScene => Unit](_.undefer(4L), _.defer(4L, "other ranges")).foreach { change =>
      val scene = new CommitScene
      scene.plan(4L)
      scene.defer(4L, "ranges")
      scene.planTasks(4L -> "ranges")
      scene.kafka.put(ONGOING, one)
      change(scene)
      val (condition, text) = written(scene, 4L)
      assert(condition == "JOURNAL_CONFLICT" && text.contains("deferred/4.json"), text)
    }
  }

  test(
    "the deferral with which this run has planned the tasks, also of an earlier batch: the batch is decided"
  ) {
    Seq(4L, 3L).foreach { deferred =>
      val scene = new CommitScene
      scene.plan(4L)
      scene.defer(deferred, "ranges")
      scene.planTasks(deferred -> "ranges")
      scene.kafka.put(ONGOING, one)
      assert(written(scene, 4L)._1 == "none")
    }
  }

  private def written(scene: CommitScene, batch: Long): (String, String) = failure {
    val query = scene.start("first")
    query.begin()
    query.commit(batch, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs)
  }

  test("the difference names each file, also one that only one side has") {
    val planned = BatchInput.of("offsets/4" -> "a", "more/4" -> "b")
    assert(planned.difference(planned).isEmpty)
    val now = BatchInput.of("offsets/4" -> "a")
    assert(planned.difference(now).exists(t => t.contains("'more/4'") && t.contains("no such file")))
    assert(now.difference(planned).exists(t => t.contains("'more/4'") && !t.contains("offsets")))
  }
}

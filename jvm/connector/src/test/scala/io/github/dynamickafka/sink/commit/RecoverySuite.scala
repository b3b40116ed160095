package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** What a start of a query does about the batch that an earlier run has decided, by what Kafka says about it. */
class RecoverySuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  /** A decision of a query of whose checkpoint this one is a copy. */
  private def ofOriginal(transactions: Seq[Prepared]) = {
    val mine = entry(4L, 0, transactions: _*)
    mine.copy(claim = mine.claim.copy(instance = "original"))
  }

  private val one = prepared("blue", 0)
  private val two = prepared("blue", 1)
  private val three = prepared("green", 0)
  private val all = Seq(one, two, three)

  private def ids(transactions: Prepared*) = transactions.map(_.transactionalId).toSet

  /** The first run has decided batch 4 and died. */
  private def decided(round: Int = 0, batch: Long = 4L): CommitScene = {
    val scene = new CommitScene
    scene.plan(batch)
    scene.journal.decide(entry(batch, round, all: _*))
    scene
  }

  test("nothing is decided, or the journal was deleted: no batch counts as written") {
    Seq(false, true).foreach { isPlanned =>
      val scene = new CommitScene
      if (isPlanned) scene.plan(4L)
      val query = scene.recovered("second")
      assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
    }
  }

  test("all transactions are open: they are committed, once") {
    val scene = decided()
    scene.kafka.put(ONGOING, all: _*)
    val query = scene.recovered("second")
    assert(query.lastCommitted.contains(4L) && query.replay.isEmpty)
    assert(scene.kafka.in(COMPLETE_COMMIT) == ids(all: _*))
    assert(scene.journal.newest().contains(entry(4L, 0, all: _*) -> true))
    val before = scene.kafka.requests.size
    assert(scene.recovered("third").lastCommitted.contains(4L))
    assert(scene.kafka.requests.drop(before).forall(_.endsWith(" list")))
  }

  test("all transactions are committed already: the decision is finished") {
    val scene = decided()
    scene.kafka.put(COMPLETE_COMMIT, all: _*)
    assert(scene.recovered("second").lastCommitted.contains(4L))
    assert(scene.journal.newest().exists(_._2))
  }

  test(
    "Spark has logged the end of a later batch, but the mark is missing: finished, without a look at Kafka"
  ) {
    val scene = decided()
    (4L to 6L).foreach(scene.plan(_))
    scene.end(6L)
    scene.kafka.setDown("blue")
    val query = scene.recovered("second")
    assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
    assert(scene.journal.newest().contains(entry(4L, 0, all: _*) -> true))
    assert(
      scene.kafka.requests.forall(r => r.contains(" connect ") || r.endsWith(" list")),
      scene.kafka.requests
    )
  }

  test(
    "Spark has logged the end of the batch, but the mark is missing: finished if all transactions are committed"
  ) {
    val scene = decided()
    scene.end(4L)
    scene.kafka.put(COMPLETE_COMMIT, all: _*)
    assert(scene.recovered("second").lastCommitted.contains(4L))
    assert(scene.journal.newest().contains(entry(4L, 0, all: _*) -> true))
    val forgotten = decided()
    forgotten.end(4L)
    assert(failure(forgotten.start("second").recover())._1 == "TRANSACTION_UNKNOWN")
  }

  test(
    "the commit log has the batch, but Kafka does not know that it is committed: the file was made by hand"
  ) {
    Seq(false, true).foreach { replayLost =>
      val scene = partial()
      scene.end(4L)
      scene.plan(5L)
      val (condition, text) = failure(scene.start("second", replayLost = replayLost).recover())
      assert(condition == "PARTIAL_COMMIT" && text.contains("cluster 'green'"), text)
      assert(text.contains("delete 'commits/4' and") && !text.contains("partialCommitPolicy"), text)
      assert(scene.journal.newest().contains(entry(4L, 0, all: _*) -> false))
    }
    val down = decided()
    down.end(4L)
    down.plan(5L)
    down.kafka.put(COMPLETE_COMMIT, one, two)
    down.kafka.setDown("green")
    assert(failure(down.start("second").recover())._1 == "COMMIT_INCOMPLETE")
    val none = decided()
    none.end(4L)
    none.plan(5L)
    none.kafka.put(COMPLETE_ABORT, all: _*)
    assert(failure(none.start("second").recover())._1 == "PARTIAL_COMMIT")
    val open = decided()
    open.end(4L)
    open.plan(5L)
    open.kafka.put(ONGOING, all: _*)
    assert(open.recovered("second").replay.isEmpty)
    assert(open.kafka.in(COMPLETE_COMMIT) == ids(all: _*) && open.journal.newest().exists(_._2))
  }

  test(
    "Spark has logged the end of an earlier batch, or of another plan of the batch: its transactions are looked at"
  ) {
    Seq(3L, 4L).foreach { last =>
      val scene = decided()
      scene.end(last)
      // What a run that was paused has decided, after the next one had deferred the whole batch.
      if (last == 4L) scene.defer(4L, "all")
      scene.kafka.put(COMPLETE_ABORT, all: _*)
      scene.recovered("second")
      assert(scene.journal.newest().isEmpty)
    }
  }

  test("none is committed: the batch is written again, and no earlier one counts as written") {
    Seq(4L, 0L).foreach { batch =>
      val scene = decided(batch = batch)
      scene.kafka.put(COMPLETE_ABORT, all: _*)
      val query = scene.recovered("second")
      assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
      assert(scene.journal.newest().isEmpty)
    }
  }

  test("one is lost and none is committed: the others are aborted, and the whole batch is written again") {
    val scene = decided()
    scene.kafka.put(ONGOING, one, two)
    scene.kafka.put(COMPLETE_ABORT, three)
    val query = scene.recovered("second")
    assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
    assert(scene.kafka.in(COMPLETE_ABORT) == ids(all: _*) && scene.journal.newest().isEmpty)
  }

  test("... and one of the others cannot be aborted yet: COMMIT_INCOMPLETE, and the decision stays") {
    val scene = decided()
    scene.kafka.put(ONGOING, one, two)
    scene.kafka.put(COMPLETE_ABORT, three)
    scene.kafka.failEnds(one, times = 9)
    val (condition, text) = failure(scene.start("second").recover())
    assert(condition == "COMMIT_INCOMPLETE" && text.contains(one.transactionalId))
    assert(scene.journal.newest().exists(!_._2) && scene.kafka.in(COMPLETE_COMMIT).isEmpty)
  }

  test("... on a copied checkpoint: the others are left to the query that decided them") {
    val scene = new CommitScene
    scene.plan(4L)
    val theirs = all.map(t => t.copy(transactionalId = t.transactionalId.replace("p-q-i-", "p-q-original-")))
    scene.journal.decide(ofOriginal(theirs))
    scene.kafka.put(ONGOING, theirs.take(2): _*)
    scene.kafka.put(COMPLETE_ABORT, theirs.last)
    assert(scene.recovered("second").replay.isEmpty)
    assert(scene.kafka.in(ONGOING) == ids(theirs.take(2): _*) && scene.journal.newest().isEmpty)
  }

  test("the decision of a checkpoint that was moved or copied is completed, if all of it can be committed") {
    val scene = new CommitScene
    scene.plan(4L)
    scene.journal.decide(ofOriginal(all))
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(ONGOING, two, three)
    assert(scene.recovered("second").lastCommitted.contains(4L))
    assert(scene.kafka.in(COMPLETE_COMMIT) == ids(all: _*) && scene.journal.newest().exists(_._2))
  }

  test("a cluster that refuses the credentials: COMMIT_INCOMPLETE at once, after one log-in") {
    val scene = decided()
    scene.kafka.put(ONGOING, all: _*)
    scene.kafka.setRefusing("green")
    val (condition, text) = failure(scene.start("second").recover())
    assert(condition == "COMMIT_INCOMPLETE" && text.contains("CLUSTER_AUTHENTICATION_FAILED"), text)
    assert(scene.kafka.requests.count(_.startsWith("green describe")) == 1)
    // The next client reads the credentials again.
    assert(scene.kafka.requests.contains("green close"))
    assert(scene.kafka.in(ONGOING) == ids(all: _*) && scene.journal.newest().exists(!_._2))
    scene.kafka.setRefusing()
    assert(scene.recovered("third").lastCommitted.contains(4L))
  }

  /** Part of the batch is committed; the part on green has been aborted. */
  private def partial(round: Int = 0): CommitScene = {
    val scene = decided(round)
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(ONGOING, two)
    scene.kafka.put(COMPLETE_ABORT, three)
    scene
  }

  test("one is lost: PARTIAL_COMMIT names it, at each start") {
    val scene = partial()
    Seq("second", "third").foreach { run =>
      val (condition, text) = failure(scene.start(run).recover())
      assert(
        condition == "PARTIAL_COMMIT" && text.contains(s"delete the files '4-*' in '${scene.journal.path}'")
      )
      assert(text.contains("cluster 'green'") && text.contains("CompleteAbort") && !text.contains("'blue'"))
      assert(scene.journal.newest().contains(entry(4L, 0, all: _*) -> false))
    }
    assert(scene.kafka.in(COMPLETE_COMMIT) == ids(one, two))
  }

  test("a run that was paused while another one has claimed the journal ends nothing") {
    val scene = decided()
    scene.kafka.put(ONGOING, all: _*)
    val paused = scene.start("second")
    val _ = scene.claim("third")
    val (condition, text) = failure(paused.recover())
    assert(condition == "JOURNAL_CONFLICT" && text.contains("started after this run"))
    assert(scene.kafka.in(ONGOING) == ids(all: _*) && scene.journal.newest().exists(!_._2))
  }

  test("one is lost, and replayed: only that part, as round 1; then the batch counts as written") {
    val scene = partial()
    val query = scene.recovered("second", replayLost = true)
    assert(query.lastCommitted.isEmpty)
    assert(query.replay.contains(
      LostParts(4L, 1, Map((0, "green") -> 10L), Map((0, "blue") -> 10L, (1, "blue") -> 11L))
    ))
    val again = prepared("green", 0, "second")
    scene.kafka.put(ONGOING, again)
    scene.plan(4L)
    val blue = Map("blue" -> 10L)
    val messages = tasks(again).map(_.copy(withheld = blue)) :+
      tasks(prepared("blue", 1)).head.copy(prepared = Nil, withheld = Map("blue" -> 11L))
    query.commit(4L, messages, scene.clock.nanoTime(), TransactionTimeoutMs)
    assert(query.lastCommitted.contains(4L) && query.replay.isEmpty)
    assert(scene.journal.newest().exists { case (e, done) =>
      e.round == 1 && e.transactions == Seq(again) && done
    })
    val third = scene.recovered("third")
    assert(third.lastCommitted.contains(4L) && third.replay.isEmpty)
  }

  test("a lost part of a batch that Spark does not run again is PARTIAL_COMMIT, whatever the policy") {
    val scene = partial()
    scene.plan(4L)
    scene.plan(5L)
    val query = scene.start("second", replayLost = true)
    val (condition, text) = failure(query.recover())
    assert(condition == "PARTIAL_COMMIT" && text.contains("cluster 'green'"))
    assert(query.replay.isEmpty && scene.journal.newest().exists(!_._2))
  }

  test("a topic is recreated after the decision: none is committed, so that the batch is written again") {
    val scene = new CommitScene
    scene.plan(4L)
    scene.kafka.put(ONGOING, all: _*)
    val first = scene.start("first", steps = at("decided")(throw new IllegalStateException("died")))
    intercept[IllegalStateException](
      first.commit(4L, tasks(all: _*), scene.clock.nanoTime(), TransactionTimeoutMs)
    )
    scene.kafka.recreate("green", "t")
    val second = scene.recovered("second")
    assert(second.lastCommitted.isEmpty && scene.journal.newest().isEmpty)
    assert(scene.kafka.in(COMPLETE_COMMIT).isEmpty)
  }

  /** The lost part was written again as round 1 and lost again. */
  private def lostAgain(): CommitScene = {
    val scene = partial()
    scene.kafka.put(COMPLETE_COMMIT, one, two)
    scene.kafka.put(COMPLETE_ABORT, prepared("green", 0, "second"))
    scene.journal.decide(entry(4L, 1, prepared("green", 0, "second")))
    scene
  }

  test("a replay that is lost again is replayed again") {
    val scene = lostAgain()
    val query = scene.recovered("third", replayLost = true)
    assert(query.replay.exists(r => r.round == 1 && r.lost.keySet == Set((0, "green"))))
    assert(query.lastCommitted.isEmpty)
    assert(scene.journal.rounds(4L).map(_.round) == Seq(0))
  }

  test("a replay that is lost again is PARTIAL_COMMIT if it must not be replayed") {
    val scene = lostAgain()
    Seq("third", "fourth").foreach { run =>
      val (condition, text) = failure(scene.start(run).recover())
      assert(condition == "PARTIAL_COMMIT" && text.contains(prepared("green", 0, "second").transactionalId))
    }
    assert(scene.journal.rounds(4L).map(_.round) == Seq(0, 1))
  }

  test(
    "a cluster is down and none is committed: nothing is, COMMIT_INCOMPLETE names it, a later start commits all"
  ) {
    val scene = decided()
    scene.kafka.put(ONGOING, all: _*)
    scene.kafka.setDown("green")
    val (condition, text) = failure(scene.start("second").recover())
    assert(condition == "COMMIT_INCOMPLETE")
    assert(text.contains("cluster 'green'") && !text.contains("'blue'") && text.contains("does not respond"))
    assert(scene.journal.newest().exists(!_._2) && scene.kafka.in(COMPLETE_COMMIT).isEmpty)
    scene.kafka.setDown()
    assert(scene.recovered("third").lastCommitted.contains(4L))
    assert(scene.kafka.in(COMPLETE_COMMIT) == ids(all: _*))
  }

  test(
    "a cluster is down and a part is committed: the rest is committed, a later start commits what is pending"
  ) {
    val scene = decided()
    scene.kafka.put(COMPLETE_COMMIT, one)
    scene.kafka.put(ONGOING, two, three)
    scene.kafka.setDown("green")
    assert(failure(scene.start("second").recover())._1 == "COMMIT_INCOMPLETE")
    assert(scene.kafka.in(COMPLETE_COMMIT) == ids(one, two))
    scene.kafka.setDown()
    assert(scene.recovered("third").lastCommitted.contains(4L))
  }

  test("a part is lost while another cluster does not respond: nothing is given up") {
    val scene = decided()
    scene.kafka.put(COMPLETE_ABORT, one, two)
    scene.kafka.put(ONGOING, three)
    scene.kafka.setDown("green")
    Seq(false, true).foreach { replayLost =>
      assert(failure(scene.start("second", replayLost).recover())._1 == "COMMIT_INCOMPLETE")
      assert(scene.journal.newest().exists(!_._2))
    }
  }

  test("open transactions of earlier runs are aborted, those of other queries and of this run are not") {
    val scene = new CommitScene
    val (old, mine) = (prepared("green", 0, "old"), prepared("green", 0, "second"))
    val other = old.copy(transactionalId = "p-q2-i-1-green-0-0-0.0")
    scene.kafka.put(ONGOING, old, mine, other)
    scene.recovered("second")
    assert(scene.kafka.in(COMPLETE_ABORT) == ids(old))
    assert(scene.kafka.in(ONGOING) == ids(mine, other))
  }

  test(
    "a cluster on which leftovers cannot be looked for does not stop the query, or hide those of another one"
  ) {
    val scene = new CommitScene
    scene.kafka.put(ONGOING, prepared("green", 0, "old"))
    scene.kafka.setDown("blue")
    scene.recovered("second")
    assert(scene.kafka.in(COMPLETE_ABORT) == ids(prepared("green", 0, "old")))
  }
}

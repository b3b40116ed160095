package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** A batch from the end of its tasks to its commit or abort, by what Kafka says. */
class CommitStepsSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val two = prepared("green", 1)

  private def ids(transactions: Prepared*) = transactions.map(_.transactionalId).toSet

  /** A query whose batch 0 is logged and whose tasks have prepared both transactions. */
  private def scene(): CommitScene = {
    val scene = new CommitScene
    scene.kafka.put(ONGOING, one, two)
    scene.plan(0L)
    scene
  }

  private final class Steps(override val oneByOne: Boolean) extends CommitProbe {
    var reached = Vector.empty[(String, Long)]
    override def reached(step: CommitStep, batch: Long): Unit = reached :+= step.name -> batch
  }

  private def commit(query: TwoPhaseCommit, scene: CommitScene, batch: Long = 0L): (String, String) =
    failure(query.commit(batch, tasks(one, two), scene.clock.nanoTime(), TransactionTimeoutMs))

  test("the decision is durable before the first commit, and finished after the last one") {
    Seq(false, true).foreach { oneByOne =>
      val of = scene()
      val steps = new Steps(oneByOne)
      val query = of.start("first", steps = steps)
      commit(query, of)
      val between = Seq.fill(if (oneByOne) 2 else 0)("between-commits")
      val expected = Seq("before-decision", "claimed", "decided") ++ between :+ "committed"
      assert(steps.reached == expected.map(_ -> 0L))
      assert(of.kafka.in(COMPLETE_COMMIT) == ids(one, two))
      assert(of.journal.newest().exists { case (e, done) => e.transactions == Seq(one, two) && done })
      assert(of.journal.newest().exists(_._1.clusters.keySet == Set("blue", "green")))
    }
  }

  test("a committed batch is neither committed again nor aborted") {
    val of = scene()
    val query = of.start("first")
    commit(query, of)
    assert(query.lastCommitted.contains(0L) && query.summary.transactions == 2)
    val before = of.kafka.requests
    commit(query, of)
    query.abort(0L, tasks(one, two))
    assert(of.kafka.requests == before)
  }

  test("the summary has the time from the end of the tasks on") {
    val of = scene()
    of.kafka.failEnds(one, times = 1)
    val query = of.start("first")
    commit(query, of)
    assert(query.summary == TwoPhaseCommit.Summary(2, PatienceMs))
  }

  test("a batch is decided until half of the transaction timeout has passed") {
    Seq(30000L -> "none", 30001L -> "TRANSACTIONS_ABORTED").foreach { case (age, expected) =>
      val of = scene()
      of.clock.advanceMs(age)
      assert(failure(of.start("first").commit(
        0L,
        tasks(one, two),
        0L,
        TransactionTimeoutMs
      ))._1 == expected)
      assert(of.journal.newest().isDefined == (expected == "none"))
    }
  }

  test("the age of a transaction is that of its lane: what its tasks waited for before does not count") {
    Seq(1000L -> "none", 30001L -> "TRANSACTIONS_ABORTED").foreach { case (openMs, expected) =>
      val of = scene()
      // A long shuffle before the rows were written.
      of.clock.advanceMs(100000L)
      val ages = Map("blue" -> openMs, "green" -> 1000L)
      val (condition, text) = failure(of.start("first").commit(
        0L,
        tasks(one, two).map(_.copy(openMs = ages, atMs = of.clock.currentTimeMillis())),
        0L,
        TransactionTimeoutMs
      ))
      assert(condition == expected)
      assert(expected == "none" || (text.contains("has been open for 30001 ms") && text.contains("'blue'")))
    }
  }

  test("the age is compared with the time-out of its own cluster") {
    Seq("blue" -> "none", "green" -> "TRANSACTIONS_ABORTED").foreach { case (short, expected) =>
      val of = scene()
      of.clock.advanceMs(100000L)
      val ages = Map("blue" -> 10L, "green" -> 10000L)
      val limits = Map("blue" -> 60000L, "green" -> 60000L) + (short -> 15000L)
      val messages = tasks(one, two).map(_.copy(openMs = ages, atMs = of.clock.currentTimeMillis()))
      assert(failure(of.start("first").commit(0L, messages, 0L, limits))._1 == expected)
    }
  }

  test("a job needs no plan") {
    val of = new CommitScene
    of.kafka.put(ONGOING, one, two)
    val query = of.start("first", earlier = Some(Nil), kept = of.newJournal("job"))
    assert(commit(query, of)._1 == "none")
    assert(of.kafka.in(COMPLETE_COMMIT) == ids(one, two) && query.lastCommitted.contains(0L))
    assert(of.exists("job"))
  }

  test("before the decision all transactions are looked at, with one request per cluster") {
    val of = scene()
    val more = (2 to 5).map(prepared("blue", _))
    of.kafka.put(ONGOING, more: _*)
    val query = of.start("first")
    query.commit(0L, tasks(one +: two +: more: _*), of.clock.nanoTime(), TransactionTimeoutMs)
    assert(of.kafka.requests.count(_.contains(" describe ")) == 2)
    assert(of.journal.newest().map(_._1.clusters.map(c => c._1 -> c._2.kafkaId)).contains(
      Map("blue" -> kafkaIds("blue"), "green" -> kafkaIds("green"))
    ))
  }

  test("one is not open before the decision: nothing is decided, and the batch is aborted") {
    val changes = Seq[ScriptedKafka => Unit](
      _.put(COMPLETE_ABORT, two),
      _.put(ONGOING, two.copy(epoch = 5)),
      _.forget(two)
    )
    changes.foreach { change =>
      val of = scene()
      change(of.kafka)
      val query = of.start("first")
      val (condition, text) = commit(query, of)
      assert(condition == "TRANSACTIONS_ABORTED" && text.contains(two.transactionalId))
      assert(of.journal.newest().isEmpty)
      query.abort(0L, tasks(one, two))
      assert(of.kafka.in(COMPLETE_ABORT)(one.transactionalId) && of.kafka.in(COMPLETE_COMMIT).isEmpty)
    }
  }

  test("a topic is recreated after its records were written: nothing is decided") {
    val of = scene()
    of.clusters.learnTopics("blue", Set("t"))
    of.clusters.learnTopics("green", Set("t"))
    of.kafka.recreate("green", "t")
    val query = of.start("first")
    val (condition, text) = commit(query, of)
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("topic 't' was recreated"), text)
    assert(of.journal.newest().isEmpty && of.kafka.in(COMPLETE_COMMIT).isEmpty)
    // The records of the next attempt are in the new topic.
    assert(commit(of.start("second"), of)._1 == "none")
  }

  test("a topic is recreated before its records are written: its leaders know the transactions") {
    val of = new CommitScene
    of.plan(0L)
    of.clusters.learnTopics("green", Set("t"))
    of.kafka.recreate("green", "t")
    val partition = new TopicPartition("t", 0)
    of.kafka.setInSync("green", partition, 2)
    of.kafka.put(ONGOING, one, two)
    of.kafka.hide(two, partition)
    assert(commit(of.start("first"), of)._1 == "none")
  }

  test("credentials that were rotated since the last batch: a new client asks before the decision") {
    val of = scene()
    val query = of.start("first")
    val _ = of.clusters.admin("blue")
    of.kafka.rotateCredentials("blue")
    assert(commit(query, of)._1 == "none")
  }

  test(
    "a cluster does not answer before the decision: repeated within the time limit, then nothing is decided"
  ) {
    val of = scene()
    of.kafka.setDown("green")
    val (condition, text) = commit(of.start("first"), of)
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("does not respond"))
    assert(of.journal.newest().isEmpty)
    assert(of.kafka.requests.count(_.startsWith("green describe")) == 3)
  }

  /** Changes what Kafka knows between the decision and the commits. */
  private def afterDecision(of: CommitScene)(change: ScriptedKafka => Unit): CommitProbe =
    at("decided")(change(of.kafka))

  test(
    "all transactions are aborted after the decision: the decision is dropped, and nothing else is aborted"
  ) {
    val of = scene()
    val query = of.start("first", steps = afterDecision(of)(_.put(COMPLETE_ABORT, one, two)))
    val (condition, text) = commit(query, of)
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("CompleteAbort"))
    assert(of.journal.newest().isEmpty && query.lastCommitted.isEmpty)
    query.abort(0L, tasks(one, two))
    assert(!of.kafka.requests.exists(_.contains(" fence")))
  }

  test("some are aborted after the decision: PARTIAL_COMMIT, and the decision stays") {
    val of = scene()
    val steps = afterDecision(of)(_.put(COMPLETE_ABORT, two))
    val (condition, text) = commit(of.start("first", replayLost = true, steps = steps), of)
    assert(condition == "PARTIAL_COMMIT" && text.contains("cluster 'green'") && !text.contains("'blue'"))
    assert(of.journal.newest().exists(!_._2))
  }

  /** A start after a partial commit of batch 0, whose part on green is prepared again. */
  private def replaying(change: ScriptedKafka => Unit = _ => ()): (CommitScene, TwoPhaseCommit) = {
    val of = scene()
    commit(of.start("first", steps = afterDecision(of)(_.put(COMPLETE_ABORT, two))), of)
    of -> of.recovered("second", replayLost = true, steps = afterDecision(of)(change))
  }

  private val again = prepared("green", 1, "second")
  private val written = tasks(again) :+ tasks(one).head.copy(prepared = Nil, withheld = Map("blue" -> 10L))

  test("a replay that is lost again is a partial commit, although nothing of the replay is committed") {
    val (of, query) = replaying(_.put(COMPLETE_ABORT, again))
    of.kafka.put(ONGOING, again)
    val (condition, text) =
      failure(query.commit(0L, written, of.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "PARTIAL_COMMIT" && text.contains(again.transactionalId))
    assert(of.journal.rounds(0L).map(_.round) == Seq(0))
    assert(of.recovered("third", replayLost = true).replay.exists(_.round == 1))
  }

  test("a replay with other rows is refused before anything is decided") {
    val (of, query) = replaying()
    of.kafka.put(ONGOING, again)
    val fewer = written.map(t => t.copy(prepared = t.prepared.map(_.copy(rows = 1L))))
    assert(failure(query.commit(
      0L,
      fewer,
      of.clock.nanoTime(),
      TransactionTimeoutMs
    ))._1 == "REPLAY_DIFFERS")
    assert(of.journal.rounds(0L).map(_.round) == Seq(0))
    query.abort(0L, fewer)
    assert(of.kafka.in(COMPLETE_ABORT) == ids(two, again))
  }

  test("rows are compared only for the batch that is replayed") {
    val (of, query) = replaying()
    of.kafka.put(ONGOING, one, two)
    of.plan(1L)
    assert(commit(query, of, batch = 1L)._1 == "none")
    assert(of.journal.newest().exists { case (e, done) => e.batch == 1L && e.round == 0 && done })
  }

  test("an undecided batch is aborted, with what killed tasks of this run have left open") {
    val of = scene()
    val (left, old) = (prepared("blue", 5), prepared("blue", 6, "old"))
    of.kafka.put(ONGOING, left, old)
    of.start("first").abort(0L, tasks(one, two))
    assert(of.kafka.in(COMPLETE_ABORT) == ids(one, two, left) && of.kafka.in(ONGOING) == ids(old))
  }

  test("an abort is attempted on each cluster, and its errors do not hide why the batch failed") {
    val of = scene()
    of.kafka.setDown("blue")
    of.start("first").abort(0L, tasks(one, two))
    assert(of.kafka.requests.contains(s"blue fence ${one.transactionalId}"))
    assert(of.kafka.in(COMPLETE_ABORT) == ids(two))
  }

  test("what is decided and not committed yet is kept when another batch is aborted") {
    val of = scene()
    val query = of.start("first", steps = afterDecision(of)(_.setDown("green")))
    assert(commit(query, of)._1 == "COMMIT_INCOMPLETE")
    of.kafka.setDown()
    of.kafka.put(ONGOING, prepared("green", 7))
    query.abort(1L, Nil)
    assert(of.kafka.in(ONGOING) == ids(two))
  }

  test("a task that was retried: what its first attempt left open is aborted after the commit") {
    Seq(false, true).foreach { retried =>
      val of = scene()
      val left = prepared("blue", 8)
      of.kafka.put(ONGOING, left)
      val Seq(first, second) = tasks(one, two)
      of.start("first")
        .commit(
          0L,
          Seq(first, second.copy(retried = retried)),
          of.clock.nanoTime(),
          TransactionTimeoutMs
        )
      assert(of.kafka.in(COMPLETE_ABORT) == (if (retried) ids(left) else Set.empty))
    }
  }

  test("what earlier runs open late is aborted after the first two batches") {
    val of = new CommitScene
    val query = of.start("first")
    val aborted = (0L to 2L).map { batch =>
      val late = prepared("blue", batch.toInt, "old")
      of.kafka.put(ONGOING, late)
      query.commit(batch, Nil, of.clock.nanoTime(), TransactionTimeoutMs)
      of.kafka.in(COMPLETE_ABORT)(late.transactionalId)
    }
    assert(aborted == Seq(true, true, false))
  }
}

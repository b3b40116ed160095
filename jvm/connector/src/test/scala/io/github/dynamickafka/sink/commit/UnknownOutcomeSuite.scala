package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, EMPTY, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.config.UnknownCommitPolicy.{AssumeAborted, AssumeCommitted}
import io.github.dynamickafka.testkit.TimeLimit

/** Decided transactions of which Kafka cannot say whether they were committed. */
class UnknownOutcomeSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val two = prepared("green", 0)
  private val ids = Set(one, two).map(_.transactionalId)

  private def decided(): CommitScene = {
    val scene = new CommitScene
    scene.plan(4L)
    scene.journal.decide(entry(4L, 0, one, two))
    scene
  }

  /** What two starts report; neither ends a transaction or the decision. */
  private def refused(scene: CommitScene): String = {
    val texts = Seq("second", "third").map { run =>
      val (condition, text) = failure(scene.start(run, replayLost = true).recover())
      assert(condition == "TRANSACTION_UNKNOWN", text)
      text
    }
    assert(scene.journal.newest().exists(!_._2))
    assert(!scene.kafka.requests.exists(r => r.contains(" commit ") || r.contains(" abort ")))
    texts.head
  }

  test("Kafka does not know the ids, as after their expiry: neither committed nor lost") {
    val text = refused(decided())
    assert(text.contains(one.transactionalId) && text.contains(two.transactionalId))
    assert(text.contains("'transactional.id.expiration.ms'") && text.contains("'unknownCommitPolicy'"))
  }

  test("another cluster still knows its part: no partial commit is reported, and nothing is ended") {
    Seq(COMPLETE_COMMIT, ONGOING, COMPLETE_ABORT).foreach { state =>
      val scene = decided()
      scene.kafka.put(state, one)
      val text = refused(scene)
      assert(!text.contains(one.transactionalId) && text.contains(two.transactionalId))
    }
  }

  test("the id of a cluster leads to another Kafka cluster, whatever that one knows: both ids are named") {
    Seq(COMPLETE_ABORT, ONGOING, COMPLETE_COMMIT).foreach { state =>
      val scene = decided()
      scene.kafka.put(ONGOING, one)
      scene.kafka.put(state, two)
      scene.kafka.setKafkaId("green", Some("new"))
      val text = refused(scene)
      assert(text.contains(ScriptedKafka.kafkaId("green")) && text.contains("leads to new"))
      assert(!text.contains(one.transactionalId))
    }
  }

  test("without Kafka's id of the cluster, only the transactions are compared") {
    val scene = decided()
    scene.kafka.put(ONGOING, one, two)
    Seq("blue", "green").foreach(scene.kafka.setKafkaId(_, None))
    assert(scene.recovered("second").lastCommitted.contains(4L))
  }

  test("an id that was used again since") {
    val scene = decided()
    scene.kafka.put(ONGOING, one)
    scene.kafka.put(EMPTY, two.copy(epoch = 5))
    assert(refused(scene).contains("Empty"))
  }

  test("assume-aborted: nothing is known to be committed, so that the whole batch is written again") {
    val scene = decided()
    scene.kafka.put(ONGOING, one)
    val query = scene.recovered("second", unknown = AssumeAborted)
    assert(query.lastCommitted.isEmpty && query.replay.isEmpty && scene.journal.newest().isEmpty)
    assert(scene.kafka.in(COMPLETE_ABORT) == Set(one.transactionalId))
  }

  test("assume-aborted beside a committed part: a partial commit") {
    val scene = decided()
    scene.kafka.put(COMPLETE_COMMIT, one)
    val (condition, text) = failure(scene.start("second", unknown = AssumeAborted).recover())
    assert(condition == "PARTIAL_COMMIT" && text.contains(two.transactionalId))
    val query = scene.recovered("third", replayLost = true, unknown = AssumeAborted)
    assert(query.replay.exists(_.lost.keySet == Set((0, "green"))))
  }

  test("assume-committed: the rest is committed, and the batch is finished") {
    val scene = decided()
    scene.kafka.put(ONGOING, one)
    assert(scene.recovered("second", unknown = AssumeCommitted).lastCommitted.contains(4L))
    assert(scene.kafka.in(COMPLETE_COMMIT) == Set(one.transactionalId))
    assert(scene.journal.newest().exists(_._2))
  }

  test("in a running query: a failed commit of an id that Kafka does not know any more") {
    val scene = new CommitScene
    scene.plan(0L)
    scene.kafka.put(ONGOING, one, two)
    val query = scene.start("first", steps = at("decided")(scene.kafka.forget(two)))
    val (condition, text) =
      failure(query.commit(0L, tasks(one, two), scene.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "TRANSACTION_UNKNOWN" && text.contains(two.transactionalId))
    assert(
      scene.journal.newest().exists(!_._2) && scene.kafka.in(COMPLETE_COMMIT) == ids - two.transactionalId
    )
  }
}

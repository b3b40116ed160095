package io.github.dynamickafka.sink.commit

import java.time.Instant

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** What a resolution does, and what the next start of the query does after it. */
class ResolverSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._
  import Resolution._

  private val one = prepared("blue", 0)
  private val two = prepared("blue", 1)
  private val three = prepared("green", 0)
  private val all = Seq(one, two, three)

  private def ids(transactions: Prepared*) = transactions.map(_.transactionalId).toSet

  private def decided(round: Int = 0): ResolveScene = new ResolveScene(entry(4L, round, all: _*))

  test("accept-loss: what is open is committed, what is lost stays lost, and the batch counts as written") {
    val d = decided()
    d.kafka.put(COMPLETE_COMMIT, one)
    d.kafka.put(ONGOING, two)
    d.kafka.put(COMPLETE_ABORT, three)
    assert(d.resolve(AcceptLoss) == Seq("committed", "committed", "aborted"))
    assert(d.kafka.in(COMPLETE_COMMIT) == ids(one, two) && !d.isOpen)
    val query = d.scene.recovered("second")
    assert(query.lastCommitted.contains(4L) && query.replay.isEmpty)
    val note = d.lastNote
    assert(note.closed && note.by == "alice" && note.resolution == "accept-loss" && note.cluster.isEmpty)
    assert(
      note.states(
        three.transactionalId
      ) == "aborted" && Instant.parse(note.at).toEpochMilli == d.scene.clock.currentTimeMillis()
    )
  }

  test("accept-loss, where Kafka does not know the transactions any more") {
    val d = decided()
    assert(failure(d.scene.start("second").recover())._1 == "TRANSACTION_UNKNOWN")
    assert(d.resolve(AcceptLoss) == Seq("unknown", "unknown", "unknown"))
    assert(d.scene.recovered("third").lastCommitted.contains(4L))
  }

  test("accept-loss is refused while a cluster does not answer, and where another Kafka cluster answers") {
    val d = decided()
    d.kafka.put(ONGOING, all: _*)
    d.kafka.setDown("green")
    assert(d.refused(AcceptLoss).contains("--abandon-cluster green"))
    d.kafka.setDown()
    d.kafka.setKafkaId("green", Some("other"))
    assert(d.refused(AcceptLoss).contains("leads to the Kafka cluster with id other"))
    assert(d.kafka.in(ONGOING) == ids(all: _*) && d.isOpen && d.notes().isEmpty)
    // The query still completes it.
    d.kafka.setKafkaId("green", Some("kafka-of-green"))
    assert(d.scene.recovered("second").lastCommitted.contains(4L))
    assert(d.kafka.in(COMPLETE_COMMIT) == ids(all: _*))
  }

  test("rewrite: what is open is aborted, and the batch is written again") {
    val d = decided()
    d.kafka.put(ONGOING, one)
    d.kafka.put(COMPLETE_ABORT, two, three)
    assert(d.resolve(Rewrite) == Seq("aborted", "aborted", "aborted"))
    assert(d.kafka.in(COMPLETE_ABORT) == ids(all: _*) && d.scene.journal.newest().isEmpty)
    assert(d.lastNote.closed && d.lastNote.resolution == "rewrite")
    val query = d.scene.recovered("second")
    assert(query.lastCommitted.isEmpty && query.replay.isEmpty)
    // The next decision of the batch is another one, which has no note.
    val again = d.entry.copy(claim = d.entry.claim.copy(run = "second"))
    d.scene.journal.decide(again)
    assert(d.notes(again).isEmpty && d.notes().size == 1)
  }

  test("rewrite is refused where a part is committed, unknown or unreachable, and for a later round") {
    val open = Seq(two, three)
    Seq[(String, ResolveScene => Unit)](
      "it is committed" -> (_.kafka.put(COMPLETE_COMMIT, one)),
      "it is not known whether it was committed" -> (_.kafka.forget(one)),
      "'blue' does not say" -> (_.kafka.setDown("blue"))
    ).foreach { case (why, happens) =>
      val d = decided()
      d.kafka.put(ONGOING, open: _*)
      happens(d)
      assert(d.refused(Rewrite).contains(why))
      assert(d.kafka.in(ONGOING) == ids(open: _*) && d.isOpen && d.notes().isEmpty)
    }
    val d = decided(round = 1)
    d.kafka.put(COMPLETE_ABORT, all: _*)
    assert(d.refused(Rewrite).contains("parts of batch 4 are committed") && d.isOpen)
  }

  test("rewrite is refused where Spark does not run the batch again") {
    Seq[ResolveScene => Unit](_.scene.end(4L), _.scene.plan(5L)).foreach { happens =>
      val d = decided()
      d.kafka.put(COMPLETE_ABORT, all: _*)
      happens(d)
      val owner = d.scene.journal.owner()
      assert(d.refused(Rewrite).contains("delete 'commits/4' and") && d.isOpen)
      assert(d.scene.journal.owner() == owner && d.kafka.requests.isEmpty)
      assert(d.resolve(AcceptLoss).toSet == Set("aborted") && !d.isOpen)
    }
  }

  test("abandon-cluster: the others are committed, and the query continues without it") {
    val d = decided()
    d.kafka.put(ONGOING, all: _*)
    d.kafka.setDown("green")
    assert(failure(d.scene.start("second").recover())._1 == "COMMIT_INCOMPLETE")
    assert(d.resolve(AbandonCluster("green")) == Seq("committed", "committed", "unreachable"))
    assert(d.kafka.in(COMPLETE_COMMIT) == ids(one, two) && !d.isOpen)
    assert(d.lastNote.closed && d.lastNote.cluster.contains("green"))
    assert(d.scene.recovered("third").lastCommitted.contains(4L))
  }

  test("abandon-cluster, and it answers: its open transactions are aborted, so that readers do not wait") {
    val d = decided()
    d.kafka.put(ONGOING, all: _*)
    assert(d.resolve(AbandonCluster("green")) == Seq("committed", "committed", "aborted"))
    assert(d.kafka.in(COMPLETE_ABORT) == ids(three) && !d.isOpen)
  }

  test("abandon-cluster with another cluster down: noted, and closed by the next resolution") {
    val d = decided()
    d.kafka.put(ONGOING, all: _*)
    d.kafka.setDown("blue", "green")
    val why = d.refused(AbandonCluster("green"))
    assert(why.contains("noted that cluster 'green' is given up") && why.contains("--abandon-cluster blue"))
    assert(d.isOpen && !d.lastNote.closed)
    assert(d.resolve(AbandonCluster("blue")) == Seq.fill(3)("unreachable"))
    assert(!d.isOpen && d.notes().map(_.closed) == Seq(false, true))
  }

  test("abandon-cluster with a part that is lost elsewhere: only accept-loss closes it") {
    val d = decided()
    d.kafka.put(ONGOING, two)
    d.kafka.put(COMPLETE_ABORT, one)
    d.kafka.setDown("green")
    assert(d.refused(AbandonCluster("green")).contains("use --accept-loss next"))
    assert(d.kafka.in(ONGOING) == ids(two) && d.isOpen)
    assert(d.resolve(AcceptLoss) == Seq("aborted", "committed", "unreachable") && !d.isOpen)
  }

  test("a commit that fails: nothing is closed, and the resolution can be repeated") {
    val d = decided()
    d.kafka.put(ONGOING, all: _*)
    d.kafka.failEnds(three, times = 9)
    assert(d.refused(AcceptLoss).contains("is not ended yet"))
    assert(d.isOpen && !d.lastNote.closed)
    d.kafka.failEnds(three, times = 0)
    assert(d.resolve(AcceptLoss) == Seq.fill(3)("committed") && !d.isOpen)
  }

  private val partition = new TopicPartition("t", 0)

  test("what a partition without a leader has missed is committed there, before the decision is closed") {
    Seq[Resolution](AcceptLoss, AbandonCluster("green")).foreach { how =>
      val d = decided()
      d.kafka.setInSync("blue", partition, 3)
      d.kafka.put(COMPLETE_COMMIT, one)
      d.kafka.put(ONGOING, two, three)
      d.kafka.hide(one, partition)
      assert(d.resolve(how).take(2) == Seq("committed", "committed"))
      assert(!d.kafka.isHidden("blue", partition) && !d.isOpen)
    }
  }

  test(
    "nothing is closed while a part is committed and not visible; a cluster that is given up is not looked at"
  ) {
    val d = decided()
    d.kafka.put(COMPLETE_COMMIT, all: _*)
    d.kafka.setInSync("blue", partition, 0)
    assert(d.refused(AcceptLoss).contains("partition t-0 has no leader"))
    assert(d.isOpen && !d.lastNote.closed)
    assert(d.resolve(AbandonCluster("blue")).size == 3 && !d.isOpen)
  }

  test("a part that has been committed meanwhile: rewrite does not close the decision") {
    val ended =
      Seq(
        one -> io.github.dynamickafka.sink.commit.Outcome.Committed,
        two -> io.github.dynamickafka.sink.commit.Outcome.Lost("x")
      )
    val left = Resolver.left(Rewrite, ended)
    assert(left.size == 1 && left.head.contains(one.transactionalId) && left.head.endsWith("is committed"))
  }

  test("another batch, another cluster, or nothing open: refused before anything is claimed") {
    val d = decided()
    val owner = d.scene.journal.owner()
    assert(d.refused(AcceptLoss, batch = 3L).contains("that of batch 4, not of batch 3"))
    assert(d.refused(AbandonCluster("red")).contains("only on blue, green"))
    d.scene.journal.finish(d.entry)
    assert(d.refused(AcceptLoss).contains("batch 4 is not open"))
    assert(d.scene.journal.owner() == owner && d.kafka.requests.isEmpty)
  }
}

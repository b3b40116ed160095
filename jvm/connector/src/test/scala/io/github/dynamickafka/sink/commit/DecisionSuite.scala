package io.github.dynamickafka.sink.commit

import java.util.{Collections, OptionalLong}

import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.admin.{TransactionDescription, TransactionState}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

class DecisionSuite extends AnyFunSuite with TimeLimit {
  import Outcome._

  private def prepared(task: Int, cluster: String = "a", rows: Long = 10) =
    Prepared(cluster, s"id-$task", 7L, 3, task, rows, Seq("t"))

  private def tx(state: TransactionState, producer: Long = 7, epoch: Int = 3) =
    new TransactionDescription(1, state, producer, epoch, 60000L, OptionalLong.empty, Collections.emptySet)

  import TransactionState._

  private def verdict(told: TransactionDescription) = {
    val task = prepared(0)
    Verdict(task, Some("kafka"), Seen(Some("kafka"), Map(task.transactionalId -> told)))
  }

  test("a transaction that Kafka has committed or is committing: committed") {
    Seq(PREPARE_COMMIT, COMPLETE_COMMIT).foreach { state =>
      assert(verdict(tx(state)) == Committed)
      // KIP-890: ending a transaction increments the epoch.
      assert(verdict(tx(state, epoch = 4)) == Committed)
    }
  }

  test("a transaction that is still open: can be committed") {
    assert(verdict(tx(ONGOING)) == Open)
  }

  test(
    "a transaction that is open, with a partition that has no leader: not yet to be committed, and shown as open"
  ) {
    val task = prepared(0)
    val partitions = Seq(0, 1).map(new TopicPartition("t", _))
    val open = new TransactionDescription(
      1,
      ONGOING,
      7L,
      3,
      60000L,
      OptionalLong.empty,
      partitions.take(1).toSet.asJava
    )
    def verdict(inSync: (TopicPartition, Int)*) =
      Verdict(task, None, Seen(None, Map(task.transactionalId -> open), inSync.toMap))
    assert(verdict(partitions(0) -> 1, partitions(1) -> 0) == Open)
    val waits = verdict(partitions(0) -> 0, partitions(1) -> 1)
    assert(waits match {
      case p: Pending => p.isLeaderless && p.cause.getMessage.contains("t-0"); case _ => false
    })
    assert(waits.state == "open")
  }

  test("a transaction that Kafka has aborted or is aborting: lost") {
    for (state <- Seq(PREPARE_ABORT, COMPLETE_ABORT, PREPARE_EPOCH_FENCE); epoch <- Seq(3, 4))
      assert(verdict(tx(state, epoch = epoch)).isInstanceOf[Lost], s"$state $epoch")
  }

  test("an id that was used again, after either end: unknown") {
    val ended = Seq(PREPARE_COMMIT, COMPLETE_COMMIT, PREPARE_ABORT, COMPLETE_ABORT)
    val others = ended.flatMap(s => Seq(tx(s, epoch = 5), tx(s, epoch = 2), tx(s, producer = 8))) ++
      Seq(
        tx(ONGOING, epoch = 4),
        tx(ONGOING, producer = 8),
        tx(EMPTY),
        tx(EMPTY, epoch = 4),
        tx(TransactionState.UNKNOWN)
      )
    others.foreach(other => assert(verdict(other).isInstanceOf[Unknown], other))
  }

  test("an id that Kafka does not know: unknown, because ids expire") {
    assert(Verdict(prepared(0), None, Seen(None, Map.empty)).isInstanceOf[Unknown])
  }

  test("another Kafka cluster: unknown, whatever it knows; without an id nothing is compared") {
    val task = prepared(0)
    def seen(id: Option[String]) = Seen(id, Map(task.transactionalId -> tx(COMPLETE_ABORT)))
    assert(Verdict(task, Some("before"), seen(Some("now"))).isInstanceOf[Unknown])
    Seq(None -> Some("now"), Some("before") -> None, None -> None).foreach { case (before, now) =>
      assert(Verdict(task, before, seen(now)).isInstanceOf[Lost])
    }
  }

  test("what is lost of a batch is known when the state of each transaction is") {
    val (a, b) = (prepared(0), prepared(1))
    val scene = new CommitScene
    val decisions = new Decisions(scene.context(scene.claim("first")), None)
    def lost(ofA: Outcome, ofB: Outcome) =
      decisions.lost(round(0, a, b), Seq(a -> ofA, b -> ofB), Map.empty, earlier = false)
    assert(lost(Committed, Committed) == Nil)
    assert(lost(Lost("x"), Lost("y")) == Seq(a -> "x", b -> "y"))
    assert(lost(Lost("x"), Committed) == Seq(a -> "x"))
    // A transaction of unknown state may be committed: nothing is given up before its state is known.
    val down = Pending(new RuntimeException("down"))
    for (other <- Seq(Lost("x"), Committed)) {
      val (condition, text) = CommitScene.failure { val _ = lost(other, down) }
      assert(condition == "COMMIT_INCOMPLETE" && text.contains(b.shown) && !text.contains(a.shown))
    }
    Seq(Committed, Lost("x"), down).foreach { other =>
      val (condition, text) = CommitScene.failure { val _ = lost(other, Unknown("y")) }
      assert(condition == "TRANSACTION_UNKNOWN" && text.contains(s"${b.shown}: y") && !text.contains(a.shown))
    }
  }

  private def round(round: Int, transactions: Prepared*) =
    JournalEntry(Claim("q", "r", "i", 1L, "l"), 4L, round, BatchInput.Empty, transactions, Map.empty)

  test("a replay writes what is lost, and knows the committed parts of all rounds") {
    val first = round(0, prepared(0), prepared(0, "b"), prepared(1), prepared(1, "b"))
    assert(LostParts.next(Seq(first.copy(leftOut = Set("c"))), Seq(prepared(1))).leftOut == Set("c"))
    val replay = LostParts.next(Seq(first), Seq(prepared(0, "b"), prepared(1)))
    assert(replay.batch == 4 && replay.round == 1)
    assert(replay.writes(0, "b") && replay.writes(1, "a") && !replay.writes(0, "a") && !replay.writes(1, "b"))
    val second = round(1, prepared(0, "b"), prepared(1))
    val again = LostParts.next(Seq(first, second), Seq(prepared(1)))
    assert(again.round == 2 && again.writes(1, "a") && !again.writes(0, "b"))
    assert(again.kept.keySet == Set((0, "a"), (0, "b"), (1, "b")))
  }

  test("a replay is refused if tasks have different rows than before") {
    val replay = LostParts.next(Seq(round(0, prepared(0), prepared(1))), Seq(prepared(1)))
    def task(n: Int, written: Option[Long], withheld: Option[Long]) = TaskTransactions(
      written.map(rows => prepared(n, rows = rows)).toSeq,
      retried = false,
      n,
      withheld.map("a" -> _).toMap
    )
    assert(replay.difference(Seq(task(0, None, Some(10)), task(1, Some(10), None))).isEmpty)
    Seq(
      Seq(task(0, None, Some(9)), task(1, Some(11), None)),
      Seq(task(0, None, Some(10)), task(1, Some(9), None)),
      Seq(task(0, None, Some(10))),
      Seq(task(0, None, Some(10)), task(1, Some(10), None), task(2, Some(1), None))
    ).foreach(tasks => assert(replay.difference(tasks).isDefined, tasks))
  }
}

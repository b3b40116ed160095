package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.testkit.TimeLimit

/** Whose transactions a run aborts. */
class LeftoversSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val old = prepared("blue", 0, "old")
  private val mine = prepared("blue", 1)
  private val later = prepared("green", 2, "second")

  private def scene(): CommitScene = {
    val scene = new CommitScene
    scene.kafka.put(ONGOING, old, mine, later)
    scene
  }

  private def ids(of: CommitScene): Set[String] = of.kafka.in(COMPLETE_ABORT)

  test("transactions of earlier runs are aborted, never those of later ones") {
    val of = scene()
    of.start("first").recover()
    assert(ids(of) == Set(old.transactionalId))
  }

  test("a driver that was paused while another one started aborts its own undecided batch and nothing else") {
    val of = scene()
    val paused = of.start("first")
    of.claim("second")
    paused.commit(0L, tasks(mine).map(_.copy(prepared = Nil)), 0L, TransactionTimeoutMs)
    assert(ids(of).isEmpty)
    paused.abort(1L, tasks(mine))
    assert(ids(of) == Set(mine.transactionalId))
  }

  test("a batch that is not decided is aborted also if its journal cannot be read") {
    val of = scene()
    val query = of.start("first")
    of.breakJournal()
    query.abort(0L, tasks(mine))
    assert(ids(of) == Set(mine.transactionalId))
  }

  test("what an attempt that lost leaves open is aborted, also if it does so after the end of the batch") {
    val of = new CommitScene
    (0L to 3L).foreach(of.plan(_))
    val query = of.start("first")
    def lost(task: Int) = {
      val id = name("first").id("green", 0L, task, 0, 1)
      prepared("green", task).copy(transactionalId = id)
    }
    def batch(number: Long, second: Boolean) = {
      val accepted = prepared("blue", number.toInt)
      of.kafka.put(ONGOING, accepted)
      query.commit(number, tasks(accepted), of.clock.nanoTime(), TransactionTimeoutMs, () => second)
    }
    of.kafka.put(ONGOING, lost(1))
    batch(0L, second = true)
    assert(ids(of) == Set(lost(1).transactionalId))
    of.kafka.put(ONGOING, lost(2))
    batch(1L, second = false)
    assert(ids(of) == Set(lost(1), lost(2)).map(_.transactionalId))
    // No request is made for nothing.
    val before = of.kafka.requests.count(_ == "green list")
    batch(3L, second = false)
    assert(of.kafka.requests.count(_ == "green list") == before)
  }

  test("a cluster that is left out is not asked, and asked again when it responds") {
    val of = new CommitScene
    (0L to 9L).foreach(of.plan(_))
    val query = of.recovered("first")
    def batch(number: Long) = {
      val accepted = prepared("blue", number.toInt)
      of.kafka.put(ONGOING, accepted)
      query.commit(number, tasks(accepted), of.clock.nanoTime(), TransactionTimeoutMs)
    }
    val left = prepared("green", 2, "old")
    of.kafka.put(ONGOING, left)
    of.clusters.leaveOut(Set("green"))
    val before = of.kafka.requests.count(_ == "green list")
    (0L to 5L).foreach(batch)
    assert(of.kafka.requests.count(_ == "green list") == before && ids(of).isEmpty)
    of.clusters.leaveOut(Set.empty)
    batch(6L)
    assert(ids(of) == Set(left.transactionalId))
  }

  test("a cluster that does not answer a search is not searched again before it has committed a batch") {
    val of = new CommitScene
    (0L to 9L).foreach(of.plan(_))
    val left = prepared("green", 2, "old")
    of.kafka.put(ONGOING, left)
    of.kafka.setDown("green")
    val query = of.recovered("first")
    def batch(number: Long, cluster: String): Unit = {
      val accepted = prepared(cluster, number.toInt)
      of.kafka.put(ONGOING, accepted)
      query.commit(number, tasks(accepted), of.clock.nanoTime(), TransactionTimeoutMs)
    }
    (0L to 3L).foreach(batch(_, "blue"))
    assert(of.kafka.requests.count(_ == "green list") == 1)
    of.kafka.setDown()
    batch(4L, "green")
    assert(ids(of) == Set(left.transactionalId))
  }

  test("a cluster that is back is searched for what a batch that failed has opened on it") {
    val of = new CommitScene
    (0L to 9L).foreach(of.plan(_))
    of.kafka.setDown("green")
    val query = of.recovered("first")
    val accepted = prepared("blue", 0)
    of.kafka.put(ONGOING, accepted)
    of.clusters.leaveOut(Set("green"))
    query.commit(0L, tasks(accepted), of.clock.nanoTime(), TransactionTimeoutMs)
    of.kafka.setDown()
    of.clusters.leaveOut(Set.empty)
    val lost = prepared("green", 1)
    of.kafka.put(ONGOING, lost)
    query.abort(1L, Nil)
    assert(ids(of) == Set(lost.transactionalId))
  }

  test("a cluster that takes no writes is only searched if the last decision has it") {
    val of = new CommitScene
    (0L to 1L).foreach(of.plan(_))
    of.clusters.set(Map.empty)
    of.clusters.set(Seq("blue", "green").map(id => id -> properties(id)).toMap, Set("blue"))
    of.recovered("first")
    assert(of.kafka.requests.count(_.endsWith(" list")) == 1)
    of.journal.decide(entry(0L, 0, prepared("green", 0)))
    of.journal.finish(entry(0L, 0, prepared("green", 0)))
    of.recovered("second")
    assert(of.kafka.requests.count(_ == "green list") == 1)
  }

  test("the decision has the clusters that are left out") {
    val of = new CommitScene
    of.plan(0L)
    val accepted = prepared("blue", 0)
    of.kafka.put(ONGOING, accepted)
    of.recovered("first").commit(
      0L,
      tasks(accepted),
      of.clock.nanoTime(),
      TransactionTimeoutMs,
      leftOut = Set("green")
    )
    assert(of.journal.newest().map(_._1.leftOut).contains(Set("green")))
  }

  test("a broker that does not list its transactions does not hide those of the others") {
    val asked = Map[Integer, Int](Integer.valueOf(2) -> 20, Integer.valueOf(1) -> 10, Integer.valueOf(3) -> 0)
    val (listed, failed) = KafkaTransactionAdmin.answers(asked, 100 / (_: Int))
    assert(listed == Seq(10, 5) && failed.map(_._1.intValue) == Seq(3))
    assert(failed.forall(_._2.isInstanceOf[ArithmeticException]))
  }

  test("a copied checkpoint does not abort transactions of the original") {
    val of = scene()
    val copied = Claim("q", "copy", "another", 9L, "elsewhere")
    new Leftovers(
      () => TransactionName("p", "q", "another", 9L),
      of.context(copied, of.newJournal("copy"))
    ).ofEarlierRuns()
    assert(ids(of).isEmpty)
  }

  test("two cluster ids lead to one Kafka cluster: what is decided under the other id is kept") {
    val of = scene()
    of.plan(0L)
    of.kafka.setDown("green")
    val decided = prepared("green", 3)
    of.kafka.put(ONGOING, decided, decided.copy(cluster = "blue"))
    val query = of.start("first")
    of.journal.decide(entry(0L, 0, decided))
    query.abort(1L, Nil)
    assert(ids(of) == Set(mine.transactionalId))
  }

  test("the ids of a run have its prefix, its generation and the cluster, whatever the characters in them") {
    val name = TransactionName("dynamic-kafka", "q", "i", 12L, set = 2)
    val id = name.id("3-blue", 7L, 4, 1, 2)
    assert(id == "dynamic-kafka-q-i-12-3-blue-2.1-4-1.2" && name.generationOf(id).contains(12L))
    val others = Seq(
      name.id("green", 7L, 4, 1, 2),
      name.copy(set = 1).id("3-blue", 7L, 4, 1, 2),
      name.id("3-blue", 8L, 4, 1, 2),
      name.id("3-blue", 7L, 5, 1, 2),
      name.id("3-blue", 7L, 4, 1, 3)
    )
    assert(!others.contains(id) && others.distinct.size == others.size)
    Seq(
      name.copy(prefix = "dynamic"),
      name.copy(queryId = "q2"),
      name.copy(instance = "i2")
    ).foreach(other => assert(other.generationOf(id).isEmpty, other))
    assert(name.generationOf("dynamic-kafka-q-i-x").isEmpty)
  }
}

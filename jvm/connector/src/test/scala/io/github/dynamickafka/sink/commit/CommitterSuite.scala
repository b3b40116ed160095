package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_ABORT, COMPLETE_COMMIT, ONGOING}
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.testkit.TimeLimit

/** Attempts to commit, and what is asked after an attempt that failed. */
class CommitterSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val two = prepared("blue", 1)
  private val three = prepared("green", 0)

  private final class Scene(open: Prepared*) {
    val all = new CommitScene
    all.kafka.put(ONGOING, open: _*)

    def commit(transactions: Prepared*): Seq[(Prepared, Outcome)] =
      committer.commit(transactions, kafkaIds)

    def abort(transactions: Prepared*): Seq[(Prepared, Outcome)] =
      committer.abort(transactions, kafkaIds)

    private def committer =
      new Committer(all.clusters, all.kafka.pool, all.clock)

    def requests(of: Prepared): Seq[String] =
      all.kafka.requests.filter(_.endsWith(s" ${of.transactionalId}")).map(_.split(' ')(1))
  }

  private def pending(outcome: Outcome): Boolean = outcome.isInstanceOf[Outcome.Pending]

  test("outcomes are in the order of the transactions, whatever the clusters") {
    val scene = new Scene(three, two)
    val told = scene.commit(three, one, two)
    assert(told.map(_._1) == Seq(three, one, two))
    assert(told.map(_._2).count(_ == Outcome.Committed) == 2)
    assert(told(1)._2 match {
      case Outcome.Unknown(why) => why.contains("Kafka does not know its id")
      case _ => false
    })
  }

  test("the transactions of a cluster share a producer, which is kept") {
    val scene = new Scene(one, two)
    scene.commit(one, two)
    assert(scene.all.kafka.producers == (1 -> 0) && scene.all.kafka.pool.size == 1)
    scene.commit(one, two)
    assert(scene.all.kafka.producers == (1 -> 0))
  }

  test("many transactions of a cluster use a few producers") {
    val many = (0 until 30).map(prepared("blue", _))
    val scene = new Scene(many: _*)
    assert(scene.commit(many: _*) == many.map(_ -> Outcome.Committed))
    assert(scene.all.kafka.producers._1 <= 4)
  }

  test("a failed attempt is repeated with another producer, if Kafka says that the transaction is open") {
    val scene = new Scene(one)
    scene.all.kafka.failEnds(one, times = 2)
    assert(scene.commit(one) == Seq(one -> Outcome.Committed))
    assert(scene.requests(one) == Seq("commit", "describe", "commit", "describe", "commit"))
    assert(scene.all.kafka.producers == (3 -> 2) && scene.all.kafka.pool.size == 1)
  }

  test("a failed attempt that has committed the transaction is not repeated") {
    val scene = new Scene()
    scene.all.kafka.put(COMPLETE_COMMIT, one)
    scene.all.kafka.failEnds(one, times = 1)
    assert(scene.commit(one) == Seq(one -> Outcome.Committed))
    assert(scene.requests(one) == Seq("commit", "describe"))
  }

  test("an aborted transaction is lost at once") {
    val scene = new Scene()
    scene.all.kafka.put(COMPLETE_ABORT, one)
    assert(scene.commit(one).map(_._2).forall(_.isInstanceOf[Outcome.Lost]))
    assert(scene.requests(one) == Seq("commit", "describe"))
  }

  test("an abort ends exactly that transaction, and finds out if it is committed") {
    val scene = new Scene(one)
    scene.all.kafka.put(COMPLETE_COMMIT, two)
    scene.all.kafka.put(COMPLETE_ABORT, three)
    val told = scene.abort(one, two, three).toMap
    assert(told(one).isInstanceOf[Outcome.Lost] && told(three).isInstanceOf[Outcome.Lost])
    assert(told(two) == Outcome.Committed)
    assert(scene.all.kafka.in(COMPLETE_ABORT) == Set(one, three).map(_.transactionalId))
  }

  test("an abort is repeated until the time limit") {
    val scene = new Scene(one)
    scene.all.kafka.failEnds(one, times = 1)
    assert(scene.abort(one).forall(_._2.isInstanceOf[Outcome.Lost]))
    assert(scene.requests(one) == Seq("abort", "describe", "abort"))
  }

  test("attempts end at the time limit, with the error of the last one") {
    val scene = new Scene(one)
    scene.all.kafka.failEnds(one, times = 9)
    val told = scene.commit(one)
    assert(told.map(_._2).collect { case Outcome.Pending(cause) => cause.getMessage } == Seq(
      "a request that fails"
    ))
    assert(scene.requests(one).count(_ == "commit") == 3)
  }

  test("the state of a transaction that cannot be asked for is unknown, and both errors are kept") {
    val scene = new Scene(one)
    scene.all.kafka.setDown("blue")
    val causes = scene.commit(one).collect { case (_, Outcome.Pending(cause)) => cause }
    assert(causes.flatMap(_.getSuppressed).map(_.getMessage) == Seq("'blue' does not respond"))
    assert(scene.requests(one) == Seq("commit", "describe", "commit", "describe"))
  }

  test("after the time limit the other transactions of the cluster are not attempted; other clusters are") {
    val scene = new Scene(one, two, three)
    scene.all.kafka.setDown("blue")
    val told = scene.commit(one, two, three).toMap
    assert(pending(told(one)) && pending(told(two)) && told(three) == Outcome.Committed)
    assert(scene.requests(two).isEmpty)
  }

  test("refused credentials are not tried again, neither for this transaction nor for the next ones") {
    val scene = new Scene(one, two, three)
    scene.all.kafka.setRefusing("blue")
    val told = scene.commit(one, two, three)
    assert(told.map(_._2).collect { case Outcome.Pending(e: DynamicKafkaError) => e.getCondition } ==
      Seq.fill(2)("DYNAMIC_KAFKA.CLUSTER_AUTHENTICATION_FAILED"))
    assert(told.last._2 == Outcome.Committed)
    assert(scene.requests(one) == Seq("commit", "describe") && scene.requests(two).isEmpty)
  }

  test(
    "credentials that were rotated: producers that were idle are replaced, and the commit succeeds at once"
  ) {
    val scene = new Scene(one, two)
    assert(scene.commit(one).map(_._2) == Seq(Outcome.Committed))
    scene.all.kafka.rotateCredentials("blue")
    assert(scene.commit(two).map(_._2) == Seq(Outcome.Committed))
    assert(scene.requests(two) == Seq("commit", "commit") && scene.all.kafka.producers == (2 -> 1))
  }

  test("the pauses between attempts grow") {
    val scene = new Scene(one)
    scene.all.kafka.failEnds(one, times = 2)
    val from = System.nanoTime()
    assert(scene.commit(one) == Seq(one -> Outcome.Committed))
    assert(System.nanoTime() - from >= 300 * 1000000L)
  }

  test("after a failure within the time limit the next transaction is attempted") {
    val scene = new Scene(two)
    assert(scene.commit(one, two).toMap.apply(two) == Outcome.Committed)
  }
}

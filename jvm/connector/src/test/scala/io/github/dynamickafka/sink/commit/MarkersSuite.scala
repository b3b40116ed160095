package io.github.dynamickafka.sink.commit

import org.apache.kafka.clients.admin.TransactionState.{COMPLETE_COMMIT, ONGOING, PREPARE_COMMIT}
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.source.Logs
import io.github.dynamickafka.testkit.TimeLimit

/** Whether readers can see what is committed, on scripted clusters. */
class MarkersSuite extends AnyFunSuite with TimeLimit {
  import CommitScene._

  private val one = prepared("blue", 0)
  private val partition = new TopicPartition("t", 0)

  private final class Scene(replicas: Int) {
    val all = new CommitScene
    all.kafka.setInSync("blue", partition, replicas)

    def await(earlier: Boolean): Option[Throwable] =
      new Committer(all.clusters, all.kafka.pool, all.clock).awaitVisible(
        Seq(one),
        Map("blue" -> Map(partition -> replicas)),
        earlier
      )

    def requests: Seq[String] = all.kafka.requests.map(_.split(' ')(1)).filterNot(_ == "connect")
  }

  test("a partition with several replicas costs no request, one with a single replica one") {
    val Seq(several, single) = Seq(3, 1).map { replicas =>
      val scene = new Scene(replicas)
      scene.all.kafka.put(COMPLETE_COMMIT, one)
      assert(scene.await(earlier = false).isEmpty)
      scene.requests
    }
    assert(several.isEmpty && single == Seq("describe"))
  }

  test("a commit that Kafka has not completed is waited for") {
    val scene = new Scene(replicas = 1)
    scene.all.kafka.put(PREPARE_COMMIT, one)
    scene.all.kafka.setInSync("blue", new TopicPartition("t", 1), 0)
    val problem = scene.await(earlier = false)
    assert(problem.exists(_.getMessage.contains("still committing in the partitions [t-0]")), problem)
  }

  test("a partition without a leader is waited for, up to the time limit") {
    val scene = new Scene(replicas = 0)
    scene.all.kafka.put(COMPLETE_COMMIT, one)
    assert(scene.await(earlier = false).exists(_.getMessage.contains("partition t-0 has no leader")))
    assert(!scene.requests.contains("producers"))
  }

  test("what an earlier run has committed, and a partition does not know, is committed there") {
    val scene = new Scene(replicas = 3)
    scene.all.kafka.put(COMPLETE_COMMIT, one)
    scene.all.kafka.hide(one, partition)
    assert(scene.await(earlier = true).isEmpty)
    assert(!scene.all.kafka.isHidden("blue", partition))
    assert(scene.requests == Seq("describe", "producers", "complete", "describe", "producers"))
  }

  test("without the right to read the topics the leaders cannot be asked: a warning, and no error") {
    val scene = new Scene(replicas = 3)
    scene.all.kafka.put(COMPLETE_COMMIT, one)
    scene.all.kafka.hide(one, partition)
    scene.all.kafka.setUnreadable("blue")
    val logged = Logs.during(classOf[Committer])(assert(scene.await(earlier = true).isEmpty))
    assert(logged.exists(line => line.contains("'blue'") && line.contains("the right to READ")), logged)
    assert(scene.requests == Seq("describe", "producers"))
  }

  test("a batch is not finished while a part of it is not visible: the next start commits it there") {
    val scene = new CommitScene
    scene.plan(0L)
    scene.kafka.setInSync("blue", partition, 1)
    scene.kafka.put(ONGOING, one)
    val query = scene.start(
      "first",
      steps = at("decided") {
        scene.kafka.hide(one, partition)
        scene.kafka.setInSync("blue", partition, 0)
      }
    )
    val (condition, text) =
      failure(query.commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "COMMIT_INCOMPLETE" && text.contains("partition t-0 has no leader"), text)
    assert(scene.journal.newest().exists(!_._2))
    scene.kafka.setInSync("blue", partition, 1)
    assert(scene.recovered("second").lastCommitted.contains(0L))
    assert(scene.journal.newest().exists(_._2) && !scene.kafka.isHidden("blue", partition))
  }

  test("a batch is not decided while a partition that it has written to has no leader") {
    val scene = new CommitScene
    scene.plan(0L)
    scene.kafka.setInSync("blue", partition, 0)
    scene.kafka.put(ONGOING, one)
    val (condition, text) =
      failure(scene.start("first").commit(0L, tasks(one), scene.clock.nanoTime(), TransactionTimeoutMs))
    assert(condition == "TRANSACTIONS_ABORTED" && text.contains("partition t-0 has no leader"), text)
    assert(scene.journal.newest().isEmpty && scene.kafka.in(COMPLETE_COMMIT).isEmpty)
  }
}

package io.github.dynamickafka.sink.commit

import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.error.DynamicKafkaIllegalArgumentException
import io.github.dynamickafka.sink.TransactionTimeouts
import io.github.dynamickafka.testkit.TimeLimit

/** Which clusters are asked for their maximum transaction timeout. The scripted ones answer with 2000 ms. */
class TimeoutsSuite extends AnyFunSuite with TimeLimit {
  private val both = Seq("blue", "green").map(id => id -> CommitScene.properties(id)).toMap
  private val Topics = both.map { case (id, _) => id -> Set("t") }
  private val assumed = 900000L

  private def asked(scene: CommitScene): Set[String] =
    scene.kafka.requests.filter(_.endsWith(" settings")).map(_.split(' ').head).toSet

  test("only clusters that are written to are asked, each once") {
    val scene = new CommitScene
    val timeouts = new TransactionTimeouts(scene.clusters)
    assert(timeouts.of(both, Topics - "green") == Map("blue" -> 2000L, "green" -> assumed))
    assert(asked(scene) == Set("blue"))
    assert(timeouts.of(both, Topics) == Map("blue" -> 2000L, "green" -> 2000L))
    assert(scene.kafka.requests.count(_.endsWith(" settings")) == 2)
  }

  test(
    "the ids of its topics are learned, also of those that are added, so that it is noticed if one is recreated"
  ) {
    val scene = new CommitScene
    val timeouts = new TransactionTimeouts(scene.clusters)
    def learned = scene.clusters.topicIds.getOrElse("blue", Map.empty).keySet
    timeouts.of(both, Topics - "green")
    assert(learned == Set("t"))
    timeouts.of(both, Map("blue" -> Set("t", "u")))
    assert(learned == Set("t", "u"))
    scene.kafka.missing = Set("blue" -> "v")
    timeouts.of(both, Map("blue" -> Set("t", "u", "v")))
    val before = scene.kafka.requests.size
    timeouts.of(both, Map("blue" -> Set("t", "u", "v")))
    assert(scene.kafka.requests.size == before, "also for a topic that does not exist")
  }

  test("a cluster that does not respond is no error before it is written to, and is asked again") {
    val scene = new CommitScene
    val timeouts = new TransactionTimeouts(scene.clusters)
    scene.kafka.setDown("green")
    assert(timeouts.of(both, Topics) == Map("blue" -> 2000L, "green" -> assumed))
    scene.kafka.setDown()
    assert(timeouts.of(both, Topics) == Map("blue" -> 2000L, "green" -> 2000L))
  }

  test("a value above the maximum is refused") {
    val scene = new CommitScene
    val chosen =
      both + ("blue" -> CommitScene.properties("blue", Map("transaction.timeout.ms" -> "2001")))
    scene.clusters.set(chosen)
    val e = intercept[DynamicKafkaIllegalArgumentException] {
      new TransactionTimeouts(scene.clusters).of(chosen, Topics)
    }
    assert(e.getCondition == "DYNAMIC_KAFKA.INVALID_OPTION" && e.getMessage.contains("'blue' is 2000"))
  }
}

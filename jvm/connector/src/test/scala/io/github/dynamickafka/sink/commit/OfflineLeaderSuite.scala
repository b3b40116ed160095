package io.github.dynamickafka.sink.commit

import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.LeaderNotAvailableException

import io.github.dynamickafka.source.{Queries, ThreeBrokers}
import io.github.dynamickafka.testkit.{BrokerVersions, InTestAll, KafkaCluster, TestAll}

class OfflineLeaderSuite extends OfflineLeaderTests(BrokerVersions.all.head, markerIsLost = true)

class OldBrokersOfflineLeaderSuite extends OfflineLeaderTests(BrokerVersions.all.last, markerIsLost = false)
    with InTestAll

/**
 * A transaction that is committed while a partition that it has written to has no leader.
 *
 * @param markerIsLost whether brokers of this version complete the transaction without the partition (KAFKA-20734)
 */
abstract class OfflineLeaderTests(version: String, markerIsLost: Boolean)
    extends Queries with ThreeBrokers {
  override protected lazy val three: KafkaCluster = KafkaCluster.start("three", version, nodes = 3)

  /** With transactions of which each has written to a topic on node 2 alone. */
  private def offline(body: (PreparedScene, Seq[Prepared], String) => Unit): Unit = {
    val topic = newTopic()
    three.createTopic(topic, configs = Map("min.insync.replicas" -> "1"), replicas = Seq(2))
    val scene = new PreparedScene(three, topic)
    try {
      val prepared = (0 to 1).map(scene.prepare(_))
      three.node(2).kill()
      waitFor("no leader")(three.leader(topic, 0).isEmpty)
      body(scene, prepared, topic)
    } finally scene.clusters.close()
  }

  test("it is not open to be committed while there is no leader, and is afterwards", TestAll) {
    offline { (scene, prepared, topic) =>
      scene.committer.inspect(prepared, _ => None).outcomes.map(_._2).foreach {
        case p: Outcome.Pending => assert(p.isLeaderless && p.cause.getMessage.contains(s"$topic-0"))
        case other => fail(other.toString)
      }
      three.node(2).restart()
      assert(scene.open(prepared))
      assert(scene.commit(prepared: _*).toSet == Set("Committed"))
      assert(values(three, topic).size == 2)
    }
  }

  test(
    "it is completed without its marker, which is noticed; what it has written is committed later",
    TestAll
  ) {
    offline { (scene, prepared, topic) =>
      assert(scene.commit(prepared: _*).toSet == Set("Committed"))
      val partition = new TopicPartition(topic, 0)
      val inSync = Map("blue" -> Map(partition -> 1))
      def await(limitMs: Long) =
        scene.within(limitMs)(_.awaitVisible(prepared, inSync, earlier = true))
      assert(await(2000L).exists(_.isInstanceOf[LeaderNotAvailableException]))
      three.node(2).restart()
      assert(three.awaitTransactionsEnded(topic) == !markerIsLost)
      val open = scene.clusters.admin("blue").openIn(Set(partition))(partition)
      assert(open == (if (markerIsLost) prepared.map(_.producerId).toSet else Set.empty))
      assert(await(60000L).isEmpty)
      assert(values(three, topic) == prepared.map(_.transactionalId).sorted)
      // A start that looks again finds them committed.
      assert(scene.states(prepared: _*).toSet == Set("Committed"))
      assert(await(60000L).isEmpty)
    }
  }
}

package io.github.dynamickafka.sink.commit

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.Admin

import io.github.dynamickafka.base.Clock
import io.github.dynamickafka.sink.OldBrokers
import io.github.dynamickafka.source.Queries
import io.github.dynamickafka.testkit.InTestAll

class PreparedTransactionsSuite extends PreparedTransactionsTests(transactionVersion = 2)

class OldBrokersPreparedTransactionsSuite extends PreparedTransactionsTests(transactionVersion = 0)
    with OldBrokers
    with InTestAll

/**
 * What a broker says of prepared transactions, before and after another producer has ended them.
 *
 * @param transactionVersion the finalized version of Kafka's feature `transaction.version` on these brokers
 */
abstract class PreparedTransactionsTests(transactionVersion: Int) extends Queries {

  test("they are open until they are committed or aborted; neither can be changed into the other") {
    val topic = newTopicOn(1, blue)
    val scene = new PreparedScene(blue, topic)
    val Seq(one, two, three) = (0 to 2).map(scene.prepare(_))
    try {
      assert(scene.states(one, two, three) == Seq("Open", "Open", "Open"))
      assert(scene.committer.inspect(Seq(one), _ => None).seen("blue").clusterId.exists(_.nonEmpty))
      assert(scene.commit(one) == Seq("Committed") && scene.abort(two) == Seq("Lost"))
      assert(scene.states(one, two, three) == Seq("Committed", "Lost", "Open"))
      assert(scene.abort(one) == Seq("Committed") && scene.commit(two) == Seq("Lost"))
      assert(scene.commit(one) == Seq("Committed") && scene.abort(two) == Seq("Lost"))
      // Fencing leaves no trace of how the transaction ended.
      scene.clusters.admin("blue").fence(Seq(three.transactionalId))
      val never = three.copy(transactionalId = "dynamic-kafka-never-used")
      assert(scene.states(three, never) == Seq("Unknown", "Unknown"))
      assert(scene.committer.inspect(
        Seq(one),
        _ => Some("another")
      ).outcomes.map(_._2.productPrefix) == Seq("Unknown"))
      assert(values(blue, topic).size == 1)
    } finally scene.clusters.close()
  }

  test(
    "a commit leaves the epoch as it was prepared, whatever producer sends it and version the brokers have"
  ) {
    val features = Using.resource(
      Admin.create(java.util.Map.of[String, AnyRef]("bootstrap.servers", blue.bootstrapServers))
    )(_.describeFeatures().featureMetadata().get().finalizedFeatures().asScala)
    assert(features.get("transaction.version").fold(0)(_.maxVersionLevel.toInt) == transactionVersion)
    val topic = newTopicOn(1, blue)
    val scene = new PreparedScene(blue, topic)
    try {
      val Seq(reused, fresh, aborted) = (0 to 2).map(scene.prepare(_))
      assert(scene.commit(reused) == Seq("Committed"))
      // Has not connected to any broker, so that it does not know which versions they support.
      val pool = new TransactionPool(ResumableProducer.create(_), 60000L, Clock.System)
      val other = new Committer(scene.clusters, pool, Clock.System)
      assert(other.commit(Seq(fresh), _ => None).map(_._2) == Seq(Outcome.Committed))
      assert(scene.abort(aborted, fresh) == Seq("Lost", "Committed"))
      val all = Seq(reused, fresh, aborted)
      val known = scene.clusters.admin("blue").describe(all.map(_.transactionalId), Set.empty).known
      assert(all.map(t => known(t.transactionalId).producerEpoch) == all.map(_.epoch.toInt))
      assert(values(blue, topic).size == 2)
      // The next transaction of each id is another one.
      val next = scene.prepare(3, id = fresh.transactionalId)
      assert(scene.states(next, fresh) == Seq("Open", "Unknown") && scene.abort(next) == Seq("Lost"))
    } finally scene.clusters.close()
  }

  test("one that is open for too long is lost") {
    val scene = new PreparedScene(blue, newTopicOn(1, blue))
    try {
      val short = scene.prepare(0, scene.settings.and("transaction.timeout.ms" -> "1000"))
      eventually(assert(scene.states(short) == Seq("Lost")))
      assert(scene.commit(short) == Seq("Lost") && scene.abort(short) == Seq("Lost"))
    } finally scene.clusters.close()
  }
}

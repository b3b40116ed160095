package io.github.dynamickafka.sink.commit

import java.util.UUID

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.sink.SinkTest
import io.github.dynamickafka.sink.route.RecordRouting.Record
import io.github.dynamickafka.sink.transaction.{Prepared, ResumableProducer, TransactionPool}
import io.github.dynamickafka.time.Clock

/** What a broker says of prepared transactions, before and after another producer has ended them. */
class PreparedTransactionsSuite extends SinkTest {

  private final class Scene(topic: String) {
    private val properties = CommitScene.properties("blue", Map("bootstrap.servers" -> blue.bootstrapServers))
    val settings = new ProducerSettings("blue", properties.client)
    val clusters = new Clusters((_, _) => properties, 60000L, 60000L)
    clusters.set(Map("blue" -> properties))
    val inspector = new Inspector(clusters, Clock.System)
    private val pool = new TransactionPool(ResumableProducer.create(_), 60000L, Clock.System)
    val committer = new Committer(clusters.committing, inspector, pool, Clock.System)

    def deadline: Long = System.nanoTime() + 60000000000L

    def prepare(task: Int, by: ProducerSettings = settings): Prepared = {
      val id = s"dynamic-kafka-${UUID.randomUUID()}"
      val producer = pool.acquire(by)
      producer.begin(id)
      producer.send(new Record(topic, Array[Byte](1)), (_, e) => assert(e == null))
      producer.flush()
      val handle = producer.prepare()
      pool.release(by, producer)
      Prepared("blue", id, handle.producerId, handle.epoch, task, 1L, Seq(topic))
    }

    def states(of: Prepared*): Seq[String] =
      inspector.once(of, _ => None).outcomes.map(_._2.productPrefix)

    def commit(of: Prepared*): Seq[String] =
      committer.commit(of, _ => None, deadline).map(_._2.productPrefix)

    def abort(of: Prepared*): Seq[String] =
      committer.abort(of, _ => None, deadline).map(_._2.productPrefix)
  }

  test("they are open until they are committed or aborted; neither can be changed into the other") {
    val topic = newTopicOn(1, blue)
    val scene = new Scene(topic)
    val Seq(one, two, three) = (0 to 2).map(scene.prepare(_))
    try {
      assert(scene.states(one, two, three) == Seq("Open", "Open", "Open"))
      assert(scene.inspector.once(Seq(one), _ => None).kafkaIds.get("blue").exists(_.nonEmpty))
      assert(scene.commit(one) == Seq("Committed") && scene.abort(two) == Seq("Lost"))
      assert(scene.states(one, two, three) == Seq("Committed", "Lost", "Open"))
      assert(scene.abort(one) == Seq("Committed") && scene.commit(two) == Seq("Lost"))
      assert(scene.commit(one) == Seq("Committed") && scene.abort(two) == Seq("Lost"))
      // Fencing leaves no trace of how the transaction ended.
      scene.clusters.admin("blue").fence(Seq(three.transactionalId))
      val never = three.copy(transactionalId = "dynamic-kafka-never-used")
      assert(scene.states(three, never) == Seq("Unknown", "Unknown"))
      assert(scene.inspector.once(
        Seq(one),
        _ => Some("another")
      ).outcomes.map(_._2.productPrefix) == Seq("Unknown"))
      assert(values(blue, topic).size == 1)
    } finally scene.clusters.close()
  }
  test("one that is open for too long is lost") {
    val scene = new Scene(newTopicOn(1, blue))
    try {
      val short = scene.prepare(0, scene.settings.and("transaction.timeout.ms" -> "1000"))
      eventually(assert(scene.states(short) == Seq("Lost")))
      assert(scene.commit(short) == Seq("Lost") && scene.abort(short) == Seq("Lost"))
    } finally scene.clusters.close()
  }
}

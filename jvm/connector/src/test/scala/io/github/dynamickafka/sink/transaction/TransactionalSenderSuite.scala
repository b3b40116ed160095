package io.github.dynamickafka.sink.transaction

import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.TopicPartition
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.sink.route.RecordRouting.Record
import io.github.dynamickafka.testkit.TimeLimit
import io.github.dynamickafka.time.ManualClock

/** What a task that writes in transactions tells the driver, without brokers. */
class TransactionalSenderSuite extends AnyFunSuite with TimeLimit {

  private final class Scene {
    val clock = new ManualClock
    var begun = Vector.empty[String]

    /** How transactions were ended. */
    var ended = Vector.empty[String]
    var failsAt = Set.empty[String]

    val pool = new TransactionPool(settings => new Silent(settings.cluster), 60000L, clock)

    val sender = new TransactionalSender(
      id => new ProducerSettings(id, Map("bootstrap.servers" -> "x:1")),
      pool,
      TaskAttempt(4, cluster => s"id-$cluster", retried = false),
      _ => true,
      () => false,
      clock
    )

    def send(cluster: String): Unit = sender.send(cluster, new Record("t", Array[Byte](1)))

    def commit(): TaskTransactions = sender.commit().asInstanceOf[TaskTransactions]

    private final class Silent(cluster: String) extends ResumableProducer {
      override def complete(id: String, producerId: Long, partitions: Set[TopicPartition]): Unit = ()
      override def begin(transactionalId: String): Unit = {
        begun :+= transactionalId
        // A coordinator that is slow to answer may have begun the transaction before.
        clock.advanceMs(if (cluster == "slow") 500L else 0L)
      }
      override def send(record: Record, callback: Callback): Unit = ()
      override def flush(): Unit = clock.advanceMs(20L)
      override def prepare(): ResumableProducer.Handle =
        if (failsAt(cluster)) throw new IllegalStateException("no transaction is open")
        else ResumableProducer.Handle(7L, 3)
      override def partitions(topic: String): Int = 1
      override def abort(): Unit = ended :+= s"abort of $cluster"
      override def commit(id: String, handle: ResumableProducer.Handle): Unit = ()
      override def abort(id: String, handle: ResumableProducer.Handle): Unit =
        ended :+= s"abort of prepared $id"
      override def kill(): Unit = ()
    }
  }

  test("each cluster has its own transactional id, begun with the first record") {
    val scene = new Scene
    Seq("blue", "green", "blue").foreach(scene.send)
    val told = scene.commit()
    assert(scene.begun == Seq("id-blue", "id-green"))
    assert(told.prepared.map(t => (t.cluster, t.transactionalId, t.rows)) ==
      Seq(("blue", "id-blue", 2L), ("green", "id-green", 1L)))
  }

  test(
    "a transaction that cannot be prepared: no producer is given back with a transaction, and all are aborted"
  ) {
    val scene = new Scene
    scene.failsAt = Set("green")
    Seq("blue", "green", "red").foreach(scene.send)
    intercept[IllegalStateException](scene.commit())
    assert(scene.pool.size == 0 && scene.ended.isEmpty)
    scene.sender.abort()
    assert(scene.ended == Seq("abort of prepared id-blue", "abort of green", "abort of red"))
    assert(scene.pool.size == 3)
    scene.sender.close()
    assert(scene.ended.size == 3)
  }

  test("an executor with an untested version of Kafka's client refuses to open a transaction") {
    val settings = new ProducerSettings("blue", Map("bootstrap.servers" -> "127.0.0.1:1"))
    Seq("3.8.1", "4.4.0", "4.10.0", "5.0.0").foreach { version =>
      val e = intercept[IllegalStateException](ReflectiveProducer.create(settings, version))
      assert(e.getMessage.contains(s"has version $version") && e.getMessage.contains("requires 3.9"))
    }
    Seq("3.9.1", "4.0.0", "4.3.1").foreach(ReflectiveProducer.create(settings, _).kill())
  }

  test(
    "the age of a transaction is the time from its begin until it is prepared, by the clock of the executor"
  ) {
    val scene = new Scene
    scene.clock.advanceMs(100000L)
    scene.send("slow")
    scene.clock.advanceMs(1000L)
    scene.send("blue")
    scene.clock.advanceMs(30L)
    val ages = scene.commit().ages
    assert(ages.openMs == Map("slow" -> 1570L, "blue" -> 70L))
    assert(ages.atMs == scene.clock.currentTimeMillis())
  }

  test("on the driver, a transaction is as old as it was plus the time since, and not older than the batch") {
    val ages = Ages(Map("blue" -> 100L), atMs = 5000L)
    assert(ages.of("blue", sinceStartMs = 90000L, nowMs = 5030L) == 130L)
    // Clocks that differ.
    assert(ages.of("blue", sinceStartMs = 120L, nowMs = 9000L) == 120L)
    assert(ages.of("blue", sinceStartMs = 90000L, nowMs = 1000L) == 100L)
    assert(ages.of("green", sinceStartMs = 90000L, nowMs = 5030L) == 90000L)
  }

  test("after a batch that may have left an attempt running, another set of ids is used, of a few") {
    val sets = new IdSets
    val used = (0 to 5).map { n =>
      val current = sets.current
      sets.ended(isStalled = n != 2)
      current
    }
    assert(used == Seq(0, 1, 2, 2, 3, 0))
  }
}

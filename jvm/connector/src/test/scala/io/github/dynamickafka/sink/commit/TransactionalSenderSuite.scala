package io.github.dynamickafka.sink.commit

import java.util.concurrent.CountDownLatch

import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.TopicPartition
import org.apache.kafka.common.errors.SaslAuthenticationException
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.error.DynamicKafkaRuntimeException
import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.testkit.TimeLimit

/** What a task that writes in transactions tells the driver, without brokers. */
class TransactionalSenderSuite extends AnyFunSuite with TimeLimit {

  private final class Scene(opens: () => Unit = () => (), kills: () => Unit = () => ()) {
    val clock = new ManualClock
    var begun = Vector.empty[String]

    /** How transactions were ended. */
    var ended = Vector.empty[String]
    var failsAt = Set.empty[String]

    /** Whether producers split batches, and `flush` does not wait for the parts. */
    var splits = false

    /** The number of records that were answered when a transaction was prepared. */
    var answered = Vector.empty[Int]

    /** Producers that are older than this one have outdated credentials. */
    var stale = 0
    var created = 0
    var killed = 0
    val pool = new TransactionPool(
      settings => {
        created += 1
        opens()
        new Silent(settings.cluster, created)
      },
      60000L,
      clock
    )

    val sender: TransactionalSender = newSender()
    def newSender(properties: (String, String)*) = new TransactionalSender(
      id => new ProducerSettings(id, Map("bootstrap.servers" -> "x:1") ++ properties),
      pool,
      TaskAttempt(4, cluster => s"id-$cluster", retried = false),
      _ => true,
      () => false,
      clock
    )

    def send(cluster: String): Unit = sender.send(cluster, new Record("t", Array[Byte](1)))

    def commit(): TaskTransactions = sender.commit().asInstanceOf[TaskTransactions]

    private final class Silent(cluster: String, number: Int) extends ResumableProducer {
      private var sent = Vector.empty[Callback]
      private var written = 0
      override def complete(id: String, producerId: Long, partitions: Set[TopicPartition]): Unit = ()
      override def begin(transactionalId: String): Unit = {
        if (number < stale) throw new SaslAuthenticationException("refused")
        begun :+= transactionalId
        // A coordinator that is slow to answer may have begun the transaction before.
        clock.advanceMs(if (cluster == "slow") 500L else 0L)
      }
      override def send(record: Record, callback: Callback): Unit = sent :+= callback
      override def flush(): Unit = {
        clock.advanceMs(20L)
        val done = if (splits) sent.take(math.max(1, sent.size / 2)) else sent
        sent = sent.drop(done.size)
        written += done.size
        done.foreach(_.onCompletion(null, null))
      }
      override def prepare(): ResumableProducer.Handle = {
        answered :+= written
        if (failsAt(cluster)) throw new IllegalStateException("no transaction is open")
        else ResumableProducer.Handle(7L, 3)
      }
      override def partitions(topic: String): Int = 1
      override def abort(): Unit = ended :+= s"abort of $cluster"
      override def commit(id: String, handle: ResumableProducer.Handle): Unit = ()
      override def abort(id: String, handle: ResumableProducer.Handle): Unit =
        ended :+= s"abort of prepared $id"
      override def kill(): Unit = {
        killed += 1
        kills()
      }
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

  test("a transaction is prepared when each of its records is answered, not when flush() returns") {
    val scene = new Scene
    scene.splits = true
    (1 to 9).foreach(_ => scene.send("blue"))
    (1 to 3).foreach(_ => scene.send("green"))
    val told = scene.commit()
    assert(scene.answered == Seq(9, 3) && told.prepared.map(_.rows) == Seq(9L, 3L))
  }

  test(
    "if the credentials of an idle producer are refused, all idle ones are closed, and a new one begins the transaction"
  ) {
    val scene = new Scene
    val senders = (1 to 3).map(_ => scene.newSender())
    senders.foreach(_.send("blue", new Record("t", Array[Byte](1))))
    senders.foreach(_.commit())
    assert(scene.pool.size == 3)
    scene.stale = 4
    scene.send("blue")
    assert(scene.created == 4 && scene.killed == 3 && scene.pool.size == 0)
    assert(scene.commit().prepared.map(_.rows) == Seq(1L))
    // The credentials are wrong: each attempt is another log-in.
    scene.stale = 100
    val refused = scene.newSender()
    intercept[DynamicKafkaRuntimeException](refused.send("blue", new Record("t", Array[Byte](1))))
    assert(scene.created == 5 && scene.killed == 5)
  }

  test("an executor with an untested version of Kafka's client refuses to open a transaction") {
    val settings = new ProducerSettings("blue", Map("bootstrap.servers" -> "127.0.0.1:1"))
    Seq("3.8.1", "4.4.0", "4.10.0", "5.0.0").foreach { version =>
      val e = intercept[IllegalStateException](ResumableProducer.create(settings, version))
      assert(e.getMessage.contains(s"has version $version") && e.getMessage.contains("requires 3.9"))
    }
    Seq("3.9.1", "4.0.0", "4.3.1").foreach(ResumableProducer.create(settings, _).kill())
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
    val ages = scene.commit()
    assert(ages.openMs == Map("slow" -> 1570L, "blue" -> 70L))
    assert(ages.atMs == scene.clock.currentTimeMillis())
  }

  test("on the driver, a transaction is as old as it was plus the time since, and not older than the batch") {
    val ages = TaskTransactions(Nil, retried = false, 0, openMs = Map("blue" -> 100L), atMs = 5000L)
    assert(ages.ageMs("blue", sinceStartMs = 90000L, nowMs = 5030L) == 130L)
    // Clocks that differ.
    assert(ages.ageMs("blue", sinceStartMs = 120L, nowMs = 9000L) == 120L)
    assert(ages.ageMs("blue", sinceStartMs = 90000L, nowMs = 1000L) == 100L)
    assert(ages.ageMs("green", sinceStartMs = 90000L, nowMs = 5030L) == 90000L)
  }

  test("after a batch that may have left an attempt running, another set of ids is used, of a few") {
    val scene = new CommitScene
    val context = scene.context(scene.claim("first"))
    val ids = new TransactionalIds(CommitScene.name("first"), context, arePassedOn = false)
    val used = (0 to 5).map { n =>
      val current = ids.name.set
      ids.ended(None, firstOnly = true, isStalled = n != 2)
      current
    }
    assert(used == Seq(0, 1, 2, 2, 3, 0))
  }

  test("a producer that hangs while it is opened is an error in time, and is closed if it opens later") {
    val (proceed, killed) = (new CountDownLatch(1), new CountDownLatch(1))
    val scene = new Scene(opens = () => proceed.await(), kills = () => killed.countDown())
    val sender = scene.newSender("max.block.ms" -> "100")
    val e = intercept[DynamicKafkaRuntimeException](sender.send("blue", new Record("t", Array[Byte](1))))
    assert(e.getCondition == "DYNAMIC_KAFKA.WRITE_FAILED" && e.getMessage.contains("cluster 'blue'"), e)
    assert(e.getMessage.contains("not open within 100 ms"), e)
    proceed.countDown()
    killed.await()
    assert(scene.begun.isEmpty && scene.pool.size == 0)
  }
}

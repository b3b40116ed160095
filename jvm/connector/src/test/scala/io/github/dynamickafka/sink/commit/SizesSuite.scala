package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import scala.collection.mutable

import org.apache.kafka.clients.admin.TransactionState.ONGOING
import org.apache.kafka.clients.producer.Callback
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.kafka.ProducerSettings
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.testkit.TimeLimit

/** Counts what large batches need, with the classes that open, name and end transactions, for the table in `docs/sink.md`. */
class SizesSuite extends AnyFunSuite with TimeLimit {

  /** A query of some tasks, each with rows for some of the clusters. */
  private final class Query(tasks: Int, rowsFor: Int => Range) {
    private val scene = new CommitScene
    private val names = new TransactionalIds(
      TransactionName("dynamic-kafka", "01234567-89ab-cdef-0123-456789abcdef", "01234567", 1L),
      scene.context(scene.claim("first")),
      arePassedOn = false
    )
    private var number = 0L
    var producers, markers = 0
    val ids: mutable.Set[String] = mutable.HashSet.empty
    private val pool = new TransactionPool(_ => { producers += 1; new Counting }, 60000L, new ManualClock)

    /** The transactions of the next batch, whose tasks run in groups on one executor. */
    def batch(isStalled: Boolean = false): Seq[Prepared] = {
      val prepared = (0 until tasks).grouped(SizesSuite.Cores).toSeq.flatMap { running =>
        val senders = running.map(task => task -> sender(task))
        for (
          (task, sender) <- senders; cluster <- rowsFor(task);
          partition <- 0 until (if (number == 0) SizesSuite.Partitions else 1)
        )
          sender.send(s"cluster-$cluster", new Record("orders", partition, null, Array[Byte](1)))
        senders.flatMap(_._2.commit().asInstanceOf[TaskTransactions].prepared)
      }
      names.ended(None, firstOnly = true, isStalled)
      number += 1
      ids ++= prepared.map(_.transactionalId)
      prepared
    }

    private def sender(task: Int) = new TransactionalSender(
      id => new ProducerSettings(id, Map("bootstrap.servers" -> s"$id.example.com:9092")),
      pool,
      TaskAttempt(task, names.name.id(_, number, task, 0, 0), retried = false),
      _ => true,
      () => false,
      new ManualClock
    )

    private final class Counting extends ResumableProducer {
      private val written = mutable.HashSet.empty[(String, Int)]
      override def begin(transactionalId: String): Unit = written.clear()
      override def send(record: Record, callback: Callback): Unit = {
        written += record.topic -> record.partition
        callback.onCompletion(null, null)
      }
      override def flush(): Unit = ()
      override def prepare(): ResumableProducer.Handle = {
        // The coordinator writes one to each partition of the transaction.
        markers += written.size
        ResumableProducer.Handle(7L, 3)
      }
      override def partitions(topic: String): Int = SizesSuite.Partitions
      override def abort(): Unit = ()
      override def commit(id: String, handle: ResumableProducer.Handle): Unit = ()
      override def abort(id: String, handle: ResumableProducer.Handle): Unit = ()
      override def kill(): Unit = ()
    }
  }

  private def shown(n: Long): String = "%,d".formatLocal(java.util.Locale.ROOT, n)

  /** The numbers of the table's lines for a query, in its order. */
  private def column(tasks: Int, rowsFor: Int => Range): Seq[String] = {
    val q = new Query(tasks, rowsFor)
    val first = q.batch()
    val (markers, producers) = (q.markers, q.producers)
    (1 to 3).foreach(_ => q.batch())
    val regular = q.ids.size
    // Every second one is followed by another set of ids.
    (1 to 8).foreach(n => q.batch(isStalled = n % 2 == 0))
    val entry = JournalEntry(Claim("q", "r", "i", 1L, "l"), 1L, 0, BatchInput.Empty, first, Map.empty)
    Seq(
      shown(first.size.toLong),
      shown(markers.toLong),
      s"${shown(regular.toLong)} to ${shown(q.ids.size.toLong)}",
      shown(producers.toLong),
      s"${shown(Lots.of(first).size.toLong)} of ${shown(Lots.of(first).map(_.size).max.toLong)}",
      s"${shown(math.ceil(JournalJson.write(entry).length / 1024.0).toLong)} KiB"
    )
  }

  test("the table of sizes in docs/sink.md") {
    val columns = Seq(
      column(200, _ => 0 until 4),
      column(2000, _ => 0 until 16),
      column(16, task => task to task)
    )
    val lines = columns.transpose.map(_.mkString(" | ", " | ", " |"))
    val page = Files.readString(Path.of(System.getProperty("dynamickafka.root"), "docs/sink.md"))
    assert(
      lines.filterNot(page.contains).isEmpty,
      lines.mkString(" not in docs/sink.md; all lines:\n", "\n", "")
    )
  }

  test("transactions are ended by a limited number of producers, each with consecutive ones of a cluster") {
    for (clusters <- Seq(1, 2, 4, 16, 100); of <- Seq(1, 4, 20, 200, 2000)) {
      val all =
        for (c <- 0 until clusters; n <- 0 until of) yield Prepared(s"c$c", s"$c-$n", 1L, 0, n, 1L, Nil)
      val lots = Lots.of(all)
      assert(lots.flatten.toSet == all.toSet && lots.map(_.size).sum == all.size)
      assert(lots.forall(_.map(_.cluster).distinct.size == 1))
      assert(lots.size <= math.max(Lots.MostOfAll, clusters))
      lots.groupBy(_.head.cluster).values.foreach(ofCluster => assert(ofCluster.size <= Lots.MostOfCluster))
    }
    def lots(clusters: Int, of: Int) =
      Lots.of(for (c <- 0 until clusters; n <- 0 until of)
        yield Prepared(s"c$c", s"$c-$n", 1L, 0, n, 1L, Nil)).size
    assert(lots(1, 3) == 1 && lots(1, 20) == 4 && lots(1, 200) == 4 && lots(1, 2000) == 16 && lots(
      16,
      2000
    ) == 128)
  }

  test(
    "the state of all transactions of a batch is one request to each cluster, before the decision and at a start"
  ) {
    val clock = new ManualClock
    val kafka = new ScriptedKafka(clock, 1L)
    val clusters = new Clusters(CommitScene.properties(_, _), 2000L, 1000L, kafka.connect(_, _))
    clusters.set((0 until 16).map(c => s"c$c" -> CommitScene.properties(s"c$c")).toMap)
    val all = for (c <- 0 until 16; n <- 0 until 50) yield Prepared(s"c$c", s"$c-$n", 1L, 0, n, 1L, Nil)
    kafka.put(ONGOING, all: _*)
    val report = new Committer(clusters, kafka.pool, clock).inspect(all, _ => None)
    assert(report.outcomes.map(_._1) == all && report.outcomes.forall(_._2 == Outcome.Open))
    assert(kafka.requests.count(_.contains(" describe ")) == 16)
  }
}

private object SizesSuite {

  /** Tasks that run at the same time on an executor. */
  val Cores = 8

  /** Partitions of the topic on each cluster. */
  val Partitions = 16
}

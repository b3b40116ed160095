package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import scala.concurrent.ExecutionContext.Implicits.global
import scala.concurrent.duration._
import scala.concurrent.{Await, Future}

import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.{Entry, Queries, Target, ThreeBrokers}
import io.github.dynamickafka.testkit.{KafkaCluster, KafkaNode, TestAll}

/** A cluster of three brokers, each of which coordinates transactions and leads partitions. One of them fails. */
class CoordinatorFailureSuite extends Queries with ThreeBrokers {
  override protected lazy val three: KafkaCluster =
    KafkaCluster.start("three", nodes = 3, properties = Map("transaction.state.log.num.partitions" -> "3"))

  private val States = "__transaction_state"

  /** The partition of [[States]] with the transactions of this id. */
  private def partitionOf(id: String): Int = (id.hashCode & Int.MaxValue) % 3

  /**
   * The broker that coordinates the transactions of the first of these ids whose coordinator is not the active controller:
   * the election of another controller would come first, and is not what is tested. Returns the id too.
   */
  private def coordinator(ids: Seq[String]): (String, KafkaNode) = {
    val controller = three.controller()
    ids.flatMap(id => three.leader(States, partitionOf(id)).filter(_ != controller).map(id -> three.node(_)))
      .headOption.getOrElse(fail("the active controller coordinates all of them"))
  }

  private def newTopicOnThree(): String = {
    val topic = newTopic()
    three.createTopic(topic, partitions = 3)
    topic
  }

  /**
   * A broker that is frozen can hold up both steps of a batch, each for 15 s, and a busy machine adds to that. With Kafka's time
   * limits, a batch took 75 s.
   */
  private val batchLimitMs = 45000L

  /** Freezes a coordinator. The result completes when another broker has its partition: the ms that Kafka has taken. */
  private def freeze(node: KafkaNode, partition: Int): Future[Long] = {
    val started = System.nanoTime()
    node.freeze()
    Future {
      eventually(assert(three.leader(States, partition).exists(_ != node.id)))
      (System.nanoTime() - started) / 1000000L
    }
  }

  // Kafka's part is measured, because it takes longer on a busy machine: 5 s with the testkit's session of brokers on a quiet one.
  // The connector's part is 3 s then, and 40 s with Kafka's time limits of requests.
  test(
    "a coordinator that is frozen between prepare and commit: committed by the next one within 15 s",
    TestAll
  ) {
    val topic = newTopicOnThree()
    val scene = new PreparedScene(three, topic)
    try {
      // Connections of the driver that are open when the broker freezes.
      assert(scene.commit((0 until 4).map(scene.prepare(_)): _*).toSet == Set("Committed"))
      val prepared = (0 until 20).map(scene.prepare(_))
      val (id, frozen) = coordinator(prepared.map(_.transactionalId))
      val election = freeze(frozen, partitionOf(id))
      val looking = elapsedMs(assert(scene.open(prepared)))
      val committing = elapsedMs(assert(scene.commit(prepared: _*).toSet == Set("Committed")))
      val elected = Await.result(election, 2.minutes)
      info(s"$elected ms until Kafka has another coordinator; $looking ms to look, $committing ms to commit")
      assert(looking + committing < elected + 15000L, s"$looking + $committing, elected after $elected")
      frozen.thaw()
      assert(values(three, topic).size == 24)
    } finally scene.clusters.close()
  }

  test(
    "a coordinator that is frozen before a batch is prepared: prepared by the next one within 15 s",
    TestAll
  ) {
    val topic = newTopicOnThree()
    val scene = new PreparedScene(three, topic)
    try {
      val before = (0 until 20).map(scene.prepare(_))
      assert(scene.commit(before: _*).toSet == Set("Committed"))
      val (id, frozen) = coordinator(before.map(_.transactionalId))
      val election = freeze(frozen, partitionOf(id))
      var again = Seq.empty[Prepared]
      val ms = elapsedMs { again = Seq(scene.prepare(1, id = id)) }
      val elected = Await.result(election, 2.minutes)
      info(s"$elected ms until Kafka has another coordinator; $ms ms to prepare")
      assert(ms < elected + 15000L, s"$ms ms, elected after $elected")
      assert(scene.commit(again: _*) == Seq("Committed"))
      frozen.thaw()
      assert(values(three, topic).size == 21)
    } finally scene.clusters.close()
  }

  test(
    "each batch of a query takes less than 45 s while a broker is frozen, and all records are there once, in order",
    TestAll
  ) {
    continues(_.freeze(), _.thaw())
  }

  test("... while a broker is down", TestAll) {
    continues(_.kill(), _.restart())
  }

  test("... while the brokers are restarted one after the other", TestAll) {
    continues(_.restart(), node => three.nodes.filter(_ != node).foreach(_.restart()))
  }

  /** Writes a few batches before, during and after the failure of a broker. */
  private def continues(begin: KafkaNode => Unit, end: KafkaNode => Unit): Unit = target { t =>
    val topic = newTopicOnThree()
    t.out(Entry("three", three, topic))
    val lines = new Lines(t)
    lines.batches(2)
    val node = three.node(three.leader(States, 0).get)
    begin(node)
    val slow = lines.batches(5)
    val commits = lines.query.recentProgress.map(_.sink.metrics.get("commitMs")).takeRight(8).mkString(", ")
    info(s"ms from the end of the tasks to the last commit: $commits")
    end(node)
    val after = lines.batches(2)
    info(s"during the failure: ${slow.mkString(", ")} ms; afterwards: ${after.mkString(", ")} ms")
    assert(slow.forall(_ < batchLimitMs), slow.mkString(", "))
    lines.query.stop()
    assert(three.awaitTransactionsEnded(topic))
    val found = committed(three, topic)
    assert(found.map(_.value.toInt).sorted == (0 until lines.written))
    found.groupBy(_.key).values.foreach { ofKey =>
      assert(ofKey.map(_.partition).distinct.size == 1)
      val inOrder = ofKey.sortBy(_.offset).map(_.value.toInt)
      assert(inOrder == inOrder.sorted)
    }
  }

  /** A query that writes the lines of files, one file a batch. */
  private final class Lines(t: Target) {
    private val folder: Path = newFolder()
    var written = 0
    val query: StreamingQuery = t.start(
      spark.readStream.option("maxFilesPerTrigger", "1").text(folder.toString)
        .selectExpr("cast(cast(value as int) % 7 as string) as key", "value"),
      Trigger.ProcessingTime(0L),
      "deliveryGuarantee" -> "exactly-once"
    )

    /** Writes batches one after the other, and returns how long each took, in milliseconds. */
    def batches(n: Int): Seq[Long] = (1 to n).map { _ =>
      val text = (written until written + 50).mkString("\n")
      written += 50
      val file = Files.writeString(Files.createTempFile("lines", ".tmp"), text)
      Files.move(file, folder.resolve(s"$written.txt"))
      elapsedMs(query.processAllAvailable())
    }
  }
}

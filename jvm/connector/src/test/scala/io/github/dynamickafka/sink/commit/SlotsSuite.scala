package io.github.dynamickafka.sink.commit

import java.nio.file.{Files, Path}

import scala.collection.mutable
import scala.util.Random

import org.apache.hadoop.conf.Configuration
import org.apache.kafka.clients.producer.Callback
import org.apache.kafka.common.errors.TimeoutException
import org.scalatest.funsuite.AnyFunSuite

import io.github.dynamickafka.TestSeed
import io.github.dynamickafka.base.ManualClock
import io.github.dynamickafka.config.{TransactionOptions, UnknownCommitPolicy}
import io.github.dynamickafka.kafka.TaskSender.Record
import io.github.dynamickafka.storage.{InProcessFiles, InProcessFilesContext}
import io.github.dynamickafka.testkit.TimeLimit

/** When a run may use the transactional ids of another one. */
class SlotsSuite extends AnyFunSuite with TimeLimit {
  import SlotsSuite._

  private final class Scene {
    val kafka = new Epochs
    val folder: Path = Files.createTempDirectory("dynamic-kafka-slots-")
    private var runs = 0

    /** A run of the query. */
    def run(place: Path = folder, prefix: String = "p"): Run = {
      runs += 1
      val journal = new Journal(place.toString, hadoop)
      val claim = journal.claim("q", s"run$runs")
      new Run(
        new TransactionalIds(
          TransactionName(prefix, "q", claim.instance, claim.generation),
          CommitContext(
            claim,
            journal,
            clusters,
            kafka.pool,
            TransactionOptions(prefix, None, 1000L, replayLost = false, UnknownCommitPolicy.Fail),
            CommitProbe.NoOp,
            new ManualClock
          ),
          arePassedOn = true
        )
      )
    }
  }

  private final class Run(slots: TransactionalIds) {
    slots.take()
    def slot: String = slots.name.slot

    def batch(firstOnly: Boolean = true, cluster: String = "blue"): Run = {
      slots.begin()
      slots.ended(Some(cluster), firstOnly, isStalled = false)
      this
    }
    def dies(): Run = {
      slots.begin()
      this
    }
    def ends(): String = {
      slots.release()
      slot
    }
  }

  test("a run gets the slot of one that has ended, again and again") {
    val scene = new Scene
    val first = scene.run().batch().ends()
    assert((1 to 5).forall(_ => scene.run().batch().ends() == first))
  }

  test("the slot of a run that has not ended, has died, or may have left an attempt running is not used") {
    val scene = new Scene
    val unclear = Seq[Run => Unit](
      _.batch(),
      run => run.batch().dies().ends(),
      run => run.batch(firstOnly = false).ends(),
      run => run.batch(firstOnly = false).batch().ends()
    ).map { use =>
      val run = scene.run()
      use(run)
      run.slot
    }
    assert(unclear.distinct.size == unclear.size && !unclear.contains(scene.run().slot))
  }

  test("of two runs that read the same file, one gets the slot; an older file is of no use") {
    val scene = new Scene
    val slot = scene.run().batch().ends()
    val file = Files.list(
      scene.folder.resolve(Journal.Folder)
    ).filter(_.getFileName.toString.startsWith("slot-")).findFirst.get
    val restored = Files.readAllBytes(file)
    val second = scene.run()
    Files.write(file, restored)
    val third = scene.run()
    assert(second.slot == slot && third.slot != slot)
    second.batch().ends()
    Files.write(file, restored)
    assert(!Set(slot, third.slot)(scene.run().slot))
  }

  test("if the answer of Kafka is lost, or its ids have expired, the slot is not used") {
    val scene = new Scene
    val slot = scene.run().batch().ends()
    scene.kafka.losesAnswers = true
    assert(scene.run().slot != slot)
    scene.kafka.losesAnswers = false
    assert(scene.run().slot != slot, "the epoch has grown")
    val next = scene.run().batch().ends()
    scene.kafka.forget()
    assert(scene.run().slot != next)
  }

  test("the slots of a cluster that has left are deleted, those of other queries stay") {
    val scene = new Scene
    scene.run().batch().ends()
    def files = Files.list(
      scene.folder.resolve(Journal.Folder)
    ).filter(_.getFileName.toString.startsWith("slot-")).count
    try {
      clusters.set(Map("red" -> CommitScene.properties("red")))
      scene.run(prefix = "other")
      assert(files == 1)
      scene.run()
      assert(files == 0)
    } finally clusters.set(Map("blue" -> CommitScene.properties("blue")))
  }

  test(
    "random runs while clusters come and leave: no slot has two users, and none of a cluster that has left is kept"
  ) {
    val first = TestSeed()
    var reused = 0
    try (first until first + 20).foreach { seed =>
        val random = new Random(seed)
        def one[A](all: Seq[A]): A = all(random.nextInt(all.size))
        val scene = new Scene
        val journal = new Journal(scene.folder.toString, hadoop)
        var (known, live, spoiled) = (Seq.empty[String], Vector.empty[Run], Set.empty[String])
        var steps = Vector.empty[String]
        def set(ids: Seq[String]): Unit = {
          steps :+= s"clusters: ${ids.mkString(", ")}"
          known = ids
          clusters.set(ids.map(id => id -> CommitScene.properties(id)).toMap)
        }
        set(All)
        (1 to 40).foreach { _ =>
          random.nextInt(6) match {
            case 0 => set(random.shuffle(All).take(1 + random.nextInt(All.size - 1)))
            case 1 | 2 if live.size < 2 =>
              val prefix = one(Seq("p", "p", "p", "p", "other"))
              val before = journal.freeSlots()
              val run = scene.run(prefix = prefix)
              steps :+= s"start with ${run.slot}"
              val where = s"DYNAMIC_KAFKA_SEED=$seed: ${steps.mkString("; ")}"
              assert(!spoiled(run.slot) && !live.exists(_.slot == run.slot), where)
              if (before.exists(_.slot == run.slot)) reused += 1
              val kept = journal.freeSlots()
              assert(
                kept.filter(_.slot.startsWith(s"$prefix-")).forall(s => known.contains(s.cluster)),
                where
              )
              val (of, others) = (s"$prefix-", before.filterNot(_.slot.startsWith(s"$prefix-")))
              assert(others.forall(kept.contains), s"of another prefix than $of: $where")
              live :+= run
            case _ if live.nonEmpty =>
              // Only the newest run can give up its slot.
              val run = if (random.nextInt(4) > 0) live.last else live.head
              random.nextInt(8) match {
                case 0 | 1 | 2 =>
                  steps :+= s"end of ${run.slot}"
                  live = live.filterNot(_ eq run)
                  val _ = run.ends()
                  if (!journal.freeSlots().exists(_.slot == run.slot)) spoiled += run.slot
                case 3 =>
                  steps :+= s"death of ${run.slot}"
                  live = live.filterNot(_ eq run)
                  spoiled += run.slot
                case 4 =>
                  steps :+= s"a second attempt of ${run.slot}"
                  spoiled += run.slot
                  val _ = run.batch(firstOnly = false, one(known))
                case _ =>
                  val cluster = one(known)
                  steps :+= s"a batch of ${run.slot} on $cluster"
                  val _ = run.batch(cluster = cluster)
              }
            case _ => ()
          }
        }
      }
    finally clusters.set(Map("blue" -> CommitScene.properties("blue")))
    assert(reused > 0)
  }

  test("a copy, and a run with another prefix, do not use a slot") {
    val scene = new Scene
    val slot = scene.run().batch().ends()
    val copy = Files.createTempDirectory("dynamic-kafka-slots-")
    val place = Files.createDirectory(copy.resolve(Journal.Folder))
    Files.list(scene.folder.resolve(Journal.Folder)).forEach { file =>
      val _ = Files.copy(file, place.resolve(file.getFileName))
    }
    assert(scene.run(place = copy).slot != slot && scene.run(prefix = "other").slot != slot)
    assert(scene.run().slot == slot)
  }
}

private object SlotsSuite {
  private val hadoop = new Configuration
  // Without a process for the rights of each file.
  hadoop.set("fs.file.impl", classOf[InProcessFiles].getName)
  hadoop.set("fs.AbstractFileSystem.file.impl", classOf[InProcessFilesContext].getName)
  private val All = Seq("blue", "green", "red")

  private val clusters = new Clusters((id, _) => CommitScene.properties(id), 2000L, 1000L)
  clusters.set(Map("blue" -> CommitScene.properties("blue")))

  /** The producer ids and epochs that a cluster gives. */
  private final class Epochs {
    private val known = mutable.HashMap.empty[String, (Long, Int)]
    private var producers = 0L
    var losesAnswers = false

    def forget(): Unit = known.clear()

    val pool = new TransactionPool(_ => new Producer, 60000L, new ManualClock)

    private final class Producer extends ResumableProducer {
      private var id = ""
      override def begin(transactionalId: String): Unit = {
        id = transactionalId
        known.update(
          id,
          known.get(id).map { case (producer, epoch) => (producer, epoch + 1) }.getOrElse {
            producers += 1
            (producers, 0)
          }
        )
        if (losesAnswers) throw new TimeoutException("a response that is lost")
      }
      override def prepare(): ResumableProducer.Handle =
        ResumableProducer.Handle(known(id)._1, known(id)._2.toShort)
      override def kill(): Unit = ()

      override def send(record: Record, callback: Callback): Unit = unused
      override def partitions(topic: String): Int = unused
      override def flush(): Unit = unused
      override def abort(): Unit = unused
      override def commit(id: String, handle: ResumableProducer.Handle): Unit = unused
      override def abort(id: String, handle: ResumableProducer.Handle): Unit = unused
      private def unused: Nothing = throw new UnsupportedOperationException("no record is written")
    }
  }
}

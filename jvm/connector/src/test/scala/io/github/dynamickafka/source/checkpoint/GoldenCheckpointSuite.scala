package io.github.dynamickafka.source.checkpoint

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.kafka.clients.admin.Admin
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Results, Seen}

/**
 * Complete checkpoints of released versions, with placeholders for addresses: each one must open, plan its
 * last batch again and resume exactly.
 *
 * New: `GOLDEN_CHECKPOINT=<folder> ./sbt "connector/testOnly *GoldenCheckpointSuite"`. A checkpoint that
 * has been released is never created again.
 */
class GoldenCheckpointSuite extends Queries {

  private val (orders, old) = ("golden-orders", "golden-old")
  private def clusters = Seq("blue" -> blue, "green" -> green, "red" -> red)

  /** Addresses and Kafka's ids, which are others in each run, by the placeholders in a golden checkpoint. */
  private def names: Seq[(String, String)] = clusters.flatMap { case (id, cluster) =>
    Using.resource(Admin.create(Map[
      String,
      AnyRef
    ]("bootstrap.servers" -> cluster.bootstrapServers).asJava)) {
      admin =>
        val there = cluster.topics().intersect(Set(orders, old))
        val topics = admin.describeTopics(there.asJava).allTopicNames().get().asScala.map { case (topic, d) =>
          s"@$id.$topic@" -> d.topicId.toString
        }
        Seq(
          s"@$id@" -> cluster.bootstrapServers,
          s"@$id.cluster@" -> admin.describeCluster().clusterId().get()
        ) ++
          topics
    }
  }

  private def likeThen(b: Int, g: Int, r: Int): Unit =
    for ((cluster, topic, count) <- Seq((blue, orders, b), (green, orders, g), (red, old, r))) {
      if (!cluster.topics().contains(topic)) cluster.createTopic(topic, 2)
      val have = cluster.endOffsets(topic).values.sum.toInt
      produce(cluster, topic, 2, (have until count).map(i => s"$i"))
    }

  /**
   * The position in both partitions is 3 for `blue` and 2 for `green`, which was removed; the drain target of `red` is 2. The
   * last batch has a record from each partition of `blue` and `red`; it is logged but not committed.
   */
  private def make(target: Path): Unit = scene { s =>
    likeThen(6, 4, 0)
    s.orders(Entry("blue", blue, orders), Entry("green", green, orders), Entry("red", red, old))
    s.catchUp()
    likeThen(8, 4, 4)
    s.orders(Entry("blue", blue, orders), Entry("red", red, old).draining)
    s.catchUp("maxOffsetsPerTrigger" -> "4")
    for ((file, text) <- s.files if !after(file)) {
      Files.createDirectories(target.resolve(file).getParent)
      Files.writeString(
        target.resolve(file),
        names.foldLeft(text) { case (t, (to, name)) => t.replace(name, to) }
      )
    }
  }

  /** Whether the file would not exist if the driver had died in batch 1. */
  private def after(file: String) = file.split('/') match {
    case Array("offsets", n) => n.toLongOption.exists(_ > 1)
    case Array("commits", n) => n.toLongOption.exists(_ > 0)
    case _ => false
  }

  private def opened(version: String): Results = {
    val source = Path.of(getClass.getResource(s"/checkpoints/$version").toURI)
    val folder = newFolder()
    val walk = Files.walk(source)
    try
      walk.iterator.asScala.filter(Files.isRegularFile(_)).foreach { file =>
        val target = folder.resolve(source.relativize(file).toString)
        Files.createDirectories(target.getParent)
        Files.writeString(
          target,
          names.foldLeft(Files.readString(file)) { case (t, (from, name)) => t.replace(from, name) }
        )
      }
    finally walk.close()
    new Results(folder)
  }

  sys.env.get("GOLDEN_CHECKPOINT") match {
    case Some(target) => test("write a new golden checkpoint")(make(Path.of(target)))
    case None => test("version 0.1.0") {
        likeThen(10, 8, 8)
        resumes(opened("0.1.0"))
      }
  }

  private def resumes(results: Results): Unit = scene { s =>
    val logged = results.logged
    assert(logged.retained.keySet == Set("green") && logged.draining.keySet == Set("red"))
    def run(entries: Entry*): Unit = {
      s.orders(entries: _*)
      assert(results.start(s.frame(), Trigger.AvailableNow()).awaitTermination(300000))
    }
    def at(rows: Seq[Seen]) = rows.map(r => (r.cluster, r.offset)).groupMapReduce(identity)(_ => 1)(_ + _)
    // Each offset exists in both partitions. Blue is known from the checkpoint only.
    run(Entry("green", green, orders), Entry("red", red, old).draining)
    assert(at(results.batch(1)) == Map(("blue", 3L) -> 2, ("red", 0L) -> 2), "the last batch is repeated")
    assert(at(results.seen) == at(results.batch(1)) ++ Map(
      ("red", 1L) -> 2,
      ("green", 2L) -> 2,
      ("green", 3L) -> 2
    ))
    assert(results.logged.retained.keySet == Set("blue", "red"))
    val before = results.seen.size
    run(Entry("blue", blue, orders), Entry("green", green, orders))
    assert(at(results.seen.drop(before)) == Map(("blue", 4L) -> 2))
  }
}

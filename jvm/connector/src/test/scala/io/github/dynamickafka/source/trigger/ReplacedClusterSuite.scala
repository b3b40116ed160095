package io.github.dynamickafka.source.trigger

import java.nio.file.{Files, Path, StandardCopyOption}

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.config.Options.parse
import io.github.dynamickafka.offset.replacement.SameOffsets.Question
import io.github.dynamickafka.source.cluster.ClusterConfigs
import io.github.dynamickafka.source.{Entry, Logs, Queries, Query, Results}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** A Kafka cluster replaces another one, with a copy of its records, and the other way round. */
class ReplacedClusterSuite extends Queries {

  private val since = System.currentTimeMillis() - 3600000L

  /** Records of two partitions, one a second; each cluster has the same time for a value. */
  private def write(cluster: KafkaCluster, topic: String, values: Range): Unit = {
    cluster.produce(
      topic,
      values.map(i => Record(i % 2, Some(s"v$i"), s"v$i", timestamp = Some(since + i * 1000L)))
    )
    ()
  }

  private def values(all: Range) = all.map(i => s"v$i").sorted

  private def policy(name: String) = Seq("replacedClusterPolicy" -> name)

  /** What is read by this run. */
  private def read(s: Query, options: Seq[(String, String)]): Seq[String] = {
    val before = s.seen.size
    s.catchUp(options: _*)
    s.seen.drop(before).map(_.value).sorted
  }

  /** Twenty records of blue are read; then its id leads to green. */
  private def failedOver(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, blue, green)
    write(blue, topic, 0 until 20)
    s.orders(Entry("blue", blue, topic))
    s.catchUp()
    s.orders(Entry("blue", green, topic))
    body(s, topic)
    ()
  }

  private val same = policy("same-offsets")

  test("same-offsets: there and back, without a loss or a repeat") {
    failedOver { (s, topic) =>
      write(green, topic, 0 until 30)
      val lines = Logs.during(classOf[ReplacedClusters]) {
        assert(read(s, same) == values(20 until 30))
      }
      assert(lines.size == 1 && lines.head.contains(s"""former offsets {"$topic":{"0":10,"1":10}}"""), lines)
      assert(lines.head.contains(s"""new offsets {"$topic":{"0":10,"1":10}}"""), lines)
      write(green, topic, 30 until 32)
      assert(read(s, Nil) == values(30 until 32), "decided once")
      write(blue, topic, 20 until 40)
      s.orders(Entry("blue", blue, topic))
      assert(read(s, same) == values(32 until 40))
      assert(s.values == values(0 until 40))
    }
  }

  test("same-offsets: the last record that was read is gone, and there is another one before the position") {
    val topic = newTopicOn(1, green)
    produce(green, topic, 1, (0 to 4).map(i => s"v$i"))
    green.deleteRecords(topic, 0, 2)
    val config =
      ClusterConfigs(parse(), Set("green"))("green", Map("bootstrap.servers" -> green.bootstrapServers))
    val found = RecordsAt.byConsumer(config, Map((topic, 0) -> Question(record = 1, position = 3)))
    assert(found((topic, 0)).record.isEmpty && found((topic, 0)).next.exists(_.offset == 3))
  }

  test("a driver is killed after the decision, which stays, whatever the policy is then") {
    failedOver { (s, topic) =>
      write(green, topic, 0 until 30)
      assert(read(s, same) == values(20 until 30))
      val logged = s.logged.position("blue")
      s.uncommit()
      write(green, topic, 30 until 32)
      assert(read(s, policy("latest")) == values(30 until 32))
      assert(s.repeated.nonEmpty && logged.get(topic, 0).contains(15L))
    }
  }

  test("a batch of the former cluster was logged, and not read", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      write(blue, topic, 0 until 20)
      write(green, topic, 0 until 40)
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      val before = Files.copy(readFile(s), s.folder.resolve("read.json"))
      write(blue, topic, 20 until 30)
      s.catchUp()
      s.uncommit()
      Files.copy(before, readFile(s), StandardCopyOption.REPLACE_EXISTING)
      Files.deleteIfExists(readFile(s).resolveSibling(".read.json.crc"))
      s.orders(Entry("blue", green, topic))
      val later = new Results(s.checkpoint)
      assert(later.start(s.frame(same: _*), Trigger.AvailableNow()).awaitTermination(300000))
      assert(later.values == values(20 until 40))
    }
  }

  private def readFile(results: Results): Path =
    results.checkpoint.resolve("sources/0/dynamic-kafka/read.json")

  test("same-offsets: a log that is shorter, was cut and filled again, or has expired is refused") {
    failedOver { (s, topic) =>
      write(green, topic, 0 until 16)
      refusedUnlogged(
        s,
        "CLUSTER_REPLACED",
        same: _*
      )("the next offset to read is 10, but the latest offset is 8")
      write(green, topic, 100 until 120)
      refusedUnlogged(s, "CLUSTER_REPLACED", same: _*)("partition 0: the record at offset 9 has the time")
      green.deleteRecords(topic, 0, 12)
      refusedUnlogged(
        s,
        "CLUSTER_REPLACED",
        same: _*
      )("the next offset to read is 10, but the earliest available offset is 12")
      s.orders(Entry("blue", blue, topic))
      write(blue, topic, 20 until 22)
      assert(read(s, same) == values(20 until 22), "as if nothing had happened")
    }
  }

  test("same-offsets: the last record that was read is gone, and the next one is not older") {
    failedOver { (s, topic) =>
      write(green, topic, 0 until 30)
      Seq(0, 1).foreach(green.deleteRecords(topic, _, 10))
      assert(read(s, same) == values(20 until 30))
    }
  }

  test(
    "same-offsets: without the last record, one that is later than the last batch is another one; a producer whose clock is ahead"
  ) {
    failedOver { (s, topic) =>
      val late = System.currentTimeMillis() + 1800000L
      def later(cluster: KafkaCluster) =
        Seq(0, 1).foreach(p =>
          cluster.produce(topic, Seq(Record(p, None, s"late$p", timestamp = Some(late))))
        )
      write(green, topic, 0 until 20)
      later(green)
      write(green, topic, 20 until 30)
      s.orders(Entry("blue", blue, topic))
      later(blue)
      assert(read(s, same) == Seq("late0", "late1"))
      s.orders(Entry("blue", green, topic))
      val file = readFile(s)
      val kept = Files.move(file, s.folder.resolve("kept.json"))
      refusedUnlogged(s, "CLUSTER_REPLACED", same: _*)(
        "partition 0: the record at offset 10 has the time",
        "than the last batch"
      )
      Files.move(kept, file, StandardCopyOption.REPLACE_EXISTING)
      assert(read(s, same) == values(20 until 30))
    }
  }

  test(
    "replaces in the metadata: the new cluster enters by the policy, and so does the former one on the way back"
  ) {
    failedOver { (s, topic) =>
      write(green, topic, 0 until 30)
      s.orders(Entry("green", green, topic).replacing("blue"))
      refusedUnlogged(s, "CLUSTER_REPLACED")("'green'", "'replacedClusterPolicy'")
      val lines = Logs.during(classOf[ReplacedClusters]) {
        assert(read(s, same) == values(20 until 30))
      }
      assert(lines.exists(_.contains("Cluster 'green' replaces cluster 'blue'")), lines)
      assert(s.logged.retained("blue").positions.get(topic, 0).contains(10L))
      write(green, topic, 30 until 36)
      assert(read(s, Nil) == values(30 until 36), "it counts once")
      write(blue, topic, 20 until 40)
      s.orders(Entry("blue", blue, topic).replacing("green"))
      assert(read(s, same) == values(36 until 40))
    }
  }

  test(
    "replaces in the metadata: the new cluster enters after the former one has drained; an unknown id is ignored",
    TestAll
  ) {
    failedOver { (s, topic) =>
      write(blue, topic, 20 until 24)
      write(green, topic, 0 until 30)
      s.orders(Entry("blue", blue, topic).draining, Entry("green", green, topic).replacing("blue"))
      val query = s.start(same: _*)
      settle(query)
      query.stop()
      assert(s.seen.drop(20).map(_.value).sorted == values(20 until 30))
      s.orders(
        Entry("green", green, topic).replacing("blue"),
        Entry("red", red, newTopicOn(1, red)).replacing("gone")
      )
      assert(read(s, policy("fail")).isEmpty)
    }
  }
}

package io.github.dynamickafka.admin

import java.nio.file.{Files, Path}

import scala.jdk.CollectionConverters._
import scala.util.Using

import com.fasterxml.jackson.databind.ObjectMapper
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.offset.CompositeOffsetJson
import io.github.dynamickafka.source.{Entry, HistoryTest}
import io.github.dynamickafka.testkit.{KafkaCluster, Record, TestAll}

/** `reset`, on brokers: the query continues there. */
class ResetProcedureSuite extends HistoryTest {

  private def read(file: Path): String = Files.readString(file)

  /** The folders of edits, in their order. */
  private def edits(checkpoint: Path): Seq[Path] =
    Using.resource(Files.list(checkpoint.resolve("dynamic-kafka-edits")))(_.iterator.asScala.toSeq.sorted)

  test("a query continues where its positions were set, and the former log is kept for restore") {
    val topic = newTopicOn(2, blue, green)
    Seq(blue, green).foreach(produce(_, topic, 2, Seq("a", "b", "c", "d")))
    scene { s =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      val checkpoint = s.checkpoint
      val k = catalog(s.options())
      def reset(to: String, cluster: String = "blue") =
        s"CALL $k.system.reset(checkpoint => '$checkpoint', cluster => '$cluster', to => '$to')"
      val log = checkpoint.resolve("offsets").resolve("0")
      val before = read(log)
      assert(rows(reset("latest")).isEmpty && !Files.exists(checkpoint.resolve("dynamic-kafka-edits")))
      assert(
        columns(reset("latest")) ==
          "source INT,cluster STRING,topic STRING,partition INT,old_position BIGINT,new_position BIGINT"
      )
      assert(
        rows(reset(s"""{"$topic": {"0": 1}}""")) == Seq(row(0, "blue", topic, 0, 2L, 1L)) &&
          rows(reset("earliest")) ==
          Seq(row(0, "blue", topic, 0, 1L, 0L), row(0, "blue", topic, 1, 2L, 0L))
      )
      val edit = edits(checkpoint).head
      assert(read(edit.resolve("before/offsets/0")) == before && Files.exists(edit.resolve("done")))
      val description = new ObjectMapper().readTree(read(edit.resolve("edit.json")))
      assert(description.get("command").asText == s"""reset --cluster blue --to {"$topic": {"0": 1}}""")
      assert(description.get("batch").asInt == 0)
      // The leader epochs of other positions are unknown.
      val after = CompositeOffsetJson.read(read(log).linesIterator.toSeq.last)
      assert(after.identity("blue").epochs.isEmpty && after.identity("green").epochs.size == 2)
      val seen = s.seen.size
      s.catchUp()
      assert(s.seen.drop(seen).map(r => (r.cluster, r.value)).sorted == Seq(
        "a",
        "b",
        "c",
        "d"
      ).map("blue" -> _))
    }
  }

  test("another Kafka cluster under the same id: a query continues at a time, or at the offsets of a group") {
    val since = System.currentTimeMillis() - 3600000L
    def write(cluster: KafkaCluster, topic: String, values: Range) = cluster.produce(
      topic,
      values.map(i => Record(i % 2, None, s"v$i", timestamp = Some(since + i * 1000L)))
    )
    def replaced(to: String => String, more: Int, expected: Seq[Int]): Unit = {
      val topic = newTopicOn(2, blue, green)
      write(blue, topic, 0 until 10)
      write(green, topic, 4 until 10 + more)
      scene { s =>
        s.orders(Entry("blue", blue, topic))
        s.catchUp()
        s.orders(Entry("blue", green, topic))
        val call = s"CALL ${catalog(s.options())}.system.reset('${s.checkpoint}', 'blue', "
        val (condition, text) = error(s"""$call'{"$topic": {"0": 1}}')""")
        assert(
          condition == "PROCEDURE_REFUSED" && text.contains("each of its partitions needs an offset"),
          text
        )
        assert(rows(s"$call'${to(topic)}')").map(r => (r(3), r(4))) == Seq((0, 5L), (1, 5L)))
        val seen = s.seen.size
        s.catchUp()
        assert(s.seen.drop(seen).map(_.value).sorted == expected.map(i => s"v$i").sorted)
      }
    }
    replaced(_ => s"timestamp:${since + 8000L}", more = 4, expected = 8 until 14)
    val group = newTopic("group")
    replaced(
      topic => {
        green.commitOffsets(group, topic, Map(0 -> 1L, 1 -> 3L))
        s"group:$group"
      },
      more = 2,
      expected = Seq(6, 8, 10, 11)
    )
  }

  test("an idle query whose checkpoint is edited fails before its next batch, and then continues as edited") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq("a", "b"))
    scene { s =>
      s.orders(Entry("blue", blue, topic))
      val query = s.start()
      query.processAllAvailable()
      val k = catalog(s.options())
      assert(rows(s"CALL $k.system.reset('${s.checkpoint}', 'blue', 'earliest')").size == 1)
      produce(blue, topic, 1, Seq("c"))
      val e: DynamicKafkaError = refused(query.processAllAvailable())
      assert(condition(e) == "CHECKPOINT_EDITED")
      s.catchUp()
      assert(s.seen.map(_.value) == Seq("a", "b", "a", "b", "c"))
    }
  }

  test("an idle query notices an edit that follows on the undoing of another one") {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, Seq("a", "b"))
    scene { s =>
      s.orders(Entry("blue", blue, topic))
      s.catchUp()
      val system = s"CALL ${catalog(s.options())}.system"
      def reset(to: String) =
        assert(rows(s"$system.reset('${s.checkpoint}', 'blue', '$to')").size == 1)
      reset(s"""{"$topic": {"0": 1}}""")
      reset("latest")
      val query = s.start()
      query.processAllAvailable()
      assert(rows(s"$system.restore('${s.checkpoint}')").nonEmpty)
      reset("earliest")
      produce(blue, topic, 1, Seq("c"))
      val e: DynamicKafkaError = refused(query.processAllAvailable())
      assert(condition(e) == "CHECKPOINT_EDITED")
      s.catchUp()
      assert(s.seen.map(_.value) == Seq("a", "b", "a", "b", "c"))
    }
  }

  test("a query that reads a history notices an edit between two batches", TestAll) {
    twoClusters() { (s, topic, _, path) =>
      s.service.histories = history(path)
      val query = s.start(Trigger.ProcessingTime("30 seconds"), "historyFilesPerTrigger" -> "1")
      def last(log: String) =
        Option(s.checkpoint.resolve(log).toFile.list).toSeq.flatten.flatMap(_.toIntOption).maxOption
      // Spark starts batches at multiples of the interval.
      while (
        last("commits").isEmpty || last("commits") != last("offsets") ||
        !(5000L to 15000L).contains(System.currentTimeMillis() % 30000)
      ) Thread.sleep(50)
      val batch = last("offsets")
      val call = s"CALL ${catalog(s.options())}.system.reset('${s.checkpoint}', 'blue', "
      assert(rows(s"""$call'{"$topic": {"0": 5}}')""").size == 1)
      val e: DynamicKafkaError = refused(query.processAllAvailable())
      assert(condition(e) == "CHECKPOINT_EDITED" && last("offsets") == batch)
    }
  }

  test("what is refused, with the text of the command, and nothing is changed") {
    val topic = newTopicOn(1, blue, green)
    produce(blue, topic, 1, Seq("a", "b"))
    scene { s =>
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      s.catchUp()
      val checkpoint = s.checkpoint
      val k = catalog(s.options())
      val log = read(checkpoint.resolve("offsets").resolve("0"))
      Seq(
        ("bleu", "earliest") -> "reads no cluster 'bleu'. Did you mean 'blue'?",
        (
          "blue",
          "first"
        ) -> "'first' is neither 'earliest', 'latest', 'timestamp:<ms>', 'group:<id>' nor JSON such as",
        (
          "blue",
          s"""{"${topic}s": {"0": 1}}"""
        ) -> s"reads no topic '${topic}s' of cluster blue. Did you mean '$topic'?",
        (
          "blue",
          "group:unknown"
        ) -> s"group 'unknown' has no committed offset of topic '$topic', partition 0",
        ("blue", s"""{"$topic": {"1": 1}}""") -> s"reads no partition 1 of topic '$topic', cluster blue",
        ("blue", s"""{"$topic": {"0": 3}}""") -> s"topic '$topic', partition 0 has the offsets 0 to 2, not 3"
      ).foreach { case ((cluster, to), why) =>
        val (condition, text) = error(s"CALL $k.system.reset('$checkpoint', '$cluster', '$to')")
        assert(condition == "PROCEDURE_REFUSED" && text.contains(why), text)
      }
      s.uncommit()
      assert(error(
        s"CALL $k.system.reset('$checkpoint', 'blue', 'earliest')"
      )._2.contains("nothing is committed in"))
      assert(read(checkpoint.resolve("offsets").resolve("0")) == log)
    }
  }
}

package io.github.dynamickafka.source

import java.nio.file.Files

import org.apache.spark.sql.functions.{col, lit}
import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.history.HistoryBatches
import io.github.dynamickafka.testkit.TestAll

/** Histories that cannot be read, and gaps between a history and Kafka. */
class HistoryRefusalSuite extends HistoryTest {

  test("a gap between the history and Kafka is DATA_LOSS with the expected and the first offset", TestAll) {
    twoClusters() { (s, topic, all, path) =>
      expire(blue, topic, 1 -> 4L)
      s.service.histories = history(path)
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "DATA_LOSS")
      Seq(
        "'blue'",
        topic,
        "partition 1",
        "before offset 3",
        "earliest available offset is 4",
        "offset 3 to 3"
      )
        .foreach(part => assert(text(e).contains(part), text(e)))
      s.catchUp("failOnDataLoss" -> "false")
      assertSame(s.seen, all.filterNot(r => r.cluster == "blue" && r.partition == 1 && r.offset == 3L))
    }
  }

  test("records that expire in Kafka while the history is read are DATA_LOSS", TestAll) {
    twoClusters() { (s, topic, _, path) =>
      s.service.histories = history(path)
      s.inBatch = id => if (id == 0) expire(green, topic, 0 -> 4L)
      val e = refused(s.start(Trigger.AvailableNow(), "historyFilesPerTrigger" -> "1"))
      assert(condition(e) == "DATA_LOSS")
      Seq("'green'", "next offset to read is 3", "earliest available offset is 4")
        .foreach(part => assert(text(e).contains(part), text(e)))
    }
  }

  test("a history that cannot be planned is METADATA_INVALID with its path") {
    twoClusters() { (s, _, _, path) =>
      val missing = s.folder.resolve("missing")
      val noFiles = Files.createDirectory(s.folder.resolve("none"))
      Seq(
        history(missing) -> Seq(missing.toString, "does not exist"),
        history(path, "delta") -> Seq(path.toString, "'delta'", "'parquet'"),
        history(path, "iceberg") -> Seq(path.toString, "'iceberg'", "add Iceberg's runtime"),
        history(path, "orc") -> Seq(path.toString, "cannot be read"),
        history(noFiles) -> Seq(noFiles.toString, "cannot be read")
      ).foreach { case (histories, says) =>
        s.service.histories = histories
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == "METADATA_INVALID", text(e))
        (says :+ "stream 'orders'").foreach(part => assert(text(e).contains(part), text(e)))
      }
    }
  }

  test("rows that cannot be placed are METADATA_INVALID, columns that do not fit are INVALID_SCHEMA") {
    twoClusters() { (s, _, _, path) =>
      val frame = spark.read.parquet(path.toString)
      Seq(
        (
          "null",
          frame.withColumn("offset", lit(null).cast("long")),
          "METADATA_INVALID",
          "no value in column 'offset'"
        ),
        ("other", frame.withColumn("stream", lit("other")), "METADATA_INVALID", "stream 'other'"),
        (
          "text",
          frame.withColumn("value", col("value").cast("string")),
          "INVALID_SCHEMA",
          "no binary column 'value'"
        ),
        ("time", frame.drop("timestamp"), "INVALID_SCHEMA", "no column 'timestamp'"),
        ("type", frame.withColumn("partition", lit("0")), "INVALID_SCHEMA", "'partition' does not fit")
      ).foreach { case (name, bad, error, says) =>
        write(bad, s.folder.resolve(name))
        s.service.histories = history(s.folder.resolve(name))
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == error && text(e).contains(says), text(e))
      }
    }
  }

  test("dead letters of a cluster that is not in the metadata need another cluster, which is said", TestAll) {
    twoClusters() { (s, topic, _, path) =>
      s.orders(Entry("blue", blue, topic))
      s.service.histories = history(path)
      def letters(to: String, more: (String, String)*) =
        s.start(
          typed(s, more ++ Seq("parseErrors" -> "dead-letter", "deadLetterTopic" -> to): _*),
          Trigger.AvailableNow()
        )
      val e = refused(letters(newTopicOn(1, blue)))
      assert(condition(e) == "MISSING_OPTION")
      Seq("'green'", "'deadLetterCluster'").foreach(part => assert(text(e).contains(part), text(e)))
      val dead = newTopicOn(1, blue)
      letters(dead, "deadLetterCluster" -> "blue").awaitTermination()
      val from = blue.dump(dead).map(_.headers("dynamic-kafka-cluster"))
      assert(from.count(_ == "green") == 6 && from.count(_ == "blue") == 10)
    }
  }

  test("JSON with a damaged line fails the query") {
    twoClusters("json") { (s, _, _, path) =>
      Files.writeString(path.resolve("part-x.json"), "{\"value\": ")
      s.service.histories = history(path, "json")
      assert(condition(refused(s.start(Trigger.AvailableNow()))) == "METADATA_INVALID")
    }
  }

  test("a history that is added to a query that has started is ignored, with one line in the log") {
    twoClusters() { (s, topic, _, path) =>
      s.catchUp()
      val lines = Logs.during(classOf[HistoryBatches]) {
        s.service.histories = history(path)
        val query = s.start()
        settle(query)
        produce(blue, topic, 2, values("more", 2))
        settle(query)
      }
      assert(lines.size == 1 && lines.head.contains("history of stream 'orders'"), lines)
      assert(!s.seen.exists(_.value.startsWith("old")))
    }
  }

  test("a history without the decoded columns is INVALID_SCHEMA with their names") {
    twoClusters(change = _.drop("value")) { (s, _, _, path) =>
      s.service.histories = history(path)
      val e = refused(s.start(typed(s), Trigger.AvailableNow()))
      assert(condition(e) == "INVALID_SCHEMA")
      Seq("'id', 'name'", "binary column 'value'", path.toString).foreach(part =>
        assert(text(e).contains(part), text(e))
      )
    }
  }
}

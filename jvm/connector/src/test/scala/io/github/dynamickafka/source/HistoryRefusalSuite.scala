package io.github.dynamickafka.source

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.history.HistoryBatches
import io.github.dynamickafka.testkit.TestAll

/** Gaps between a history and Kafka, and histories that a query refuses. Other reasons are in `HistoryListingSuite`. */
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

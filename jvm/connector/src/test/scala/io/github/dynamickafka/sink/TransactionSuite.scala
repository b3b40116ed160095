package io.github.dynamickafka.sink

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.sink.commit.Journal
import io.github.dynamickafka.source.{Entry, Queries, Query, Target}
import io.github.dynamickafka.testkit.{InTestAll, TestAll}

class TransactionSuite extends TransactionTests

class OldBrokersTransactionSuite extends TransactionTests with OldBrokers with InTestAll

abstract class TransactionTests extends Queries {
  private def piped(body: (Target, Query, String, String) => Any): Unit = target { t =>
    scene { s =>
      val from = newTopicOn(2, blue)
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, from))
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      body(t, s, from, topic)
      ()
    }
  }

  private def both(topic: String): Seq[String] = (values(blue, topic) ++ values(green, topic)).sorted

  test("a batch that is written but not in Spark's commit log is not written again") {
    piped { (t, s, from, topic) =>
      produce(blue, from, 2, (0 until 10).map(_.toString))
      t.catchUp(s.frame().select("key", "value"), ExactlyOnce)
      t.uncommit()
      produce(blue, from, 2, (10 until 20).map(_.toString))
      // Whatever its name is now.
      t.catchUp(s.frame().select("key", "value"), ExactlyOnce, "queryName" -> "renamed")
      assert(both(topic) == (0 until 20).map(_.toString).sorted)
    }
  }

  test("without a journal entry it is written again, which shows that the test above can fail") {
    piped { (t, s, from, topic) =>
      produce(blue, from, 2, (0 until 10).map(_.toString))
      t.catchUp(s.frame().select("key", "value"))
      t.uncommit()
      t.catchUp(s.frame().select("key", "value"))
      assert(both(topic).size == 20)
    }
  }

  test("a checkpoint with a part that is older than the rest is an error") {
    piped { (t, s, from, _) =>
      (0 until 3).foreach { n =>
        produce(blue, from, 2, Seq(s"a$n", s"b$n"))
        t.catchUp(s.frame().select("key", "value"), ExactlyOnce)
      }
      // Two batches back, like a backup of Spark's own folders only.
      t.unlog()
      t.uncommit()
      val query = t.start(s.frame().select("key", "value"), Trigger.AvailableNow(), ExactlyOnce)
      eventually(assert(!query.isActive))
      assert(query.exception.exists(_.getMessage.contains("JOURNAL_CONFLICT")), query.exception)
    }
  }

  test("without checkpointLocation as an option it is refused, and the error says what to set") {
    piped { (t, s, from, _) =>
      produce(blue, from, 2, Seq("a"))
      val name = "spark.sql.streaming.checkpointLocation"
      spark.conf.set(name, t.checkpoint.toString)
      try {
        val query = s.frame().select("key", "value").writeStream.format("dynamic-kafka")
          .options(t.options(ExactlyOnce)).start()
        val e = failure(query)
        assert(condition(e) == "EXACTLY_ONCE_REFUSED" && text(e).contains("Set 'checkpointLocation'"))
      } finally spark.conf.unset(name)
    }
  }

  test("a transaction.timeout.ms above the brokers' limit is refused before anything is written") {
    piped { (t, s, from, topic) =>
      produce(blue, from, 2, Seq("a"))
      val query =
        t.start(s.frame().select("key", "value"), ExactlyOnce, "kafka.transaction.timeout.ms" -> "900001")
      val e = failure(query)
      assert(condition(e) == "INVALID_OPTION")
      assert(text(e).contains("the maximum of cluster 'blue' is 900000"), text(e))
      assert(both(topic).isEmpty)
    }
  }

  test("an unreachable cluster that takes no writes does not prevent a start") {
    piped { (t, s, from, topic) =>
      val dead = Entry("dead", Map("bootstrap.servers" -> "127.0.0.1:1"), Seq(topic)).readOnly
      t.out(Entry("blue", blue, topic), Entry("green", green, topic), dead)
      produce(blue, from, 2, Seq("a", "b"))
      t.catchUp(s.frame().select("key", "value"), ExactlyOnce, "clusterRequestTimeoutMs" -> "2000")
      assert(both(topic) == Seq("a", "b"))
    }
  }

  test("continuous processing is refused") {
    target { t =>
      t.out(Entry("blue", blue, newTopicOn(1, blue)))
      val rate = spark.readStream.format("rate").option("numPartitions", 1).load()
        .selectExpr("cast(value as string) as value")
      val query = t.start(rate, Trigger.Continuous("1 second"), ExactlyOnce)
      val e = failure(query)
      assert(condition(e) == "EXACTLY_ONCE_REFUSED" && text(e).contains("continuous processing"))
    }
  }

  test("asynchronous progress tracking is refused, and nothing is written") {
    piped { (t, s, from, topic) =>
      produce(blue, from, 2, Seq("a"))
      val tracking = "asyncProgressTrackingEnabled" -> "true"
      val refused = intercept[Exception] {
        t.start(s.frame().select("key", "value"), ExactlyOnce, tracking).processAllAvailable()
      }
      assert(refused.getMessage.contains("'asyncProgressTrackingEnabled' is not an option"), refused)
      assert(both(topic).isEmpty)
    }
  }

  test("a failed job leaves no visible record and no open transaction") {
    target { t =>
      val topic = newTopicOn(2, blue, green)
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      val failing = rows(0, 1000).repartition(4)
        .selectExpr("key", "if(value = '777', raise_error('no'), value) as value")
      intercept[Exception](t.save(failing, ExactlyOnce))
      assert(both(topic).isEmpty)
      // An open transaction would hide these records.
      Seq(blue, green).foreach(produce(_, topic, 2, Seq("after", "wards")))
      eventually(assert(both(topic) == Seq("after", "after", "wards", "wards")))
    }
  }

  test("a job without a location for its journal is refused, and nothing is written") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      val e = refused {
        rows(0, 1).write.format("dynamic-kafka").options(t.options(ExactlyOnce)).mode("append").save()
      }
      assert(condition(e) == "EXACTLY_ONCE_REFUSED" && text(e).contains("'checkpointLocation'"))
      assert(values(blue, topic).isEmpty)
    }
  }

  test("a job removes the journals of earlier jobs in its location", TestAll) {
    target { t =>
      val topic = newTopicOn(2, blue, green)
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      val place = newFolder()
      (0 until 3).foreach { n =>
        t.save(rows(n * 10, n * 10 + 10), ExactlyOnce, "checkpointLocation" -> place.toString)
      }
      assert(both(topic) == (0 until 30).map(_.toString).sorted)
      val journals = Files.list(place.resolve("dynamic-kafka-jobs")).iterator.asScala
        .filter(Files.isDirectory(_)).toSeq
      assert(journals.size == 1)
    }
  }

  test("the journal contains no secret, and no Kafka property that could be one") {
    target { t =>
      scene { s =>
        val from = newTopicOn(1, blue)
        val topic = newTopicOn(1, blue)
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic).and("sasl.jaas.config", "x required password=\"topsecret\";"))
        produce(blue, from, 1, Seq("a"))
        t.catchUp(s.frame().select("value"), ExactlyOnce, "kafka.ssl.key.password" -> "alsosecret")
        val journal = Files.readString(t.checkpoint.resolve(Journal.Folder).resolve("0-0.json"))
        assert(
          journal.contains("bootstrap.servers") && !journal.contains("secret") && !journal.contains("jaas")
        )
      }
    }
  }

  test("producers are reused from batch to batch", TestAll) {
    piped { (t, s, from, topic) =>
      val query = t.start(s.frame().select("key", "value"), ExactlyOnce)
      def threads = Thread.getAllStackTraces.keySet.asScala.count(_.getName.contains("dynamic-kafka-sink-"))
      (0 until 5).foreach { n =>
        produce(blue, from, 2, Seq(s"a$n", s"b$n"))
        settle(query)
      }
      val before = threads
      (5 until 25).foreach { n =>
        produce(blue, from, 2, Seq(s"a$n", s"b$n"))
        settle(query)
      }
      assert(both(topic).size == 50)
      assert(threads <= before + 2, s"$before producers before twenty batches, $threads after them")
    }
  }

  test("the threads of a query terminate with it") {
    piped { (t, s, from, _) =>
      produce(blue, from, 2, Seq("a"))
      val query = t.start(s.frame().select("key", "value"), ExactlyOnce)
      settle(query)
      val polling = t.service.threads.asScala.toSet
      assert(polling.exists(_.isAlive))
      query.stop()
      eventually(assert(!polling.exists(_.isAlive)))
    }
  }
}

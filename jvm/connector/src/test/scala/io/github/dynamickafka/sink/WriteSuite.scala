package io.github.dynamickafka.sink

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.source.{Entry, Queries}

class WriteSuite extends Queries {
  private val guarantees = Seq("none", "at-least-once", "exactly-once")

  /** The documented keys of the sink in the progress. */
  private val Keys =
    Set("kafkaClustersCount", "committedTransactions", "commitMs", "metadataAgeMs", "metadataFailures")

  test("two cluster ids that lead to one Kafka cluster: the transactions of a batch do not fence each other") {
    target { t =>
      val (one, two) = (newTopicOn(2, blue), newTopicOn(2, blue))
      t.out(Entry("one", blue, one), Entry("two", blue, two))
      Seq(0 until 40, 40 until 80).foreach(numbers =>
        t.save(rows(numbers.start, numbers.end), "deliveryGuarantee" -> "exactly-once")
      )
      val both = Seq(one, two).map(values(blue, _).map(_.toInt))
      assert(both.forall(_.nonEmpty) && both.flatten.sorted == (0 until 80))
    }
  }

  test("answers that lack two of three clusters are failures: all clusters get each record") {
    target { t =>
      scene { s =>
        val clusters = Seq(blue, green, red)
        val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, clusters: _*))
        s.orders(Entry("blue", blue, from))
        val all = clusters.map(c => Entry(c.name, c, topic))
        t.out(all: _*)
        val query = t.start(
          s.frame().select("key", "value"),
          "clusterRouting" -> "all",
          "streamMetadataDiscoveryFailureThreshold" -> "100000"
        )
        def written(numbers: Range): Unit = {
          produce(blue, from, 1, numbers.map(_.toString))
          settle(query)
        }
        written(0 until 10)
        t.change(all.take(1): _*)
        written(10 until 20)
        assert(query.lastProgress.sink.metrics.get("metadataFailures").toInt > 1)
        clusters.foreach(c => assert(values(c, topic).map(_.toInt).sorted == (0 until 20), c.name))
      }
    }
  }

  test(
    "one answer without a cluster is not believed by a job, if an earlier job of the driver has written to it"
  ) {
    target { t =>
      val topic = newTopicOn(1, blue, green)
      val both = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
      def save(from: Int): Unit = t.save(rows(from, from + 10), "clusterRouting" -> "all")
      t.out(both: _*)
      save(0)
      val answers = Iterator(both.take(1)) ++ Iterator.continually(both)
      t.service.behave = () => t.out(answers.next(): _*)
      save(10)
      t.service.behave = () => ()
      assert(Seq(blue, green).forall(values(_, topic).size == 20))
    }
  }

  test("complete mode: each batch appends all of its output rows") {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, blue))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic))
        val counts = s.frame().groupBy("topic").count().selectExpr("cast(count as string) as value")
        val query = counts.writeStream.format("dynamic-kafka").options(t.options()).outputMode("complete")
          .option("checkpointLocation", t.checkpoint.toString).start()
        try Seq("a", "b").foreach { value =>
            produce(blue, from, 1, Seq(value))
            settle(query)
          }
        finally query.stop()
        assert(values(blue, topic) == Seq("1", "2"))
      }
    }
  }

  test("while the metadata service fails, batches are written by its last answer, up to the threshold") {
    target { t =>
      scene { s =>
        val (from, topic) = (newTopicOn(1, blue), newTopicOn(1, blue))
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic))
        def started(threshold: Int) = t.start(
          s.frame().select("value"),
          "streamMetadataDiscoveryFailureThreshold" -> threshold.toString
        )
        def failing(): Unit = t.service.behave = () => throw new IllegalStateException("no metadata")
        def write(query: StreamingQuery, value: String): Unit = {
          produce(blue, from, 1, Seq(value))
          settle(query)
        }
        val patient = started(1000000)
        write(patient, "a")
        failing()
        write(patient, "b")
        patient.stop()
        t.service.behave = () => ()
        val strict = started(2)
        write(strict, "c")
        failing()
        val calls = t.service.callCount
        waitFor("four failures")(t.service.callCount >= calls + 4)
        produce(blue, from, 1, Seq("d"))
        assert(condition(failure(strict)) == "METADATA_UNAVAILABLE")
        assert(values(blue, topic) == Seq("a", "b", "c"))
      }
    }
  }

  // In Kafka clients up to 3.9.1 and 4.1.0, `flush` does not wait for the parts.
  guarantees.tail.foreach { guarantee =>
    test(s"$guarantee: all parts of a batch that is split are written before the job ends") {
      target { t =>
        val topic = newTopic("split")
        blue.createTopic(topic, 1, Map("max.message.bytes" -> "3000"))
        t.out(Entry("blue", blue, topic))
        // Rows that compress well, until the producer puts more rows into a batch than the topic takes of the last rows.
        val all = spark.range(0L, 4020L, 1L, 1).selectExpr(
          "concat(id, if(id < 4000, repeat('a', 200), concat(sha2(string(id), 512), sha2(string(-id), 512)))) as value"
        )
        t.save(
          all,
          "deliveryGuarantee" -> guarantee,
          "kafka.compression.type" -> "lz4",
          "kafka.batch.size" -> "1000",
          "kafka.linger.ms" -> "1000"
        )
        assert(values(blue, topic).toSet == all.collect().map(_.getString(0)).toSet)
      }
    }
  }

  guarantees.tail.foreach { guarantee =>
    test(s"$guarantee: a topic that takes less than a batch of the default size") {
      target { t =>
        val topic = newTopic("limited")
        blue.createTopic(topic, 1, Map("max.message.bytes" -> "20000"))
        t.out(Entry("blue", blue, topic))
        val all = spark.range(0L, 400L, 1L, 1).selectExpr("concat(id, repeat('a', 1000)) as value")
        t.save(all, "deliveryGuarantee" -> guarantee, "kafka.linger.ms" -> "1000")
        assert(values(blue, topic).size == 400)
      }
    }
  }

  guarantees.foreach { guarantee =>
    test(s"$guarantee: a job writes each record once, and equal keys to the same cluster") {
      target { t =>
        val topic = newTopicOn(3, blue, green)
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        t.save(rows(0, 100), "deliveryGuarantee" -> guarantee)
        t.save(rows(100, 200), "deliveryGuarantee" -> guarantee)
        eventually(assert(
          (values(blue, topic) ++ values(green, topic)).sorted == (0 until 200).map(_.toString).sorted
        ))
        val keys = Seq(blue, green).map(committed(_, topic).flatMap(_.key).toSet)
        assert(keys.forall(_.nonEmpty) && keys.head.intersect(keys(1)).isEmpty)
      }
    }

    test(s"$guarantee: a query writes each record once") {
      target { t =>
        scene { s =>
          val from = newTopicOn(2, blue)
          val topic = newTopicOn(3, blue, green)
          s.orders(Entry("blue", blue, from))
          t.out(Entry("blue", blue, topic), Entry("green", green, topic))
          produce(blue, from, 2, (0 until 50).map(_.toString))
          val query = t.start(s.frame().select("key", "value"), "deliveryGuarantee" -> guarantee)
          settle(query)
          produce(blue, from, 2, (50 until 100).map(_.toString))
          settle(query)
          assert(query.lastProgress.sink.description == "dynamic-kafka")
          val metrics = query.lastProgress.sink.metrics.asScala
          assert(metrics.keySet == Keys && metrics("kafkaClustersCount") == "2", metrics)
          assert((metrics("committedTransactions") != "0") == (guarantee == "exactly-once"), metrics)
          eventually(assert(
            (values(blue, topic) ++ values(green, topic)).sorted == (0 until 100).map(_.toString).sorted
          ))
        }
      }
    }
  }
}

package io.github.dynamickafka.sink

import org.apache.spark.sql.{AnalysisException, DataFrame}

import io.github.dynamickafka.error.DynamicKafkaError
import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.KafkaCluster

class RoutingSuite extends Queries {

  private def sql(text: String): DataFrame = spark.sql(text)

  /** The error of a task, which Spark reports as the text of another exception. */
  private def failure(body: => Any): Throwable =
    try {
      body
      fail("not refused")
    } catch {
      case e: Exception =>
        Iterator.iterate[Throwable](e)(_.getCause).takeWhile(_ != null)
          .find(c => c.isInstanceOf[DynamicKafkaError] || c.getCause == null).getOrElse(e)
    }

  private def headers(cluster: KafkaCluster, topic: String): Seq[Map[String, String]] =
    committed(cluster, topic).map(_.headers)

  test("all: every cluster has every record") {
    target { t =>
      val topic = newTopicOn(2, blue, green)
      t.out(Entry("blue", blue, topic), Entry("green", green, topic))
      t.save(rows(0, 20), "clusterRouting" -> "all")
      Seq(blue, green).foreach(c => assert(values(c, topic) == (0 until 20).map(_.toString).sorted))
    }
  }

  test("a partition that was just added is written to, although a producer knows the topic without it") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      Seq("at-least-once", "exactly-once").zipWithIndex.foreach { case (guarantee, i) =>
        val options = "deliveryGuarantee" -> guarantee
        t.save(spark.range(1).selectExpr("'a' AS value", s"$i AS partition"), options)
        blue.addPartitions(topic, i + 2)
        t.save(spark.range(1).selectExpr("'b' AS value", s"${i + 1} AS partition"), options)
      }
      assert(committed(blue, topic).map(r => r.partition -> r.value).toSet ==
        Set(0 -> "a", 1 -> "b", 1 -> "a", 2 -> "b"))
    }
  }

  test("first: the first cluster in the metadata; another order applies from the next batch on") {
    target { t =>
      scene { s =>
        val from = newTopicOn(1, blue)
        val topic = newTopicOn(1, blue, green)
        s.orders(Entry("blue", blue, from))
        t.out(Entry("green", green, topic), Entry("blue", blue, topic))
        produce(blue, from, 1, Seq("a"))
        val query = t.start(s.frame().select("value"), "clusterRouting" -> "first")
        settle(query)
        t.change(Entry("blue", blue, topic), Entry("green", green, topic))
        produce(blue, from, 1, Seq("b"))
        settle(query)
        assert(values(green, topic) == Seq("a") && values(blue, topic) == Seq("b"))
      }
    }
  }

  test("a draining cluster takes no writes from the next batch on; an added cluster takes writes") {
    target { t =>
      scene { s =>
        val from = newTopicOn(1, blue)
        val topic = newTopicOn(1, blue, green)
        s.orders(Entry("blue", blue, from))
        t.out(Entry("blue", blue, topic))
        produce(blue, from, 1, Seq("a"))
        val query = t.start(s.frame().select("key", "value"), "deliveryGuarantee" -> "exactly-once")
        settle(query)
        t.change(Entry("blue", blue, topic).draining, Entry("green", green, topic))
        produce(blue, from, 1, Seq("b", "c", "d"))
        settle(query)
        assert(values(blue, topic) == Seq("a") && values(green, topic) == Seq("b", "c", "d"))
      }
    }
  }

  test("stream, cluster, topic and partition of the row; key, headers and timestamp") {
    target { t =>
      val (one, two) = (newTopicOn(3, blue, green), newTopicOn(3, blue, green))
      t.streams(
        "out" -> Seq(Entry("blue", blue, one, two), Entry("green", green, one, two)),
        "other" -> Seq(Entry("green", green, two))
      )
      t.save(sql(
        s"""select cast(k as binary) as key, v as value, s as stream, c as cluster, t as topic, p as partition,
           |  array(named_struct('key', 'h', 'value', cast(v as binary))) as headers,
           |  timestamp_millis(1700000000123) as timestamp
           |from values ('k1', 'a', null, 'blue', '$one', 2), ('k2', 'b', 'out', 'green', '$two', 0),
           |  (null, 'c', 'other', null, null, 1) as rows(k, v, s, c, t, p)""".stripMargin
      ))
      val found = Seq(blue -> one, blue -> two, green -> one, green -> two).map { case (c, topic) =>
        committed(c, topic).map(r => (r.key, r.value, r.partition, r.headers, r.timestamp))
      }
      val time = 1700000000123L
      assert(found == Seq(
        Seq((Some("k1"), "a", 2, Map("h" -> "a"), time)),
        Nil,
        Nil,
        Seq((Some("k2"), "b", 0, Map("h" -> "b"), time), (None, "c", 1, Map("h" -> "c"), time))
      ))
    }
  }

  test("a tombstone") {
    target { t =>
      val topic = newTopicOn(1, blue)
      t.out(Entry("blue", blue, topic))
      t.save(sql("select 'k' as key, cast(null as string) as value"))
      assert(committed(blue, topic).map(r => r.key -> r.value) == Seq(Some("k") -> null))
    }
  }

  for (guarantee <- Seq("at-least-once", "exactly-once"))
    test(
      s"$guarantee: rows that brokers refuse are dead letters, and the other rows of their batches are written"
    ) {
      target { t =>
        val (topic, dead) = (newTopic("compacted"), newTopicOn(1, blue))
        blue.createTopic(topic, 1, Map("cleanup.policy" -> "compact"))
        t.out(Entry("blue", blue, topic))
        val all = spark.range(0L, 30L, 1L, 1).selectExpr(
          "if(id = 7, null, concat('k', id)) as key",
          "cast(id as string) as value",
          "if(id = 11, current_timestamp() + interval 3 hours, current_timestamp()) as timestamp"
        )
        val options = Seq("deliveryGuarantee" -> guarantee, "kafka.linger.ms" -> "1000")
        assert(failure(t.save(all, options: _*)).getMessage.contains("WRITE_FAILED"))
        t.save(all, options :+ ("deadLetterTopic" -> dead): _*)
        assert(values(blue, topic).map(_.toInt).toSet == (0 until 30).toSet - 7 - 11)
        assert(values(blue, dead) == Seq("11", "7"))
        assert(headers(blue, dead).forall(h =>
          h("dynamic-kafka-topic") == topic && h("dynamic-kafka-cluster") == "blue" &&
            h("dynamic-kafka-stream") == "out"
        ))
      }
    }

  Seq("at-least-once", "exactly-once").foreach { guarantee =>
    test(s"$guarantee: a row that cannot be routed fails the job with the reason") {
      target { t =>
        val topic = newTopicOn(1, blue)
        t.out(Entry("blue", blue, topic))
        Seq(
          "'x' as cluster" -> "(stream 'out', cluster 'x', topic -): the cluster does not belong to the stream",
          "'y' as topic" -> "(stream 'out', cluster 'blue', topic 'y'): the topic does not belong to the stream",
          "'z' as stream" -> "(stream 'z', cluster -, topic -): the metadata has no stream 'z'",
          "7 as partition" -> s"cluster 'blue', topic '$topic'): partition 7 does not exist: the topic has 1"
        ).foreach { case (column, text) =>
          val e = failure(t.save(sql(s"select 'v' as value, $column"), "deliveryGuarantee" -> guarantee))
          assert(e.getMessage.contains("UNROUTABLE_ROW") && e.getMessage.contains(text), e.getMessage)
        }
        assert(values(blue, topic).isEmpty)
      }
    }

    test(s"$guarantee: a row that Kafka does not accept is a dead letter, or fails the job with the reason") {
      target { t =>
        val (topic, dead) = (newTopicOn(1, blue), newTopicOn(1, blue))
        t.out(Entry("blue", blue, topic))
        val bad = sql(
          """select v as value, timestamp_millis(ms) as timestamp,
            |  array(named_struct('key', h, 'value', cast('x' as binary))) as headers
            |from values ('good', -1, 'h'), ('old', -2, 'h'), ('bare', 5, null) as rows(v, ms, h)""".stripMargin
        )
        val e = failure(t.save(bad, "deliveryGuarantee" -> guarantee))
        assert(
          e.getMessage.contains("UNROUTABLE_ROW") && e.getMessage.contains(s"cluster 'blue', topic '$topic'")
        )
        t.save(bad, "deliveryGuarantee" -> guarantee, "deadLetterTopic" -> dead)
        assert(values(blue, topic).contains("good") && values(blue, dead) == Seq("bare", "old"))
        val reasons = headers(blue, dead).map(_("dynamic-kafka-reason")).sorted
        assert(reasons.exists(_.contains("has no key")) && reasons.exists(_.contains("-2 ms")), reasons)
      }
    }

    test(s"$guarantee: a row that cannot be routed is written to the dead letter topic, with the reason") {
      target { t =>
        val topic = newTopicOn(1, blue, green)
        val dead = newTopicOn(1, blue, green)
        t.out(Entry("blue", blue, topic), Entry("green", green, topic))
        t.save(
          sql(
            """select v as value, c as cluster, t as topic from values ('good', 'blue', null), ('lost', 'x', null),
              |  ('odd', 'green', 'y') as rows(v, c, t)""".stripMargin
          ),
          "deliveryGuarantee" -> guarantee,
          "deadLetterTopic" -> dead,
          "deadLetterCluster" -> "blue"
        )
        assert(values(blue, topic) == Seq("good") && values(green, topic).isEmpty)
        assert(values(blue, dead) == Seq("lost") && values(green, dead) == Seq("odd"))
        val why = headers(blue, dead).head
        assert(why("dynamic-kafka-stream") == "out" && why("dynamic-kafka-cluster") == "x")
        assert(headers(green, dead).head("dynamic-kafka-topic") == "y")
        assert(headers(
          green,
          dead
        ).head("dynamic-kafka-reason").contains("the topic does not belong to the stream"))
      }
    }
  }

  test(
    "the cluster of dead letters drains while the query runs: the row fails it, and is written when the cluster is back"
  ) {
    target { t =>
      scene { s =>
        val (from, topic, dead) =
          (newTopicOn(1, blue), newTopicOn(1, blue, green), newTopicOn(1, blue, green))
        val both = Seq(Entry("blue", blue, topic), Entry("green", green, topic))
        s.orders(Entry("blue", blue, from))
        t.out(both: _*)
        val frame = s.frame().selectExpr("cast(value as string) as value")
          .selectExpr("value", "if(value = 'good', 'blue', 'x') as cluster")
        val options = Seq(
          "deliveryGuarantee" -> "exactly-once",
          "deadLetterTopic" -> dead,
          "deadLetterCluster" -> "green"
        )
        val query = t.start(frame, options: _*)
        produce(blue, from, 1, Seq("good", "first"))
        settle(query)
        assert(values(green, dead) == Seq("first"))
        t.change(both.head, both.last.draining)
        produce(blue, from, 1, Seq("good"))
        settle(query)
        produce(blue, from, 1, Seq("second"))
        waitFor("the row fails the query")(query.exception.isDefined)
        val text = query.exception.fold("")(_.toString)
        assert(text.contains("UNROUTABLE_ROW") && text.contains("'deadLetterCluster' is 'green', but"), text)
        assert(values(blue, dead).isEmpty && values(green, dead) == Seq("first"))
        t.out(both: _*)
        t.catchUp(frame, options: _*)
        assert(values(green, dead) == Seq("first", "second") && values(blue, topic) == Seq("good", "good"))
      }
    }
  }

  test("fixed and round-robin") {
    target { t =>
      val topic = newTopicOn(3, blue)
      t.out(Entry("blue", blue, topic))
      t.save(rows(0, 30).coalesce(1), "partitioner" -> "fixed")
      assert(committed(blue, topic).map(_.partition).distinct == Seq(0))
      t.save(rows(30, 60).coalesce(1), "partitioner" -> "round-robin")
      val counts = committed(blue, topic).groupBy(_.partition).map { case (p, of) => p -> of.size }
      assert(counts == Map(0 -> 40, 1 -> 10, 2 -> 10))
    }
  }

  test("a custom partitioner") {
    target { t =>
      val topic = newTopicOn(3, blue)
      t.out(Entry("blue", blue, topic))
      t.save(rows(0, 10), "partitioner" -> classOf[LastPartition].getName)
      assert(committed(blue, topic).map(_.partition).distinct == Seq(2))
    }
  }

  test("a missing topic: the error names cluster and topic") {
    target { t =>
      t.out(Entry("blue", blue, newTopic()))
      val e = failure(t.save(rows(0, 1), "kafka.max.block.ms" -> "500"))
      assert(e.getMessage.contains("WRITE_FAILED") && e.getMessage.contains("cluster 'blue'"), e.getMessage)
    }
  }

  test("session defaults for reading do not affect writing") {
    val name = "spark.datasource.dynamic-kafka.streamIds"
    spark.conf.set(name, "orders")
    try target { t =>
        val topic = newTopicOn(1, blue)
        t.out(Entry("blue", blue, topic))
        t.save(rows(0, 3))
        assert(values(blue, topic) == Seq("0", "1", "2"))
      }
    finally spark.conf.unset(name)
  }

  test("a job in a mode other than append is refused") {
    target { t =>
      t.out(Entry("blue", blue, "t"))
      Seq(
        "overwrite" -> "TRUNCATE",
        "ignore" -> "\"ignore\" mode",
        "error" -> "\"ErrorIfExists\" mode"
      ).foreach {
        case (mode, text) =>
          val e = intercept[AnalysisException](
            rows(0, 1).write.format("dynamic-kafka").options(t.options()).mode(mode).save()
          )
          assert(e.getMessage.toLowerCase.contains(text.toLowerCase), e.getMessage)
      }
    }
  }
}

/** Puts every record into the last partition. */
final class LastPartition extends org.apache.kafka.clients.producer.Partitioner {
  override def partition(
      topic: String,
      key: Any,
      keyBytes: Array[Byte],
      value: Any,
      valueBytes: Array[Byte],
      cluster: org.apache.kafka.common.Cluster
  ): Int = cluster.partitionCountForTopic(topic) - 1
  override def close(): Unit = ()
  override def configure(configs: java.util.Map[String, _]): Unit = ()
}

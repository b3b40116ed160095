package io.github.dynamickafka.source.cluster

import java.time.Duration
import java.util.concurrent.{CountDownLatch, TimeUnit}
import java.{util => ju}

import scala.annotation.nowarn
import scala.concurrent.duration.DurationInt
import scala.jdk.CollectionConverters._

import org.apache.kafka.clients.consumer.KafkaConsumer
import org.apache.kafka.common.serialization.ByteArrayDeserializer
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.{StreamingQuery, Trigger}

import io.github.dynamickafka.source.{Entry, Logs, Queries, Query}
import io.github.dynamickafka.testkit.{KafkaCluster, TestAll}

/** Offsets of finished batches in a consumer group of each cluster, for tools that show lag. */
class CommitSuite extends Queries {

  private def committing(group: String) = Seq("commitOffsets" -> "true", "commitGroupId" -> group)

  private def withTopic(records: Int)(body: (Query, String, String) => Any): Any =
    onBoth(values("v", records))((s, topic) => body(s, topic, s"group-$topic"))

  private def group(cluster: KafkaCluster, name: String, topic: String): Map[Int, Long] =
    cluster.committedOffsets(name).getOrElse(topic, Map.empty)

  /** Compares the group's offsets with the end offsets, as Kafka's own tools do. */
  private def assertAtEnd(name: String, topic: String, clusters: KafkaCluster*): Unit = clusters.foreach { c =>
    eventually(assert(group(c, name, topic) == c.endOffsets(topic), c.name))
  }

  /** Starts a query that calls `body` in each batch. */
  private def sink(s: Query, trigger: Trigger, options: Seq[(String, String)])(
      body: (DataFrame, Long) => Unit
  ): StreamingQuery =
    s.frame(options: _*).writeStream
      .foreachBatch { (rows: DataFrame, id: Long) =>
        rows.collect()
        body(rows, id)
      }
      .option("checkpointLocation", s.checkpoint.toString).trigger(trigger).start()

  test("AvailableNow: the last batch is committed, and a query with startingOffsets=committed starts there") {
    withTopic(10) { (s, topic, name) =>
      s.catchUp(committing(name) :+ ("maxOffsetsPerTrigger" -> "7"): _*)
      assertAtEnd(name, topic, blue, green)
      val before = storedOnBoth(topic)
      assertSame(s.seen, before)
      produce(blue, topic, 2, values("more", 3))
      scene { other =>
        other.orders(Entry("blue", blue, topic), Entry("green", green, topic))
        other.catchUp("startingOffsets" -> "committed", "commitGroupId" -> name)
        assertSame(other.seen, stored("blue", blue, topic).diff(before))
      }
    }
  }

  test("Once: its only batch is committed", TestAll) {
    withTopic(3) { (s, topic, name) =>
      @nowarn("cat=deprecation") val once = Trigger.Once()
      assert(s.start(once, committing(name): _*).awaitTermination(600000))
      assertAtEnd(name, topic, blue, green)
    }
  }

  test("a query that is stopped between two triggers has committed its last batch") {
    withTopic(4) { (s, topic, name) =>
      val query = s.start(Trigger.ProcessingTime("1 hour"), committing(name): _*)
      eventually(assert(s.seen.size == 8))
      eventually(assert(query.lastProgress != null))
      query.stop()
      assertAtEnd(name, topic, blue, green)
    }
  }

  test("without commitGroupId: the group kafka.group.id, without a suffix") {
    withTopic(2) { (s, topic, name) =>
      s.catchUp("commitOffsets" -> "true", "kafka.group.id" -> name)
      assertAtEnd(name, topic, blue, green)
    }
  }

  test(
    "a batch that is not finished is not committed: while it runs, by stop(), or when it fails"
  ) {
    withTopic(4) { (s, topic, name) =>
      val options = committing(name)
      sink(s, Trigger.AvailableNow(), options)((_, _) => ()).awaitTermination(600000)
      assertAtEnd(name, topic, blue, green)
      val finished = group(blue, name, topic)
      val begun = new CountDownLatch(1)
      produce(blue, topic, 2, values("more", 4))
      val blocked = sink(s, Continuous, options) { (_, _) =>
        begun.countDown()
        new CountDownLatch(1).await()
      }
      assert(begun.await(600, TimeUnit.SECONDS))
      blocked.stop()
      assert(group(blue, name, topic) == finished)
      // The batch is in the offset log, and a restart begins with it.
      val failing = sink(s, Continuous, options)((_, _) => throw new IllegalStateException("the sink fails"))
      eventually(assert(failing.exception.isDefined))
      assert(group(blue, name, topic) == finished)
      sink(s, Trigger.AvailableNow(), options)((_, _) => ()).awaitTermination(600000)
      assertAtEnd(name, topic, blue, green)
    }
  }

  test("batch 0 is not committed before it is finished, although its start is known") {
    withTopic(4) { (s, topic, name) =>
      val begun = new CountDownLatch(1)
      val query = sink(s, Continuous, committing(name) :+ ("startingOffsets" -> "latest")) { (_, _) =>
        begun.countDown()
        new CountDownLatch(1).await()
      }
      assert(begun.await(600, TimeUnit.SECONDS))
      query.stop()
      assert(group(blue, name, topic).isEmpty && group(green, name, topic).isEmpty)
    }
  }

  test("a restart commits what a crash prevented") {
    withTopic(4) { (s, topic, name) =>
      // Without commits, as if the process had died before it sent them.
      s.catchUp()
      assert(group(blue, name, topic).isEmpty)
      s.catchUp(committing(name): _*)
      assertAtEnd(name, topic, blue, green)
    }
  }

  test(
    "the last batch of a removed cluster is committed, and commits resume when it is added again",
    TestAll
  ) {
    withTopic(4) { (s, topic, name) =>
      val query = s.start(committing(name): _*)
      settle(query)
      s.change(Entry("blue", blue, topic))
      settle(query)
      assertAtEnd(name, topic, green)
      val left = group(green, name, topic)
      Seq(blue, green).foreach(produce(_, topic, 2, values("more", 4)))
      settle(query)
      assertAtEnd(name, topic, blue)
      assert(group(green, name, topic) == left)
      s.change(Entry("blue", blue, topic), Entry("green", green, topic))
      settle(query)
      assertAtEnd(name, topic, blue, green)
      eventually {
        val metrics = s.metrics(query)
        assert(metrics("commitsSucceeded").toLong >= 4 && metrics("commitsFailed") == "0", metrics)
      }
    }
  }

  test("a frozen broker blocks neither batches nor stop(): its commit waits in the background") {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      val name = s"group-$topic"
      Seq(green, red).foreach(produce(_, topic, 1, values("a", 3)))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      // Longer than the test: a query that waits for the commit does not make progress within it.
      val options = committing(name) :+ ("clusterRequestTimeoutMs" -> "600000")
      // Red is removed, so that red only has to answer the commit of its last batch.
      val query = sink(s, Continuous, options) { (_, id) =>
        if (id == 0) {
          s.change(Entry("green", green, topic))
          red.freeze()
        }
      }
      try {
        (1 to 3).foreach { i =>
          produce(green, topic, 1, values(s"more$i", 2))
          assertAtEnd(name, topic, green)
        }
        stopWithin(30.seconds)(query)
      } finally red.thaw()
      // The commit was pending all the time.
      assertAtEnd(name, topic, red)
    }
  }

  test("stop() does not wait for the commit to a frozen broker of the topology") {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      val name = s"group-$topic"
      Seq(green, red).foreach(produce(_, topic, 1, values("a", 3)))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      // Longer than the test: without stop(), the commit stays pending.
      val options = committing(name) :+ ("clusterRequestTimeoutMs" -> "600000")
      val query = sink(s, Continuous, options)((_, id) => if (id == 0) red.freeze())
      try {
        // Green has answered, so the commit to red has been sent as well.
        assertAtEnd(name, topic, green)
        stopWithin(30.seconds)(query)
        assert(query.exception.isEmpty)
      } finally red.thaw()
      // The commit was pending, and a client is not closed before it.
      assertAtEnd(name, topic, red)
    }
  }

  test("commits to a frozen broker fail and are counted", TestAll) {
    scene { s =>
      val topic = newTopicOn(1, green, red)
      val name = s"group-$topic"
      Seq(green, red).foreach(produce(_, topic, 1, values("a", 3)))
      s.orders(Entry("green", green, topic), Entry("red", red, topic))
      val options =
        committing(name) ++ Seq("clusterFailurePolicy" -> "skip", "clusterRequestTimeoutMs" -> "5000")
      val query = sink(s, Continuous, options)((_, id) => if (id == 0) red.freeze())
      try {
        assertAtEnd(name, topic, green)
        def metric(key: String) = s.metrics(query).getOrElse(key, "0").toLong
        (1 to 3).foreach { i =>
          produce(green, topic, 1, values(s"more$i", 2))
          assertAtEnd(name, topic, green)
        }
        produce(green, topic, 1, values("last", 1))
        eventually {
          produce(green, topic, 1, values("tick", 1))
          assert(metric("commitsFailed") >= 1 && metric("commitsSucceeded") >= 1)
        }
        assert(query.isActive)
        query.stop()
      } finally red.thaw()
      // The next run commits what is finished, even if there is nothing new to read.
      sink(s, Trigger.AvailableNow(), options)((_, _) => ()).awaitTermination(600000)
      assertAtEnd(name, topic, green, red)
    }
  }

  test("a group with active members rejects offsets: counted and logged, and the query continues") {
    withTopic(2) { (s, topic, name) =>
      val settings = Map[String, AnyRef](
        "bootstrap.servers" -> blue.bootstrapServers,
        "group.id" -> name,
        "enable.auto.commit" -> "false",
        "key.deserializer" -> classOf[ByteArrayDeserializer].getName,
        "value.deserializer" -> classOf[ByteArrayDeserializer].getName
      )
      val member = new KafkaConsumer[Array[Byte], Array[Byte]](settings.asJava)
      try {
        member.subscribe(ju.List.of(topic))
        eventually {
          member.poll(Duration.ofMillis(100))
          assert(!member.assignment.isEmpty)
        }
        val lines = Logs.during(classOf[CommitCounter]) {
          val query = s.start(committing(name): _*)
          eventually {
            produce(green, topic, 2, values("tick", 1))
            settle(query)
            assert(s.metrics(query)("commitsFailed").toLong >= 1L)
          }
          assertAtEnd(name, topic, green)
          assert(query.isActive && group(blue, name, topic).isEmpty)
        }
        assert(lines.exists(line => line.contains("'blue'") && line.contains("has active members")), lines)
        assertSame(s.seen, storedOnBoth(topic))
      } finally member.close()
    }
  }
}

package io.github.dynamickafka.source.subscription

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Results}
import io.github.dynamickafka.testkit.TestAll

/** Streams by id and by pattern, and streams and cluster ids that overlap. */
class SubscriptionSuite extends Queries {

  test("two streams name the same topic of a cluster: read once, for the first stream in sorted order") {
    scene { s =>
      val (shared, own) = (newTopicOn(2, blue), newTopicOn(1, blue))
      produce(blue, shared, 2, values("s", 6))
      produce(blue, own, 1, values("o", 3))
      s.service.streams =
        Map("orders" -> Seq(Entry("blue", blue, shared, own)), "audit" -> Seq(Entry("blue", blue, shared)))
      s.catchUp("streamIds" -> "orders;audit")
      assertSame(s.seen, stored("blue", blue, shared, "audit") ++ stored("blue", blue, own, "orders"))
    }
  }

  test("a topic that one of two streams drops is still read exactly, and drains only if both drain it") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      val entry = Entry("blue", blue, topic)
      produce(blue, topic, 1, values("a", 3))
      s.service.streams = Map("audit" -> Seq(entry.draining), "orders" -> Seq(entry))
      val query = s.start("streamIds" -> "orders,audit")
      settle(query)
      produce(blue, topic, 1, values("b", 3))
      settle(query)
      assert(s.logged.draining.isEmpty && s.seen.forall(_.stream == "audit"))
      s.service.streams =
        Map("audit" -> Seq(Entry("green", green, newTopicOn(1, green))), "orders" -> Seq(entry))
      s.service.awaitAnswers()
      // A trigger that has begun before still has the former topology.
      settle(query)
      produce(blue, topic, 1, values("c", 3))
      settle(query)
      assert(s.seen.map(_.offset) == (0L until 9L))
      assert(s.seen.filter(_.offset >= 6).forall(_.stream == "orders"))
    }
  }

  test("two ids of one Kafka cluster that share a topic are refused, at the start and later") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("one", blue, topic), Entry("two", blue, topic))
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "DUPLICATE_CLUSTER")
      assert(Seq("one", "two", topic).forall(text(e).contains))
    }
    scene { s =>
      val topic = newTopicOn(1, blue)
      s.orders(Entry("one", blue, topic))
      val query = s.start()
      settle(query)
      s.orders(Entry("one", blue, topic), Entry("two", blue, topic))
      val e = failure(query)
      assert(condition(e) == "DUPLICATE_CLUSTER")
      assert(s.logged.clusters.keySet == Set("one"), "nothing of the second id was logged")
    }
  }

  test("allowDuplicateClusters reads the topic twice; ids that share no topic are always accepted") {
    scene { s =>
      val topic = newTopicOn(2, blue)
      produce(blue, topic, 2, values("v", 6))
      s.orders(Entry("one", blue, topic), Entry("two", blue, topic))
      s.catchUp("allowDuplicateClusters" -> "true", "kafka.group.id" -> "same")
      assertSame(s.seen, stored("one", blue, topic) ++ stored("two", blue, topic))
    }
    scene { s =>
      val (a, b) = (newTopicOn(1, blue), newTopicOn(1, blue))
      Seq(a, b).foreach(produce(blue, _, 1, values("v", 3)))
      s.orders(Entry("one", blue, a), Entry("two", blue, b))
      s.catchUp()
      assertSame(s.seen, stored("one", blue, a) ++ stored("two", blue, b))
    }
  }

  test("a pattern is matched in full, and streams are added and removed as they match") {
    scene { s =>
      val topics = (1 to 4).map(_ => newTopicOn(1, blue))
      topics.foreach(produce(blue, _, 1, values("v", 2)))
      def stream(id: String, n: Int) = id -> Seq(Entry("blue", blue, topics(n)))
      s.service.streams = Map(stream("orders-eu", 0), stream("reorders-eu", 1), stream("orders-eu-old", 2))
      val query = s.start("streamPattern" -> "orders-[a-z]{2}")
      settle(query)
      assertSame(s.seen, stored("blue", blue, topics(0), "orders-eu"))
      s.service.streams = s.service.streams + ("orders-us" -> Seq(Entry("green", green, topics(3))))
      green.createTopic(topics(3))
      produce(green, topics(3), 1, values("us", 4))
      s.service.awaitAnswers()
      settle(query)
      val us = stored("green", green, topics(3), "orders-us")
      assertSame(s.seen, stored("blue", blue, topics(0), "orders-eu") ++ us)
      s.service.streams = s.service.streams - "orders-eu"
      s.service.awaitAnswers()
      produce(blue, topics(0), 1, values("left", 2))
      settle(query)
      assert(s.logged.retained.keySet == Set("blue"))
      assertSame(s.seen, stored("blue", blue, topics(0), "orders-eu").take(2) ++ us)
      s.service.streams = s.service.streams + stream("orders-eu", 0)
      s.service.awaitAnswers()
      settle(query)
      assertSame(s.seen, stored("blue", blue, topics(0), "orders-eu") ++ us)
    }
  }

  test("cluster a with topic b-c is not cluster a-b with topic c") {
    scene { s =>
      green.createTopic("c")
      blue.createTopic("b-c")
      produce(blue, "b-c", 1, values("blue", 5))
      produce(green, "c", 1, values("green", 3))
      s.orders(Entry("a", blue, "b-c"), Entry("a-b", green, "c"))
      s.catchUp("kafka.group.id" -> "same")
      produce(blue, "b-c", 1, values("more", 1))
      produce(green, "c", 1, values("more", 4))
      s.catchUp("kafka.group.id" -> "same")
      assertSame(s.seen, stored("a", blue, "b-c") ++ stored("a-b", green, "c"))
    }
  }

  test("cluster ids are opaque: letter case, dots, options of a longer id") {
    scene { s =>
      val (one, two, three) = (newTopicOn(1, blue), newTopicOn(1, blue), newTopicOn(1, blue))
      Seq(one, two, three).foreach(produce(blue, _, 1, values("v", 3)))
      s.orders(Entry("EU", blue, one), Entry("eu", blue, two), Entry("eu.kafka", blue, three))
      s.catchUp("cluster.EU.startingOffsets" -> "latest", "cluster.eu.kafka.startingOffsets" -> "latest")
      assertSame(s.seen, stored("eu", blue, two))
    }
  }

  test("the same topic on two clusters, with kafka.group.id: consumers are not mixed up in any batch") {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      s.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      Seq(blue, green).foreach(produce(_, topic, 2, values("before", 2)))
      val before = storedOnBoth(topic)
      val query = s.start("kafka.group.id" -> "of-the-user", "startingOffsets" -> "latest")
      settle(query)
      (0 until 4).foreach { i =>
        produce(blue, topic, 2, values(s"b$i-", 4))
        produce(green, topic, 2, values(s"g$i-", 6))
        settle(query)
        assertSame(s.seen, storedOnBoth(topic).diff(before))
      }
    }
  }

  test("single-cluster: each topic of the cluster is a stream") {
    val (one, two) = (newTopicOn(2, blue), newTopicOn(1, blue))
    produce(blue, one, 2, values("v", 5))
    produce(blue, two, 1, values("w", 3))
    val results = new Results(newFolder().resolve("checkpoint"))
    val frame = spark.readStream.format("dynamic-kafka")
      .option("metadataService", "single-cluster")
      .option("metadataService.clusterId", "blue")
      .option("metadataService.bootstrapServers", blue.bootstrapServers)
      .option("streamIds", s"$one;$two")
      .load()
    assert(results.start(frame, Trigger.AvailableNow()).awaitTermination(300000))
    assertSame(results.seen, stored("blue", blue, one, one) ++ stored("blue", blue, two, two))
  }

  test("single-cluster with a pattern: a topic is deleted, and the query continues without it", TestAll) {
    val prefix = newTopic("pattern")
    val (kept, deleted) = (s"$prefix-kept", s"$prefix-deleted")
    Seq(kept, deleted).foreach(blue.createTopic(_, 1))
    Seq(kept, deleted).foreach(produce(blue, _, 1, values("v", 3)))
    val results = new Results(newFolder().resolve("checkpoint"))
    val frame = spark.readStream.format("dynamic-kafka")
      .option("metadataService", "single-cluster")
      .option("metadataService.clusterId", "blue")
      .option("metadataService.bootstrapServers", blue.bootstrapServers)
      .option("streamPattern", s"$prefix-.*")
      // Longer than a topic may be missing.
      .option("streamMetadataDiscoveryIntervalMs", "6000")
      .options(Asking)
      .load()
    val query = results.start(frame)
    waitFor("all records")(results.seen.size == 6)
    blue.deleteTopic(deleted)
    waitFor("a batch without the topic") {
      produce(blue, kept, 1, values("w", 1))
      !query.isActive || !results.logged.position("blue").topics(deleted)
    }
    query.exception.foreach(throw _)
    waitFor("the records of the other topic")(results.seen.count(_.topic == kept) == blue.dump(kept).size)
    query.stop()
  }
}

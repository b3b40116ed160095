package io.github.dynamickafka.source.cluster

import java.nio.file.{Files, Path}

import org.scalatest.time.{Seconds, Span}

import io.github.dynamickafka.source.{Entry, Queries}
import io.github.dynamickafka.testkit.TestAll

/** A cluster whose address or properties change under the same id. */
class ClusterChangeSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  /** A time limit longer than the restart of a broker, also on a busy machine. */
  private val patiently = "clusterRequestTimeoutMs" -> "300000"

  test("a cluster moves to another address while the query runs: offsets are kept, others are not affected") {
    scene { s =>
      val topic = newTopicOn(2, red, green)
      s.orders(Entry("red", red, topic), Entry("green", green, topic))
      val query = s.start(patiently, "kafka.group.id" -> "of-the-user")
      produce(red, topic, 2, values("a", 6))
      settle(query)
      red.restartOnNewPort()
      s.change(Entry("red", red, topic), Entry("green", green, topic))
      produce(red, topic, 2, values("b", 6))
      produce(green, topic, 2, values("g", 6))
      eventually(assert(s.seen.size == 18))
      settle(query)
      assertSame(s.seen, stored("red", red, topic) ++ stored("green", green, topic))
      assert(s.logged.position("red").of(topic).values.sum == 12L)
    }
  }

  test("a query does not fail because of an address that the metadata has meanwhile replaced") {
    scene { s =>
      val topic = newTopicOn(1, red, green)
      Seq(red, green).foreach(produce(_, topic, 1, values("a", 3)))
      s.orders(Entry("red", red, topic))
      // With this limit a query that waits for the old address does not make progress within this test.
      val query = s.start("clusterRequestTimeoutMs" -> "300000", "replacedClusterPolicy" -> "earliest")
      settle(query)
      frozen(red) {
        eventually(assert(query.status.message.startsWith("Getting offsets")))
        // Another cluster, because a frozen broker cannot move.
        s.orders(Entry.at("red", green.bootstrapServers, topic))
        produce(green, topic, 1, values("b", 2))
        val expected = (values("a", 3) ++ values("a", 3) ++ values("b", 2)).sorted
        eventually(timeout(Span(100, Seconds)))(assert(s.values == expected))
        assert(query.exception.isEmpty)
      }
    }
  }

  test(
    "another address at a restart is used, also for a batch that was logged and not finished",
    TestAll
  ) {
    scene { s =>
      val topic = newTopicOn(2, red)
      produce(red, topic, 2, values("a", 6))
      s.orders(Entry("red", red, topic))
      s.catchUp()
      s.uncommit()
      red.restartOnNewPort()
      produce(red, topic, 2, values("b", 6))
      s.orders(Entry("red", red, topic))
      s.catchUp(patiently)
      assert(s.repeated.nonEmpty)
      assertSame(s.seen, stored("red", red, topic))
    }
  }

  test("changed properties are used from the next batch on, also with kafka.group.id", TestAll) {
    scene { s =>
      val topic = newTopicOn(2, blue, green)
      val stays = Entry("green", green, topic)
      s.orders(Entry("blue", blue, topic), stays)
      val query = s.start("kafka.group.id" -> "of-the-user")
      (0 until 4).foreach { i =>
        produce(blue, topic, 2, values(s"b$i-", 4))
        produce(green, topic, 2, values(s"g$i-", 4))
        settle(query)
        // The last properties equal the first ones, whose consumers are still in the executor's cache.
        s.change(Entry("blue", blue, topic).and("max.poll.records", s"${100 + i % 3}"), stays)
      }
      settle(query)
      assertSame(s.seen, storedOnBoth(topic))
    }
  }

  test("options of a cluster take precedence over the metadata") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      produce(blue, topic, 1, values("a", 3))
      // The address in the metadata is wrong, the one in the option is right.
      s.orders(Entry.at("blue", "127.0.0.1:9", topic))
      s.catchUp("cluster.blue.kafka.bootstrap.servers" -> blue.bootstrapServers)
      assertSame(s.seen, stored("blue", blue, topic))
    }
  }

  test("secrets: a restart uses those of the metadata, and none is in checkpoint, plan, error or log") {
    scene { s =>
      val topic = newTopicOn(1, blue)
      // Unique to this run: the log contains those of earlier runs as well.
      val (old, young) = (s"s3cr3t-of-yesterday-$topic", s"s3cr3t-of-today-$topic")
      produce(blue, topic, 1, values("a", 3))
      def jaas(password: String) =
        s"""org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="$password";"""
      // A client that does not log in ignores it; the test is about where it is written.
      def entry(password: String) = Entry("blue", blue, topic).and("sasl.jaas.config", jaas(password))
        .and("ssl.truststore.password", password)
      s.orders(entry(old))
      val query = s.start("kafka.group.id" -> "of-the-user")
      settle(query)
      val plan = query.toString + query.lastProgress.json + s.frame().queryExecution.toString
      query.stop()
      s.uncommit()
      produce(blue, topic, 1, values("b", 3))
      s.orders(entry(young))
      s.catchUp("kafka.group.id" -> "of-the-user")
      assertSame(s.seen, stored("blue", blue, topic))
      s.orders(entry(young).and("bootstrap.servers", "127.0.0.1:9"))
      val e = refused(s.start("clusterRequestTimeoutMs" -> "500"))
      val places = s.files + ("plan" -> plan) + ("error" -> allTexts(e.asInstanceOf[Throwable]))
      for ((place, content) <- places; secret <- Seq(old, young))
        assert(!content.contains(secret), s"in $place: $content")
      assert(
        s.files.values.exists(_.contains(blue.bootstrapServers)),
        "the checkpoint contains the address"
      )
      // log4j2.properties writes everything that the connector logs to this file.
      val log = Files.readString(Path.of("target/test.log"))
      assert(log.contains(topic) && !log.contains(old) && !log.contains(young))
    }
  }

  private def allTexts(e: Throwable) = {
    val out = new java.io.StringWriter
    e.printStackTrace(new java.io.PrintWriter(out))
    out.toString
  }
}

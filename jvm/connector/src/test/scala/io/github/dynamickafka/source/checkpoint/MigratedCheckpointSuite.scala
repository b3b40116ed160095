package io.github.dynamickafka.source.checkpoint

import java.nio.file.Files

import scala.jdk.CollectionConverters._
import scala.util.Using

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query}

/** The first start with a checkpoint that the command `migrate` has written: it has positions, and nothing else of the source. */
class MigratedCheckpointSuite extends Queries {
  override def asksInEachTrigger: Boolean = false

  /** A query of Spark's source has read six records of green, of which the checkpoint has the cluster id `gren`. */
  private def migrated(body: (Query, String) => Any): Unit = scene { s =>
    val topic = newTopicOn(2, green)
    produce(green, topic, 2, values("a", 6))
    val plain = spark.readStream.format("kafka")
      .option("kafka.bootstrap.servers", green.bootstrapServers)
      .option("subscribe", topic).option("startingOffsets", "earliest")
      .load()
      .selectExpr("'green' as cluster", "topic", "partition", "offset", "value", "'orders' as stream")
    assert(s.start(plain, Trigger.AvailableNow()).awaitTermination(300000))
    s.rewriteLogged(offset => s"""{"version":2,"clusters":{"gren":$offset}}""")
    Using.resource(Files.walk(s.checkpoint.resolve("sources")))(
      _.iterator.asScala.toSeq.reverse.foreach(Files.delete)
    )
    produce(green, topic, 2, values("b", 4))
    body(s, topic)
    ()
  }

  private def rename(s: Query): Unit = s.rewriteLogged(_.replace("\"gren\"", "\"green\""))

  /** What the source writes; Spark writes the id of a query when it is started. */
  private def ofSource(s: Query) = s.files.filter { case (file, _) =>
    file.matches("(offsets|sources)/.*")
  }

  test(
    "a cluster id that the metadata lacks: refused by name, and after a rename the query reads what is new"
  ) {
    migrated { (s, topic) =>
      val before = ofSource(s)
      s.orders(Entry("green", green, topic))
      for (policy <- Seq("stop", "drain")) {
        val e = refused(s.start(Trigger.AvailableNow(), "removedClusterPolicy" -> policy))
        assert(condition(e) == "MIGRATION_MISMATCH", text(e))
        val parameters = e.getMessageParameters.asScala
        assert(parameters("migrated") == "gren" && parameters("known") == "green")
        assert(
          parameters("missing") == "cluster 'gren'" && parameters("suggestion") == " Did you mean 'green'?"
        )
        assert(text(e).contains("rename-cluster"), text(e))
      }
      assert(ofSource(s) == before)
      rename(s)
      s.catchUp()
      assertSame(s.seen, stored("green", green, topic))

      // From here on, a removal is one.
      s.orders(Entry("blue", blue, newTopicOn(1, blue)))
      s.catchUp()
      assert(s.logged.retained.keySet == Set("green"))
    }
  }

  test("a topic that no stream has on the cluster; one that a pattern selects") {
    migrated { (s, topic) =>
      rename(s)
      val other = newTopicOn(1, green)
      produce(green, other, 1, values("other", 2))
      s.orders(Entry("green", green, other))
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "MIGRATION_MISMATCH", text(e))
      assert(e.getMessageParameters.get("missing") == s"topic '$topic' on cluster 'green'")
      // A log that ends before the position cannot be the one that was read.
      blue.createTopic(topic, 2)
      s.orders(Entry("green", blue, topic))
      assert(condition(refused(s.start(Trigger.AvailableNow()))) == "DATA_LOSS")
      assert(!s.files.keys.exists(_.contains("topology")))
      s.orders(Entry("green", green).matching(s"$topic.*"))
      s.catchUp()
      assertSame(s.seen, stored("green", green, topic))
    }
  }

  test("another cluster replaces the migrated one: its policy decides") {
    migrated { (s, topic) =>
      s.orders(Entry("green", green, topic).replacing("gren"))
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "CLUSTER_REPLACED", text(e))
      s.catchUp("replacedClusterPolicy" -> "same-offsets")
      assertSame(s.seen, stored("green", green, topic))
    }
  }
}

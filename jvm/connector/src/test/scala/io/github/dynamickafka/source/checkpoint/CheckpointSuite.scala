package io.github.dynamickafka.source.checkpoint

import java.nio.file.Files

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.streaming.Trigger

import io.github.dynamickafka.source.{Entry, Queries, Query}

/** Checkpoints of this version, of the first one, of a later one, of another source, and damaged ones. */
class CheckpointSuite extends Queries {

  test("the offset log has one canonical line of version 2, with Spark's own Kafka JSON for each cluster") {
    scene { s =>
      val topic = newTopicOn(11, blue, green)
      produce(blue, topic, 11, values("a", 22))
      s.orders(Entry("green", green, topic), Entry("blue", blue, topic))
      s.catchUp()
      val twos = (0 until 11).map(p => s""""$p":2""").mkString(",")
      val zeros = (0 until 11).map(p => s""""$p":0""").mkString(",")
      def identity(id: String) = {
        val known = s.logged.identity(id)
        s""""$id":{"cluster":"${known.kafkaId.get}","topics":{"$topic":"${known.topics(
            topic
          )}"},"epochs":{"$topic":0}}"""
      }
      assert(
        s.loggedText ==
          s"""{"version":2,"clusters":{"blue":{"$topic":{$twos}},"green":{"$topic":{$zeros}}},""" +
          s""""identities":{${identity("blue")},${identity("green")}}}"""
      )
      val text = s.loggedText
      s.catchUp()
      assert(s.loggedText == text, "no batch without a change")
    }
  }

  test("a composite offset of another version is refused, naming both versions") {
    Seq(1, 7).foreach { version =>
      scene { s =>
        logged(s, _.replace("\"version\":2", s"\"version\":$version"))
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == "UNKNOWN_OFFSET_VERSION")
        assert(text(e).contains(s"version $version") && text(e).contains("supports version 2"), text(e))
      }
    }
  }

  test("an unknown section or a damaged offset is refused and the offset log is not changed") {
    val damages = Seq[(String, String => String)](
      "frozen" -> (_.replace("{\"version\":2,", "{\"version\":2,\"frozen\":{},")),
      "not JSON" -> (text => text.take(text.length - 4)),
      "is not an integer" -> (_.replaceFirst("\"0\":\\d+", "\"0\":\"x\"")),
      "version" -> (_.replace("\"version\":2,", ""))
    )
    for ((what, damage) <- damages) scene { s =>
      logged(s, damage)
      val before = s.files
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "INVALID_OFFSET" && text(e).contains(what), text(e))
      assert(
        s.files.filter(_._1.startsWith("offsets/")) == before.filter(_._1.startsWith("offsets/"))
      )
    }
  }

  private def logged(s: Query, change: String => String): Unit = {
    val topic = newTopicOn(1, blue)
    produce(blue, topic, 1, values("a", 3))
    s.orders(Entry("blue", blue, topic))
    s.catchUp()
    s.rewriteLogged(change)
  }

  test("another version of the source's own files is refused") {
    scene { s =>
      logged(s, identity)
      val own = s.checkpoint.resolve("sources/0/dynamic-kafka/topology")
      val files = Files.list(own)
      try
        files.iterator.asScala.filter(_.toString.endsWith(".json")).foreach { file =>
          Files.writeString(file, Files.readString(file).replaceFirst("\"version\":1", "\"version\":9"))
          Files.deleteIfExists(file.resolveSibling(s".${file.getFileName}.crc"))
        }
      finally files.close()
      val e = refused(s.start(Trigger.AvailableNow()))
      assert(condition(e) == "UNKNOWN_OFFSET_VERSION" && text(e).contains("9"), text(e))
    }
  }

  for (withBatch <- Seq(true, false))
    test(
      s"a checkpoint of the plain kafka source is refused, ${if (withBatch) "with" else "without"} a logged batch"
    ) {
      scene { s =>
        val topic = newTopicOn(1, blue)
        produce(blue, topic, 1, values("a", 3))
        val plain = spark.readStream.format("kafka")
          .option("kafka.bootstrap.servers", blue.bootstrapServers)
          .option("subscribe", topic).option("startingOffsets", "earliest")
          .load()
          .selectExpr("'blue' as cluster", "topic", "partition", "offset", "value", "'orders' as stream")
        assert(s.start(plain, Trigger.AvailableNow()).awaitTermination(300000))
        assert(s.seen.size == 3)
        if (!withBatch) s.unlog()
        val before = s.files
        s.orders(Entry("blue", blue, topic))
        val e = refused(s.start(Trigger.AvailableNow()))
        assert(condition(e) == "PLAIN_KAFKA_CHECKPOINT", text(e))
        // The query's metadata (its id) may be written, the files of the plain source are unchanged.
        assert(before.forall { case (file, content) => s.files.get(file).contains(content) })
        assert(!s.files.keys.exists(_.contains("dynamic-kafka")))
      }
    }

  test("the source's files are in the folder that Spark assigns, without files of a wrapped source") {
    scene { s =>
      logged(s, identity)
      val own = s.files.keySet.filter(_.startsWith("sources/"))
      assert(own.nonEmpty && own.forall(_.startsWith("sources/0/dynamic-kafka/")), own)
    }
  }
}

package io.github.dynamickafka.source.decoding

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._

import org.apache.avro.Schema
import org.apache.avro.generic.GenericData
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.streaming.StreamingQuery

import io.github.dynamickafka.format.avro.RandomAvro
import io.github.dynamickafka.schemaregistry.RegistryServer.{Answer, serving}
import io.github.dynamickafka.schemaregistry.WireFormat
import io.github.dynamickafka.source.{Entry, Queries, Query}

/** What fails a running query names its place and loses nothing: the query continues there when the cause is gone. */
class BadInputSuite extends Queries {

  /** A query with all its runs, whose rows are cluster, offset and `id`. */
  private final class Runs(of: Query, options: (String, String)*) {
    private val batches = new ConcurrentHashMap[Long, Seq[(String, Long, Long)]]

    def start(more: (String, String)*): StreamingQuery =
      of.frame(options ++ more: _*).select("cluster", "offset", "id").writeStream
        .foreachBatch { (rows: DataFrame, batch: Long) =>
          val found = rows.collect().toSeq.map(r => (r.getString(0), r.getLong(1), r.getLong(2)))
          val _ = batches.put(batch, found)
        }
        .option("checkpointLocation", of.folder.resolve("own").toString).trigger(Continuous).start()

    def rows: Seq[(String, Long, Long)] = batches.values.asScala.flatten.toSeq.sorted

    /** A run that reads everything. */
    def complete(more: (String, String)*): Unit = {
      val query = start(more: _*)
      try settle(query)
      finally query.stop()
    }

    /** A run that fails with this condition, whose text has these parts. */
    def fails(expected: String, parts: String*): Unit = failed(start(), expected, parts: _*)

    def failed(query: StreamingQuery, expected: String, parts: String*): Unit = {
      val e = failure(query)
      assert(condition(e) == expected, text(e))
      parts.foreach(part => assert(text(e).contains(part), text(e)))
      assert(!query.exception.get.toString.contains("secret"))
    }
  }

  test(
    "a record that is not JSON: fails at it, again after a restart, and continues when it may be left out"
  ) {
    val topic = newTopicOn(1, blue, green)
    scene { of =>
      of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
      val runs = new Runs(of, "format" -> "json", "schema" -> "id BIGINT")
      produce(blue, topic, 1, Seq("""{"id": 1}"""))
      produce(green, topic, 1, Seq("""{"id": 2}"""))
      val query = runs.start()
      settle(query)
      produce(green, topic, 1, Seq("secret", """{"id": 3}"""))
      produce(blue, topic, 1, Seq("""{"id": 4}"""))
      val place = Seq("cluster 'green'", s"topic '$topic'", "partition 0", "offset 1")
      runs.failed(query, "DECODE_FAILED", place: _*)
      runs.fails("DECODE_FAILED", place: _*)
      assert(runs.rows.filter(_._1 == "green") == Seq(("green", 0L, 2L)))
      runs.complete("parseErrors" -> "drop")
      assert(runs.rows == Seq(("blue", 0L, 1L), ("blue", 1L, 4L), ("green", 0L, 2L), ("green", 2L, 3L)))
    }
  }

  private def schema(of: String) =
    s"""{"type":"record","name":"Order","fields":[{"name":"id","type":"$of"}]}"""

  private def record(schemaId: Int, of: String, id: Any): Array[Byte] = {
    val parsed = new Schema.Parser().parse(schema(of))
    val made = new GenericData.Record(parsed)
    made.put(0, id)
    WireFormat.framed(schemaId, RandomAvro.encoded(parsed, made))
  }

  test(
    "a registry that is down, is none, or refuses: fails with its address, and continues when it answers"
  ) {
    val topic = newTopicOn(1, blue, green)
    serving { one =>
      serving { two =>
        scene { of =>
          of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
          val runs = new Runs(
            of,
            "format" -> "avro-confluent",
            "schema" -> "id BIGINT",
            "cluster.blue.registry.url" -> one.url,
            "cluster.green.registry.url" -> two.url,
            "registry.timeoutMs" -> "1s"
          )
          val known = Seq(one, two).map(_.register("x", schema("long"))).distinct.head
          produceBytes(blue, topic, record(known, "long", 1L))
          produceBytes(green, topic, record(known, "long", 2L))
          val query = runs.start()
          settle(query)
          val late = two.register("x", schema("int"))
          two.stop()
          produceBytes(blue, topic, record(known, "long", 3L))
          produceBytes(green, topic, record(late, "int", 4))
          val place = Seq("cluster 'green'", two.url, s"schema id $late")
          runs.failed(query, "REGISTRY_UNAVAILABLE", place: _*)
          two.start()
          two.behave = _ => Some(Answer(200, "<html>log in</html>"))
          runs.fails("REGISTRY_UNAVAILABLE", place: _*)
          two.behave = _ => Some(Answer(401, """{"error_code": 40101}"""))
          runs.fails("REGISTRY_AUTHENTICATION_FAILED", place: _*)
          two.behave = _ => None
          runs.complete()
          assert(runs.rows == Seq(("blue", 0L, 1L), ("blue", 1L, 3L), ("green", 0L, 2L), ("green", 1L, 4L)))
        }
      }
    }
  }

  test("a schema in the middle of a query that does not fit, or is not known: fails at its first record") {
    val topic = newTopicOn(1, blue, green)
    serving { registry =>
      scene { of =>
        of.orders(Entry("blue", blue, topic), Entry("green", green, topic))
        val runs = new Runs(
          of,
          "format" -> "avro-confluent",
          "schema" -> "id BIGINT",
          "registry.url" -> registry.url
        )
        val fitting = registry.register("x", schema("long"))
        produceBytes(blue, topic, record(fitting, "long", 1L))
        produceBytes(green, topic, record(fitting, "long", 2L))
        val query = runs.start()
        settle(query)
        val other = registry.register("x", schema("string"))
        produceBytes(green, topic, record(other, "string", "secret"))
        produceBytes(green, topic, record(fitting, "long", 3L))
        val place = Seq("cluster 'green'", s"topic '$topic'", "partition 0")
        runs.failed(query, "DECODE_FAILED", place ++ Seq("offset 1", s"schema id $other"): _*)
        runs.complete("parseErrors" -> "drop")
        // An id that the registry does not know yet.
        val unknown = other + 100
        produceBytes(green, topic, record(unknown, "long", 4L))
        runs.fails("DECODE_FAILED", place ++ Seq("offset 3", s"schema id $unknown"): _*)
        assert(runs.rows == Seq(("blue", 0L, 1L), ("green", 0L, 2L), ("green", 2L, 3L)))
      }
    }
  }
}
